"""What all windows have in common.

Purpose: a window says *which rows belong together*, and nothing of how they are aggregated. It is
configuration: an immutable value that compares, hashes and prints as what was asked for, checked when it is
made.
Invariant: every interval is [start, end). Times are int64 microseconds UTC, or plain integers where a window
was given plain integers; the arithmetic is the same and exact.

A kind answers for itself what engines, job files and ``explain`` ask of it: the attributes of
:class:`Window`, which the file of each kind sets where it differs from the others. Nothing outside
``windrow.windows`` asks what class a window is of. How windows that data decides are found among rows is in
``windrow.engines.data_windows``, one strategy for each kind.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, ParamSpec, TypeGuard

from windrow.names import check_keywords
from windrow.windows.timeline.progressions import Arithmetic
from windrow.words import WINDOW_KEYWORDS

if TYPE_CHECKING:
    from windrow.windows.session import Session
    from windrow.windows.timeline.durations import Duration


class JobKey(NamedTuple):
    """A key of a window in job files, which is the name of an argument, too; ``example`` is TOML.

    It takes text, a time or a length of time, a number of rows, or any number.
    """

    name: str
    takes: Literal["text", "time", "rows", "number"]
    example: str
    is_needed: bool = True


class Progression(NamedTuple):
    """Windows [start, start + size) for every start = anchor + k * slide, with 0 <= anchor < slide."""

    size: int
    slide: int
    anchor: int


class Steps(NamedTuple):
    """Windows that end at every anchor + k * step, each from the start of its period: the last
    anchor + k * size before its end."""

    size: int
    step: int
    anchor: int


class Window(ABC):
    """A rule that says which rows belong together.

    >>> from windrow.windows import Punctuation, Rows, Sliding, Tumbling, Window
    >>> isinstance(Rows(10), Window), Tumbling("60m") == Tumbling("1h")
    (True, True)
    >>> [window.decided_by for window in (Tumbling("1h"), Rows(10))], Punctuation("done").columns
    (['time', 'data'], ('done',))
    >>> Sliding(10, slide=5).overlaps, Sliding(10, slide=10).overlaps
    (True, False)
    """

    #: what decides which rows belong together: time alone, the gaps between rows, or the data in rows
    decided_by: ClassVar[Literal["time", "gaps", "data"]] = "data"
    #: how a window of this kind may be written, for messages
    example: ClassVar[str]
    #: how it is written in job files, its kind there being the name in lower case
    job_keys: ClassVar[tuple[JobKey, ...]]
    #: whether rows of equal time must be in order to know which rows belong together
    ties_matter: ClassVar[bool] = False
    #: whether each row has a window of its own, so that it may be used for rolling
    is_per_row: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            cls.__init__ = _with_known_arguments(cls, cls.__init__)  # type: ignore[method-assign]

    @property
    def uses_integer_time(self) -> bool | None:
        """Whether this window was given plain integers and so belongs to an integer time column; None: it
        does not count time."""
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads to decide."""
        return ()

    @property
    def aggregates_read(self) -> frozenset[str]:
        """The names of the aggregates that it reads to decide, as far as they are known."""
        return frozenset()

    @property
    def overlaps(self) -> bool:
        """Whether a row may be in two windows."""
        return False

    @property
    def is_sliced(self) -> bool:
        """Whether the edges of its slices are known from times alone, whatever rows there are."""
        return self.decided_by != "data"

    @property
    def refuses_lateness(self) -> bool:
        """Whether it never changes what has come out, so that an allowed lateness is refused."""
        return False

    @property
    def shape(self) -> str:
        """How many windows a row is in, for ``explain``."""
        return "windows overlap" if self.overlaps else "each row is in at most one window"

    @property
    def follows_zone(self) -> bool:
        """Whether it has days, weeks or months and names no time zone: they are those of the column's."""
        return False

    def in_zone(self, zone: str) -> Window:
        """The window for a column of times in this zone."""
        return self

    @property
    def for_fewer(self) -> str:
        """What to do to have fewer windows, for messages."""
        return "use longer windows, leave empty='include' out"

    @abstractmethod
    def _arguments(self) -> Iterator[str]:
        """The arguments that make this window, as source text."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._arguments())})"


_P = ParamSpec("_P")


def _with_known_arguments(kind: type[Window], make: Callable[_P, None]) -> Callable[_P, None]:
    """The constructor of a kind of windows; arguments that are missing, or not known, are answered with its
    own."""
    parameters = [*inspect.signature(make).parameters.values()][1:]
    names = [each.name for each in parameters]
    needed = [each.name for each in parameters if each.default is each.empty]

    words = {word: meant for word, meant in WINDOW_KEYWORDS.items() if meant in names}
    words["every"] = "slide" if "slide" in names else names[0]

    @functools.wraps(make)
    def checked(*arguments: _P.args, **named: _P.kwargs) -> None:
        check_keywords(kind.__name__, named, names, words)
        given = {*names[: len(arguments) - 1], *named}
        missing = [name for name in needed if name not in given]
        if missing:
            raise TypeError(f"{kind.__name__} needs {' and '.join(missing)}, as in wr.{kind.example}")
        make(*arguments, **named)

    return checked


class TimeWindow(Window):
    """A window whose edges are known before any row is seen: time alone decides.

    >>> from windrow.windows import Sliding, TimeWindow, Tumbling
    >>> isinstance(Tumbling("1h"), TimeWindow), list(Sliding(10, slide=5).assign(12))
    (True, [(5, 15), (10, 20)])
    """

    decided_by = "time"
    #: whether there is another window after each, without end
    repeats: ClassVar[bool] = True

    @property
    @abstractmethod
    def uses_integer_time(self) -> bool: ...

    @property
    def tiles(self) -> bool:
        """Whether each time is in exactly one window, which begins where another ends."""
        return False

    @property
    def outermost(self) -> TimeWindow:
        """Without shorter windows that start where another does: in some window of these is each time that is
        in one of those."""
        return self

    @property
    def at_starts(self) -> TimeWindow:
        """A window whose edges are the starts of this one; itself, where that is not easily said."""
        return self

    @property
    def counts_at_once(self) -> bool:
        """Whether the windows that hold a time are counted sooner than they are listed."""
        return False

    def progression(self) -> Progression | None:
        """The windows as an arithmetic progression; None where they are not."""
        return None

    def steps(self) -> Steps | None:
        """The windows as steps of equal length in periods of equal length; None where they are not."""
        return None

    @abstractmethod
    def assign(self, time: int) -> Iterator[tuple[int, int]]:
        """The windows that hold this time, by end, then by start."""

    @abstractmethod
    def edges(self, low: int, high: int) -> list[int]:
        """All starts and ends from low to high, both included, in order and each once."""

    @abstractmethod
    def windows_ending_in(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The windows with low < end <= high, by end, then by start: what a watermark at high lets fire."""

    @abstractmethod
    def count_ending_in(self, low: int, high: int) -> int:
        """How many :meth:`windows_ending_in` gives, without visiting them; a day that a zone skips counts,
        too."""

    @abstractmethod
    def latest_end(self, time: int) -> int | None:
        """The latest end of the windows that hold this time: they are those that end after it and by then.
        None where no window holds it."""

    @abstractmethod
    def next_edge(self, time: int) -> int | None:
        """The first edge after this time; None where there is no more."""

    @abstractmethod
    def edge_progressions(self) -> tuple[Arithmetic, ...] | None:
        """The edges as arithmetic progressions; None where they are not (calendar windows, a fixed band)."""


