"""The models of what takes rows in the order of their times: Rows, Delta, Punctuation, Threshold, Policy and
rolling.

All rows of a key are kept for ever, and everything is evaluated anew over those that the watermark, less the
allowed lateness, has passed. What was given out is remembered by its number: since no row comes before those
that were passed, windows never change their numbers.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from windrow.spec import Spec
from windrow.testing.oracle.folding import place, policy_frames, rolling_rows
from windrow.testing.oracle.membership import Frame, Row, frames
from windrow.testing.oracle.relative import seen_by_row
from windrow.testing.oracle.stream_results import Kind, Model, Result, Watermark
from windrow.windows import Delta, Policy
from windrow.windows.relative import RelativeFrame, RowFrame, TimeFrame

__all__ = ["FrameModel", "OrderedModel", "RollingModel"]


class InOrder(Model):
    """What the models here have in common: which rows are late, and which are passed."""

    reason = "order_passed"

    def __init__(self, query: Spec, name: str, window: Any) -> None:
        super().__init__(query, name, window)
        self.rows: dict[int, list[Row]] = {}

    def take(self, key: int, rows: list[Row], watermark: Watermark) -> list[Row]:
        in_time = [row for row in rows if not self.is_passed(row, watermark)]
        self.rows.setdefault(key, []).extend(in_time)
        self.late_pairs += len(rows) - len(in_time)
        return in_time

    def is_passed(self, row: Row, watermark: Watermark) -> bool:
        return watermark - self.allowed > row.time

    def in_order(self, rows: list[Row]) -> list[Row]:
        return sorted(rows, key=functools.partial(place, self.query))

    def passed(self, key: int, watermark: Watermark) -> list[Row]:
        return self.in_order([row for row in self.rows[key] if self.is_passed(row, watermark)])


class OrderedModel(InOrder):
    """The windows that data decide, of all keys: each comes out once.

    >>> import windrow as wr
    >>> query = wr.query(time="ts").window(wr.Rows(2)).agg(n=wr.count())
    >>> model = OrderedModel(query, *query.windows[0])
    >>> len(model.take(0, [Row(4, 0, {}), Row(3, 1, {})], 3))
    2
    >>> [list(model.results(watermark)) for watermark in (3, 4)]
    [[], []]
    >>> [(result.start, result.end) for result in model.results(5)]
    [(3, 4)]
    """

    def __init__(self, query: Spec, name: str, window: Any) -> None:
        super().__init__(query, name, window)
        self.given: Counter[int] = Counter()

    def holds(self, row: Row) -> bool:
        if not isinstance(self.window, Delta):
            return True
        value = row.values[self.window.column]
        return value is not None and math.isfinite(value)

    def results(self, watermark: Watermark) -> Iterator[Result]:
        for key in self.rows:
            found = self._complete(self.passed(key, watermark), watermark)
            for frame in found[self.given[key] :]:
                yield Result("fired", key, frame.start, frame.end, frame.rows, 0, True)
            self.given[key] = len(found)

    def _complete(self, rows: list[Row], watermark: Watermark) -> list[Frame]:
        """The windows of these rows that no later row can change."""
        if isinstance(self.window, Policy):
            return list(policy_frames(self.query, self.window, rows))
        found = list(frames(self.window, rows))
        is_finished = watermark == math.inf
        return found[: self._ended(rows)] if isinstance(self.window, Delta) and not is_finished else found

    def _ended(self, rows: list[Row]) -> int:
        """How many windows of a Delta have a row at or beyond their end."""
        reached = [self.window.assign(row.values[self.window.column]) for row in rows]
        furthest = max((numbers.start for numbers in reached), default=0)
        return sum(number < furthest for number in {number for numbers in reached for number in numbers})


class RollingModel(InOrder):
    """The rolling results of all keys, one for each row; by updates, also those of rows not passed yet.

    >>> import windrow as wr
    >>> query = wr.query(time="ts").rolling(5).agg(n=wr.count())
    >>> model = RollingModel(query, "", query.rolling_over)
    >>> len(model.take(0, [Row(4, 0, {}), Row(3, 1, {})], 3))
    2
    >>> [(result.row.time, len(result.rows)) for result in model.results(4)]
    [(3, 1)]
    """

    def __init__(self, query: Spec, name: str, window: Any) -> None:
        super().__init__(query, name, window)
        self.given: set[int] = set()
        self.times_out: Counter[int] = Counter()
        #: the first time that the last push touched, by key
        self.touched: dict[int, int] = {}

    def take(self, key: int, rows: list[Row], watermark: Watermark) -> list[Row]:
        in_time = super().take(key, rows, watermark)
        if in_time:
            self.touched[key] = min(row.time for row in in_time)
        return in_time

    def results(self, watermark: Watermark) -> Iterator[Result]:
        for key, rows in self.rows.items():
            for row, held in rolling_rows(self.query, self.window, self.passed(key, watermark)):
                if row.arrival not in self.given:
                    self.given.add(row.arrival)
                    yield self._result(key, row, held, is_final=True)
            if self.updates and key in self.touched:
                yield from self._speculative(key, rows)
        self.touched.clear()

    def _speculative(self, key: int, rows: list[Row]) -> Iterator[Result]:
        for row, held in rolling_rows(self.query, self.window, self.in_order(rows)):
            if row.arrival not in self.given and row.time >= self.touched[key]:
                yield self._result(key, row, held, is_final=False)

    def _result(self, key: int, row: Row, held: list[Row], *, is_final: bool) -> Result:
        self.times_out[row.arrival] += 1
        kind: Kind = "fired" if is_final else "speculative"
        return Result(kind, key, None, None, held, self.times_out[row.arrival] - 1, is_final, row)


class FrameModel(RollingModel):
    """The rolling results of frames: each comes out once no row that is still to come can be in a frame of
    its row.

    >>> import windrow as wr
    >>> query = wr.query(time="ts").rolling(2, closed="both", shift=1).agg(n=wr.count())
    >>> model = FrameModel(query, "", query.rolling_over)
    >>> len(model.take(0, [Row(4, 0, {}), Row(3, 1, {})], 3))
    2
    >>> [[(result.row.time, result.seen) for result in model.results(watermark)] for watermark in (4, 5)]
    [[], [(3, {'n': 2})]]
    """

    def results(self, watermark: Watermark) -> Iterator[Result]:
        for key, rows in self.rows.items():
            passed = self.passed(key, watermark)
            for row in passed:
                if row.arrival not in self.given and self._is_decided(row, passed, watermark):
                    self.given.add(row.arrival)
                    yield self._framed(key, row, passed, is_final=True)
            if self.updates and key in self.touched:
                yield from self._speculative(key, rows)
        self.touched.clear()

    def _is_decided(self, row: Row, passed: list[Row], watermark: Watermark) -> bool:
        """Whether no row that is still to come can be in a frame; those come at the watermark or later."""
        if watermark == math.inf:
            return True
        return not any(
            passed.index(row) + frame.stop > len(passed)
            if isinstance(frame, RowFrame)
            else _reaches(frame, row, watermark - self.allowed)
            for frame in self._frames
        )

    def _speculative(self, key: int, rows: list[Row]) -> Iterator[Result]:
        ordered, since = self.in_order(rows), self.touched[key]
        for row in ordered:
            if row.arrival not in self.given and (row.time >= since or self._may_hold(row, since)):
                yield self._framed(key, row, ordered, is_final=False)

    def _may_hold(self, row: Row, since: int) -> bool:
        """Whether a row at a time or later may be in a frame."""
        return any(
            frame.stop > 1 if isinstance(frame, RowFrame) else _reaches(frame, row, since)
            for frame in self._frames
        )

    @property
    def _frames(self) -> list[RelativeFrame]:
        return [frame for _, frame in self.window.frames.named]

    def _framed(self, key: int, row: Row, rows: list[Row], *, is_final: bool) -> Result:
        found = self._result(key, row, [], is_final=is_final)
        return replace(found, seen=seen_by_row(self.query, row, rows))


def _reaches(frame: TimeFrame, row: Row, since: Watermark) -> bool:
    """Whether the frame of a row goes on to a time."""
    if frame.upper is None:
        return True
    end = frame.upper.at(row.time)
    return end >= since if frame.upper.is_closed else end > since
