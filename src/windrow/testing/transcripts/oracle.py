"""The oracle of endless input behind the calls of an operator, so that transcripts run on it."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal

from windrow.query import Query
from windrow.testing.oracle.stream import StreamOracle
from windrow.windows import Window

__all__ = ["OracleOperator"]


class OracleOperator:
    """What ``query.open()`` gives, computed by brute force; tables are lists of dicts.

    >>> import windrow as wr
    >>> query = wr.query(time="ts").window(wr.Tumbling(10)).agg(n=wr.count())
    >>> operator = OracleOperator(query)
    >>> operator.push([{"ts": 3}])
    []
    >>> operator.snapshot().advance(10)
    [{'window_start': 0, 'window_end': 10, 'n': 1}]
    >>> operator.metrics.rows_in
    1
    """

    #: metrics that say how an operator does it, which the definitions leave open
    uncounted = ("slices", "keys", "state_bytes")

    def __init__(
        self,
        query: Query,
        clock: Callable[[], float] = time.monotonic,
        lateness: Literal["push", "spark"] = "push",
    ) -> None:
        self._oracle = StreamOracle(query, clock, lateness)
        self._keeps_late = query.late == "return"
        self._handed_over = 0
        self._rejected_handed_over = 0

    def push(self, rows: Any) -> list[dict[str, Any]]:
        return self._oracle.push(rows)

    def advance(self, watermark: Any) -> list[dict[str, Any]]:
        return self._oracle.advance(watermark)

    def poll(self) -> list[dict[str, Any]]:
        return self._oracle.poll()

    def finish(self) -> list[dict[str, Any]]:
        return self._oracle.finish()

    def add_window(self, **named: Window) -> None:
        self._oracle.add_window(**named)

    def remove_window(self, name: str) -> None:
        self._oracle.remove_window(name)

    def late_rows(self) -> list[dict[str, Any]]:
        """The late rows since it was last asked."""
        late = self._oracle.late[self._handed_over :] if self._keeps_late else []
        self._handed_over = len(self._oracle.late)
        return late

    def rejected_rows(self) -> list[dict[str, Any]]:
        """The rejected rows since it was last asked."""
        rejected = self._oracle.rejected[self._rejected_handed_over :]
        self._rejected_handed_over = len(self._oracle.rejected)
        return rejected

    def snapshot(self) -> OracleOperator:
        """The whole state, which is an operator that goes on from here."""
        return copy.deepcopy(self)

    @property
    def metrics(self) -> SimpleNamespace:
        counts = self._oracle.counts
        return SimpleNamespace(
            rows_in=counts.rows_in,
            rows_aggregated=counts.rows_aggregated,
            rows_late=counts.rows_late,
            late=dict(counts.late),
            late_pairs=dict(counts.late_pairs),
            rows_rejected=counts.rows_rejected,
            rejected=dict(counts.rejected),
            windows_fired=counts.windows_fired,
            windows_corrected=counts.windows_corrected,
            windows_retracted=counts.windows_retracted,
            watermark=self._oracle.watermark,
        )
