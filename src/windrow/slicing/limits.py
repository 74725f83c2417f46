"""How many windows one step may give: a tiny slide, or a row far away in time, can ask for billions.

Windows are counted before they are made: those that hold a row are a range of numbers, neither end of which
falls as time goes on, so that counting costs O(1) per slice and kind, however many windows there are. Those
of all kinds count together, from :func:`one_step` on. Counted are windows that there may be more of than
rows: those that time decides, and Delta."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ContextDecorator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain

from windrow.errors import TooManyWindows
from windrow.windows import Window

__all__ = ["TooManyWindows", "add_windows", "check_windows", "most_windows", "one_step", "windows_left"]

#: by default a step gives up to so many windows, or so many for each row it reads if that is more
_MOST = 10_000_000
_MOST_A_ROW = 4
#: an error names so many kinds of windows
_NAMED = 3


@dataclass
class _Step:
    """The windows of a step so far, as they were counted: they are added up by kind only where there are too
    many. To look a thousand kinds up in each push took a third of an operator's time."""

    made: list[tuple[Sequence[Window], Sequence[int]]] = field(default_factory=list)
    total: int = 0
    #: the largest limit that was asked for
    most: int = 0

    def by_kind(self) -> dict[Window, int]:
        counts = dict[Window, int]()
        for window, count in chain.from_iterable(zip(*each, strict=True) for each in self.made):
            if count:
                counts[window] = counts.get(window, 0) + count
        return counts


_current: ContextVar[_Step | None] = ContextVar("windrow step", default=None)


class one_step(ContextDecorator):  # noqa: N801 (it is used like a function)
    """All windows that are counted in here are limited together.

    >>> from windrow.windows import Tumbling
    >>> with one_step():
    ...     add_windows([Tumbling(1)], [4], most=5)
    ...     add_windows([Tumbling(2)], [2], most=5)
    Traceback (most recent call last):
    windrow.errors.TooManyWindows: one step would give at least 6 windows (4 of Tumbling(1), 2 of
    Tumbling(2)), and at most 5 are allowed: use longer windows, leave empty='include' out, filter rows far
    away in time, or raise max_windows=
    """

    def _recreate_cm(self) -> one_step:
        return one_step()  # each call of a decorated function is a step of its own

    def __enter__(self) -> None:
        self._token = _current.set(_Step())

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def most_windows(max_windows: int | None, rows: int) -> int:
    """How many windows a step over so many rows may give."""
    return max(_MOST, _MOST_A_ROW * rows) if max_windows is None else max_windows


def windows_left(most: int) -> int:
    """How many more windows the step may give, if it may give so many in all."""
    step = _step()
    return max(step.most, most) - step.total


def check_windows(windows: Sequence[Window], counts: Sequence[int], most: int, alone: bool = False) -> None:
    """Refuse so many windows of these kinds if they are too many together with those that the step has given;
    at most so many in all. ``alone``: too many by themselves, for those of which some may not come out."""
    step = _step()
    most = max(step.most, most)
    if not alone:
        step.most = most
    before = _Step() if alone else step
    if before.total + sum(counts) > most:
        found = _Step([*before.made, (windows, counts)])
        raise TooManyWindows(_refusal(found.by_kind(), most))


def add_windows(windows: Sequence[Window], counts: Sequence[int], most: int) -> None:
    """The same, and these are given."""
    check_windows(windows, counts, most)
    step = _step()
    step.made.append((windows, counts))
    step.total += sum(counts)


def _step() -> _Step:
    """The step of now; outside any, each count is a step of its own."""
    return _current.get() or _Step()


def _refusal(counts: dict[Window, int], most: int) -> str:
    """What is said of too many windows. Where there are several kinds, others may not be counted yet."""
    ordered = sorted(counts.items(), key=lambda each: -each[1])
    largest, total = ordered[0][0], sum(counts.values())
    named, others = ordered[:_NAMED], ordered[_NAMED:]
    kinds = [f"{count:,} of {window!r}" for window, count in named]
    if others:
        kinds.append(f"{sum(count for _, count in others):,} of {len(others)} other kinds")
    found = f"at least {total:,} windows ({', '.join(kinds)})"
    if len(ordered) == 1:
        found = f"{total:,} windows ({largest!r})"
    return (
        f"one step would give {found}, and at most {most:,} are allowed: {largest.for_fewer}, filter rows "
        f"far away in time, or raise max_windows="
    )
