"""What ``.asof(...)`` and ``.rolling(...)`` were given: sizes, ends and shifts, named and checked.

Each size becomes a frame (:mod:`windrow.windows.relative`) under the ending that it gives the names of
results: the size as written, or its keyword; none where there is one size without a keyword.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from windrow.duration_text import counted_units
from windrow.names import nearest
from windrow.query_settings import checked_store
from windrow.spec import Frames, Rolling, keyword_arguments
from windrow.windows import Policy, Window
from windrow.windows.arguments import check_same_time, check_zone
from windrow.windows.relative import (
    Bound,
    Closed,
    RelativeFrame,
    RowFrame,
    TimeFrame,
    includes_end,
    includes_start,
)
from windrow.windows.timeline.durations import (
    Duration,
    is_duration,
    parse_duration,
    positive_duration,
)
from windrow.windows.timeline.integers import as_integer, whole_number
from windrow.windows.timeline.zones import zone_name
from windrow.words import FRAME_KEYWORDS

__all__ = ["asof_frames", "rolling_frames", "rolling_of"]

#: the size that is everything on one side
ALL = "all"
_ASOF = ("rows", "closed", "lag", "direction", "timezone")
_ROLLING = ("rows", "closed", "shift", "timezone", "min_count", "policy", "store")


def asof_frames(
    sizes: Sequence[Any],
    named: Mapping[str, Any],
    *,
    rows: Any,
    closed: Any,
    lag: Any,
    direction: Any,
    timezone: Any,
) -> Frames:
    """The frames of ``.asof(...)``.

    >>> frames = asof_frames(
    ...     ["7d"], {}, rows=None, closed=None, lag="1h", direction="backward", timezone=None
    ... )
    >>> print(frames.named[0][1])
    [t - 1h - 168h, t - 1h)
    """
    if direction not in ("backward", "forward"):
        raise ValueError(f"direction={direction!r}: use 'backward' or 'forward'")
    backward = direction == "backward"
    sides = _checked_sides(("left" if backward else "right") if closed is None else closed)
    found = list(_sizes("asof", sizes, named, rows, _ASOF))
    zone = _zone(timezone, [size for _, size in found])
    delay = _offset(lag, "lag", zone)
    if delay is not None and delay.amount < 0:
        raise ValueError(
            f"lag={lag!r} is negative, and would show a label its future: give 0 or more, or "
            f"direction='forward'"
        )
    lengths = [_length(size, zone, by_rows=rows is not None) for _, size in found]
    _check_kinds(lengths, delay, "lag")
    near = _signed(delay, -1 if backward else 1)
    frames = [_frame(length, near, sides, zone, backward=backward) for length in lengths]
    options = {"rows": _rows_text(rows), "closed": None if closed is None else repr(closed)}
    options |= {"lag": _shown(delay), "direction": None if backward else "'forward'"}
    options["timezone"] = None if timezone is None else repr(zone)
    return _named(found, frames, lengths, delay, rows, options)


def rolling_frames(
    sizes: Sequence[Any], named: Mapping[str, Any], *, rows: Any, closed: Any, shift: Any, timezone: Any
) -> Frames:
    """The frames of ``.rolling(...)``.

    >>> frames = rolling_frames(["1h"], {}, rows=None, closed="right", shift="30m", timezone=None)
    >>> print(frames.named[0][1])
    (t + 30m - 1h, t + 30m]
    """
    sides = _checked_sides(closed)
    found = list(_sizes("rolling", sizes, named, rows, _ROLLING))
    zone = _zone(timezone, [size for _, size in found])
    lengths = [_length(size, zone, by_rows=rows is not None) for _, size in found]
    options = {"rows": _rows_text(rows), "closed": None if closed == "right" else repr(closed)}
    frames: list[RelativeFrame]
    if rows is not None:
        step = as_integer(shift, "shift", "a number of rows, which may be negative")
        frames = [_row_frame(count, sides, step) for count in lengths]
        options["shift"] = str(step) if step else None
        return _named(found, frames, lengths, None, rows, options)
    moved = _offset(shift, "shift", zone)
    _check_kinds(lengths, moved, "shift")
    near = () if moved is None else (moved,)
    frames = [_frame(length, near, sides, zone, backward=True) for length in lengths]
    options |= {"shift": _shown(moved), "timezone": None if timezone is None else repr(zone)}
    return _named(found, frames, lengths, moved, rows, options)


def rolling_of(
    sizes: Sequence[Any],
    named: Mapping[str, Any],
    *,
    rows: Any,
    policy: Any,
    closed: Any,
    shift: Any,
    timezone: Any,
    store: Any,
) -> Rolling:
    """What ``.rolling(...)`` asks for: (t - size, t], the last rows, a policy, or frames."""
    for name, size in named.items():
        _check_keyword("rolling", name, size, _ROLLING)
    if len(sizes) == 1 and isinstance(sizes[0], Window) and sizes[0].is_per_row:
        policy, sizes = sizes[0], ()
    if bool(sizes or named) + (rows is not None) + (policy is not None) != 1:
        raise TypeError("rolling takes one of sizes ('24h', or several of them), rows=n, and a wr.Policy(fn)")
    if not _is_plain(sizes, named, rows, closed, shift, timezone):
        if policy is not None:
            raise TypeError("a policy takes neither several sizes nor closed=, shift= or timezone=")
        return Rolling(
            frames=rolling_frames(sizes, named, rows=rows, closed=closed, shift=shift, timezone=timezone),
            store=checked_store(store),
        )
    for size in sizes:
        _check_size(size)
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise ValueError(f"rows={rows!r}: give a whole number of at least 1")
    return Rolling(
        size=positive_duration(sizes[0], "size") if sizes else None,
        rows=rows,
        policy=None if policy is None else Policy.of(policy),
        store=checked_store(store),
    )


def _is_plain(
    sizes: Sequence[Any], named: Mapping[str, Any], rows: Any, closed: Any, shift: Any, timezone: Any
) -> bool:
    """Whether no more is asked for than (t - size, t], the last rows, or a policy."""
    several = len(sizes) > 1 or bool(named) or isinstance(rows, (list, tuple))
    is_shifted = parse_duration(shift, "shift").amount != 0
    other = any((isinstance(size, str) and size == ALL) or _is_calendar(size) for size in sizes)
    return closed == "right" and timezone is None and not (several or is_shifted or other)


def _is_calendar(size: Any) -> bool:
    return is_duration(size) and parse_duration(size).is_calendar


# -- sizes ---------------------------------------------------------------------------------------------------


def _sizes(
    method: str, sizes: Sequence[Any], named: Mapping[str, Any], rows: Any, known: Sequence[str]
) -> Iterator[tuple[str | None, Any]]:
    """The sizes, each with its keyword (None: it has none)."""
    for name, size in named.items():
        _check_keyword(method, name, size, known)
    if rows is not None:
        if sizes or named:
            raise TypeError(f"{method} takes sizes ('7d') or rows=n, and not both")
        counts = rows if isinstance(rows, (list, tuple)) else [rows]
        if not counts:
            raise TypeError("rows=[] asks for nothing: give one or more numbers of rows")
        yield from ((None, count) for count in counts)
        return
    if not sizes and not named:
        raise TypeError(f"{method} takes one or more sizes ('7d', 'all'), or rows=n")
    yield from ((None, size) for size in sizes)
    yield from named.items()


def _check_keyword(method: str, name: str, size: Any, known: Sequence[str]) -> None:
    """A keyword that others have, or whose value is not a size, may be a setting."""
    if name in FRAME_KEYWORDS:
        raise TypeError(f"{method}() has no keyword {name!r}: write {FRAME_KEYWORDS[name]}")
    if size == ALL or is_duration(size) or isinstance(size, Window):
        return
    meant = nearest(name, known)
    hint = f": did you mean {meant}=?" if meant else "."
    raise TypeError(
        f"{method}({name}={size!r}) is not a size{hint} Keywords name sizes, as in week='7d'; settings are "
        f"{', '.join(known)}"
    )


def _length(size: Any, zone: str | None, *, by_rows: bool) -> Any:
    """A size as a duration, a number of rows, or None for all."""
    if by_rows:
        return whole_number(size, "rows")
    if isinstance(size, str) and size == ALL:
        return None
    _check_size(size)
    return positive_duration(size, "size", local_days=zone is not None)


def _check_size(size: Any) -> None:
    if isinstance(size, Window):
        raise TypeError(
            f"{size!r} is a window: write .window({size!r}) for one result per window, or "
            f".rolling('24h') for one per row"
        )


def _check_kinds(lengths: list[Any], other: Duration | None, name: str) -> None:
    """All count time in the same way."""
    durations = [length for length in lengths if isinstance(length, Duration)]
    for each in durations[1:]:
        check_same_time(durations[0], each, "size", "size")
    if durations and other is not None:
        check_same_time(durations[0], other, "size", name)


def _zone(timezone: Any, sizes: list[Any]) -> str | None:
    if timezone is None:
        return None
    for size in sizes:
        if isinstance(size, Duration) or is_duration(size):
            return check_zone(parse_duration(size), timezone)
    return zone_name(timezone)


# -- frames --------------------------------------------------------------------------------------------------


def _checked_sides(closed: Any) -> Closed:
    if closed not in get_args(Closed):
        raise ValueError(f"closed={closed!r}: use one of {', '.join(map(repr, get_args(Closed)))}")
    sides: Closed = closed
    return sides


def _offset(value: Any, name: str, zone: str | None) -> Duration | None:
    """A duration, or None for zero, which is zero of any kind."""
    found = parse_duration(value, name, local_days=zone is not None)
    return found if found.amount else None


def _signed(offset: Duration | None, sign: int) -> tuple[Duration, ...]:
    return () if offset is None else (replace(offset, amount=sign * offset.amount),)


def _frame(
    length: Any, near: tuple[Duration, ...], sides: Closed, zone: str | None, *, backward: bool
) -> TimeFrame:
    """From the near end on, which is the point moved by ``near``, as far as a length reaches."""
    ends = includes_start(sides), includes_end(sides)
    last = Bound(near, ends[1] if backward else ends[0], zone)
    far = None
    if isinstance(length, Duration):
        offsets = (*near, *_signed(length, -1 if backward else 1))
        far = Bound(offsets, ends[0] if backward else ends[1], zone)
    rows = length if isinstance(length, int) else None
    return TimeFrame(far, last, rows) if backward else TimeFrame(last, far, rows)


def _row_frame(count: int, sides: Closed, shift: int) -> RowFrame:
    """(i - count, i], or as it is closed, moved by so many rows."""
    front = -count if includes_start(sides) else 1 - count
    return RowFrame(front + shift, (1 if includes_end(sides) else 0) + shift)


# -- names and source text -----------------------------------------------------------------------------------


def _named(
    found: Sequence[tuple[str | None, Any]],
    frames: Sequence[RelativeFrame],
    lengths: list[Any],
    offset: Duration | None,
    rows: Any,
    options: Mapping[str, str | None],
) -> Frames:
    endings = [_ending(size) if name is None else name for name, size in found]
    twice = next((ending for k, ending in enumerate(endings) if ending in endings[:k]), None)
    if twice is not None:
        raise ValueError(f"two sizes are named {twice!r}: leave one out, or name them by keyword (week='7d')")
    if len(found) == 1 and found[0][0] is None:
        endings = [""]
    texts = [] if rows is not None else [(name or "", _source(size)) for name, size in found]
    texts += [(name, text) for name, text in options.items() if text is not None]
    kinds = [each.kind for each in (*lengths, offset) if isinstance(each, Duration)]
    integers = kinds[0] == "integer" if kinds else None
    return Frames(tuple(zip(endings, frames, strict=True)), keyword_arguments(texts), integers)


def _written(size: Any) -> str:
    """A size as the user wrote it."""
    return size if isinstance(size, str) else str(parse_duration(size).on_clock)


def _ending(size: Any) -> str:
    """A size as the end of a name: without spaces.

    >>> _ending("1 day"), _ending("1 hour 30 minutes"), _ending("7d"), _ending(10)
    ('1d', '1h30m', '7d', '10')
    """
    text = _written(size)
    if not any(letter.isspace() for letter in text):
        return text
    return "".join(f"{count}{unit}" for unit, count in counted_units(text, "size").items())


def _source(size: Any) -> str:
    return _written(size) if _is_integer(size) else repr(_written(size))


def _is_integer(size: Any) -> bool:
    return not isinstance(size, str) and parse_duration(size).kind == "integer"


def _rows_text(rows: Any) -> str | None:
    return None if rows is None else repr(list(rows) if isinstance(rows, (list, tuple)) else rows)


def _shown(offset: Duration | None) -> str | None:
    return None if offset is None else offset.argument
