"""Which rows are in which window: the definitions of all window kinds, by brute force.

Purpose: the part of the oracle that says *which rows*, over the rows of one key in the order (time, order
columns, arrival). Everything is decided anew for each window by looking at every row, O(windows x rows) and
more; nothing is shared, so that nothing shared can be wrong.

A window that time decides is [start, end) and holds the rows whose time is in it. A window that data decide
(Rows, Delta, Punctuation, Threshold, Policy) reports the times of its first and its last row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from windrow.windows import Delta, Fixed, Punctuation, Rows, Session, Threshold, TimeWindow, Window

__all__ = ["Frame", "Row", "frames", "last_rows", "policy_frame", "rows_within"]


@dataclass(frozen=True, slots=True)
class Row:
    """An input row: its time as an integer, its number in the input, and its columns."""

    time: int
    arrival: int
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """A window and its rows, in order."""

    start: int | None
    end: int | None
    rows: list[Row]


def frames(window: Window, rows: list[Row], *, emits_empty: bool = False) -> Iterator[Frame]:
    """The windows of one key's rows, which are in order; Policy is not among them (:func:`policy_frame`).

    >>> from windrow.windows import Tumbling
    >>> rows = [Row(t, t, {}) for t in (3, 7, 12)]
    >>> [(frame.start, frame.end, len(frame.rows)) for frame in frames(Tumbling(10), rows)]
    [(0, 10, 2), (10, 20, 1)]
    """
    if isinstance(window, TimeWindow):
        return _time_frames(window, rows, emits_empty)
    if isinstance(window, Session):
        return _between(window.merge(row.time for row in rows), rows)
    if isinstance(window, Rows):
        return _numbered(_row_spans(window, len(rows)), rows)
    if isinstance(window, Punctuation):
        return _numbered(window.split(row.values[window.column] for row in rows), rows)
    if isinstance(window, Threshold):
        return _numbered(_threshold_spans([row.values[window.column] is True for row in rows]), rows)
    if isinstance(window, Delta):
        return _delta_frames(window, rows)
    raise TypeError(f"{window!r} is a kind of window that the oracle does not know")


# -- time and silence decide ---------------------------------------------------------------------------------


def _time_frames(window: TimeWindow, rows: list[Row], emits_empty: bool) -> Iterator[Frame]:
    spans = {span for row in rows for span in window.assign(row.time)}
    if emits_empty and spans and not isinstance(window, Fixed):
        spans |= _spans_between(window, spans)
    return _between(sorted(spans), rows)


def _spans_between(window: TimeWindow, spans: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The windows that start after the first of these and end before the last."""
    first = min(start for start, _ in spans)
    last = max(end for _, end in spans)
    return {(start, end) for start, end in window.windows_ending_in(first, last - 1) if start > first}


def _between(spans: Iterable[tuple[int, int]], rows: list[Row]) -> Iterator[Frame]:
    for start, end in spans:
        yield Frame(start, end, [row for row in rows if start <= row.time < end])


# -- data decide ---------------------------------------------------------------------------------------------


def _row_spans(window: Rows, count: int) -> Iterator[tuple[int, int]]:
    first = 0
    while first + window.size <= count:
        yield first, first + window.size
        first += window.slide


def _threshold_spans(flags: list[bool]) -> Iterator[tuple[int, int]]:
    """All stretches of true rows with a row behind them that is not, and none before them that is."""
    for first in range(len(flags)):
        begins = first == 0 or not flags[first - 1]
        for end in range(first + 1, len(flags)):
            if begins and all(flags[first:end]) and not flags[end]:
                yield first, end


def _numbered(spans: Iterable[tuple[int, int]], rows: list[Row]) -> Iterator[Frame]:
    return (frame_of(rows[first:end]) for first, end in spans)


def _delta_frames(window: Delta, rows: list[Row]) -> Iterator[Frame]:
    values = [row.values[window.column] for row in rows]
    placed = [(row, window.assign(v)) for row, v in zip(rows, values, strict=True) if _is_finite(v)]
    for number in sorted({number for _, numbers in placed for number in numbers}):
        yield frame_of([row for row, numbers in placed if number in numbers])


def _is_finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def frame_of(rows: list[Row]) -> Frame:
    """A window that data decide: from the time of its first row to that of its last."""
    return Frame(rows[0].time, rows[-1].time, rows) if rows else Frame(None, None, [])


def policy_frame(
    evicts: Callable[[Any, Any], bool], partials: Callable[[list[Row]], Any], held: list[Row]
) -> Frame:
    """What a policy leaves of a window: ever longer prefixes are tried for as long as it is true of them."""
    total, evicted = partials(held), 0
    while evicted < len(held) and evicts(total, partials(held[: evicted + 1])):
        evicted += 1
    return frame_of(held[evicted:])


# -- rolling -------------------------------------------------------------------------------------------------


def rows_within(size: int, row: Row, rows: list[Row]) -> list[Row]:
    """The rows in (t - size, t] of a row's time t, its peers included."""
    return [other for other in rows if row.time - size < other.time <= row.time]


def last_rows(count: int, row: Row, rows: list[Row]) -> list[Row]:
    """The last ``count`` rows up to this one and including it."""
    position = rows.index(row)
    return rows[max(0, position + 1 - count) : position + 1]
