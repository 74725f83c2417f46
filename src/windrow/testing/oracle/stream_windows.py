"""The model of windows that time decides, in a stream: each instance keeps its own rows.

A window has fired once the watermark has reached its end, whether it has rows or not. Until then it takes
every row; afterwards those within the allowed lateness. A row that it did not take never becomes visible
to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from windrow.spec import Spec
from windrow.testing.oracle.membership import Row
from windrow.testing.oracle.stream_results import Identity, Model, Record, Result, Watermark
from windrow.windows import Fixed

__all__ = ["TimeModel"]


class TimeModel(Model):
    """Tumbling, Sliding, Cumulative or Fixed windows of all keys.

    >>> import windrow as wr
    >>> query = wr.query(time="ts").window(wr.Sliding(10, slide=5)).agg(n=wr.count())
    >>> model = TimeModel(query, *query.windows[0])
    >>> len(model.take(0, [Row(7, 0, {})], 10))
    1
    >>> [(result.start, result.end) for result in model.results(99)]
    [(5, 15)]
    """

    reason = "window_fired"

    def __init__(self, query: Spec, name: str, window: Any) -> None:
        super().__init__(query, name, window)
        self.held: dict[Identity, list[Row]] = {}
        self.record = Record()

    def holds(self, row: Row) -> bool:
        return any(True for _ in self.window.assign(row.time))

    def take(self, key: int, rows: list[Row], watermark: Watermark) -> list[Row]:
        return [row for row in rows if self._take_one(key, row, watermark)]

    def _take_one(self, key: int, row: Row, watermark: Watermark) -> bool:
        is_taken = False
        for start, end in self.window.assign(row.time):
            has_fired = watermark >= end
            corrects = self.allowed > 0 and watermark - row.time <= self.allowed
            if not has_fired or corrects:
                self.held.setdefault((key, start, end), []).append(row)
                is_taken = True
            else:
                self.late_pairs += 1
        return is_taken

    def results(self, watermark: Watermark) -> Iterator[Result]:
        for identity, rows in self.held.items():
            is_final = watermark >= identity[2]
            if is_final or self.updates:
                yield from self.record.give(identity, rows, is_final)
        if self.query.empty == "include" and not isinstance(self.window, Fixed):
            for identity in self._empty(watermark):
                yield from self.record.give(identity, [], True)

    def _empty(self, watermark: Watermark) -> Iterator[Identity]:
        """The windows without rows that have fired, with a row of their key before them and one that is not:
        it is after them, or inside and came too late for them."""
        for key in dict.fromkeys(key for key, _, _ in self.held):
            times = [row.time for (other, _, _), rows in self.held.items() if other == key for row in rows]
            first, last = min(times), max(times)
            lying = {*self.window.windows_ending_in(first, last), *self.window.assign(last)}
            for start, end in sorted(lying):
                if start > first and end <= watermark and (key, start, end) not in self.held:
                    yield key, start, end