class ZonedWindow(TimeWindow):
    """A time window that is a dataclass and may name a time zone, whose days, weeks and months it has.

    >>> from windrow.windows import Tumbling
    >>> Tumbling("1d").in_zone("Europe/Berlin"), Tumbling("24h").in_zone("Europe/Berlin")
    (Tumbling('1d', timezone='Europe/Berlin'), Tumbling('24h'))
    >>> Tumbling("1d", timezone="Asia/Tokyo").in_zone("Europe/Berlin")
    Tumbling('1d', timezone='Asia/Tokyo')
    """

    size: Duration
    timezone: str | None

    @property
    def _lengths(self) -> tuple[Duration, ...]:
        """The durations that days may be counted in."""
        return (self.size,)

    @property
    def follows_zone(self) -> bool:
        return self.timezone is None and any(each.follows_zone for each in self._lengths)

    def in_zone(self, zone: str) -> Window:
        if not self.follows_zone:
            return self
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]
        return type(self)(**given | {"timezone": zone})


def decided_by_time(window: Window) -> TypeGuard[TimeWindow]:
    """Whether time alone decides which rows belong together."""
    return window.decided_by == "time"


def decided_by_gaps(window: Window) -> TypeGuard[Session]:
    """Whether the gaps between rows decide."""
    return window.decided_by == "gaps"
