"""The model of sessions in a stream: the rows of a push come together, in two steps.

First those that are not behind the watermark, or within the allowed lateness of it, join whatever sessions
they touch; with an allowance fired ones too, as long as their end is no further behind. Then each later row
is judged alone, by what the first step left.
Invariant: the sessions of a key are disjoint, unless late rows are judged by themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from windrow.spec import Spec
from windrow.testing.oracle.membership import Frame, Row, frames
from windrow.testing.oracle.stream_results import Model, Record, Result, Watermark

__all__ = ["SessionModel"]


class SessionModel(Model):
    """Session windows of all keys.

    >>> import windrow as wr
    >>> query = wr.query(time="ts").window(wr.Session(gap=5)).agg(n=wr.count())
    >>> model = SessionModel(query, *query.windows[0])
    >>> taken = model.take(0, [Row(0, 0, {}), Row(7, 1, {})], 0)
    >>> [(session.start, session.end) for session in model.sessions[0]]
    [(0, 5), (7, 12)]
    >>> taken = model.take(0, [Row(4, 2, {})], 3)
    >>> [(session.start, session.end) for session in model.sessions[0]]
    [(0, 12)]
    """

    reason = "session_closed"

    def __init__(self, query: Spec, name: str, window: Any) -> None:
        super().__init__(query, name, window)
        self.sessions: dict[int, list[Frame]] = {}
        self.record = Record()

    @property
    def apart(self) -> int:
        return int(self.window.gap_us)

    def take(self, key: int, rows: list[Row], watermark: Watermark) -> list[Row]:
        near = [row for row in rows if watermark - row.time <= self.allowed]
        far = [row for row in rows if watermark - row.time > self.allowed]

        within_reach = [each for each in self._of(key) if self._is_within_reach(each, watermark)]
        beyond = [each for each in self._of(key) if not self._is_within_reach(each, watermark)]
        after_first_step = [*beyond, *self._merged(within_reach, near)]

        fired = [each for each in after_first_step if _end(each) <= watermark]
        unfired = [each for each in after_first_step if _end(each) > watermark]
        in_time = [row for row in far if not self._is_late(row, fired, unfired, watermark)]
        self.sessions[key] = [*fired, *self._merged(unfired, in_time)]
        self.late_pairs += len(far) - len(in_time)
        assert _are_disjoint(self.sessions[key]) or self.window.late_by == "row"
        return [*near, *in_time]

    def _of(self, key: int) -> list[Frame]:
        return self.sessions.get(key, [])

    def _is_within_reach(self, session: Frame, watermark: Watermark) -> bool:
        """Whether rows of the first step may join it."""
        has_fired = _end(session) <= watermark
        return not has_fired or (self.allowed > 0 and _end(session) >= watermark - self.allowed)

    def _is_late(self, row: Row, fired: list[Frame], unfired: list[Frame], watermark: Watermark) -> bool:
        """Whether a row that is behind the allowance comes too late, alone."""
        if self.window.late_by == "row":
            return row.time + self.window.gap_us <= watermark
        if any(row.time < _end(session) for session in fired):
            return True
        joined = next(session for session in self._merged(unfired, [row]) if row in session.rows)
        return _end(joined) <= watermark

    def _merged(self, sessions: list[Frame], rows: list[Row]) -> list[Frame]:
        """The sessions of all these rows, found anew from the first row on."""
        together = [*(row for session in sessions for row in session.rows), *rows]
        return list(frames(self.window, sorted(together, key=lambda row: row.time)))

    def results(self, watermark: Watermark) -> Iterator[Result]:
        there = {(key, *_edges(each)): each.rows for key, found in self.sessions.items() for each in found}
        yield from self.record.take_back(self.record.standing.keys() - there.keys(), watermark)
        for identity, rows in there.items():
            is_final = watermark >= identity[2]
            if is_final or self.updates:
                yield from self.record.give(identity, rows, is_final)


def _edges(session: Frame) -> tuple[int, int]:
    assert session.start is not None
    return session.start, _end(session)


def _end(session: Frame) -> int:
    assert session.end is not None
    return session.end


def _are_disjoint(sessions: list[Frame]) -> bool:
    edges = sorted(_edges(session) for session in sessions)
    return all(end <= start for (_, end), (start, _) in itertools.pairwise(edges))
