"""What all windows have in common.

Purpose: a window says *which rows belong together*, and nothing of how they are aggregated. It is
configuration: an immutable value that compares, hashes and prints as what was asked for, checked when it is
made.
Invariant: every interval is [start, end). Times are int64 microseconds UTC, or plain integers where a window
was given plain integers; the arithmetic is the same and exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from windrow.windows.timeline.progressions import Arithmetic


class Window(ABC):
    """A rule that says which rows belong together.

    >>> from windrow.windows import Rows, Tumbling, Window
    >>> isinstance(Rows(10), Window), Tumbling("60m") == Tumbling("1h")
    (True, True)
    """

    @abstractmethod
    def _arguments(self) -> Iterator[str]:
        """The arguments that make this window, as source text."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._arguments())})"


class TimeWindow(Window):
    """A window whose edges are known before any row is seen: time alone decides.

    >>> from windrow.windows import Sliding, TimeWindow, Tumbling
    >>> isinstance(Tumbling("1h"), TimeWindow), list(Sliding(10, slide=5).assign(12))
    (True, [(5, 15), (10, 20)])
    """

    @property
    @abstractmethod
    def uses_integer_time(self) -> bool:
        """Whether this window was given plain integers and so belongs to an integer time column."""

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
