"""Late rows: which a batch had, why, when they were, and the rows themselves for ``late="emit"``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.stream.waiting_tables import WaitingTables
from windrow.rows.times import TimeAxis
from windrow.state.checks import require

__all__ = ["MOST_TIMES", "NO_TIMES", "REASONS", "LateRows", "sampled_times"]


#: why a row is late, by what took none of it: windows that time decides, sessions, rows in order
REASONS = ("window_fired", "session_closed", "order_passed")
#: times of late rows that are kept of a push
MOST_TIMES = 32
NO_TIMES: Ints = np.zeros(0, np.int64)


def sampled_times(*times: Ints) -> Ints:
    """Times in order, each once; of very many a few that are spread evenly over them, with the first and the
    last.

    >>> sampled_times(np.array([7, 3]), np.array([3])).tolist()
    [3, 7]
    >>> many = sampled_times(np.arange(1_000))
    >>> len(many), many[[0, -1]].tolist()
    (32, [0, 999])
    """
    found: Ints = np.unique(np.concatenate(times))
    if len(found) <= MOST_TIMES:
        return found
    return found[np.linspace(0, len(found) - 1, MOST_TIMES).round().astype(np.int64)]


@dataclass(frozen=True)
class LateRows(WaitingTables):
    """Late rows that nobody has asked for yet."""

    def check_invariants(self) -> None:
        """Of late rows that come from outside."""
        for table in self.checked_tables("late"):
            known = {"late_by", "late_reason"} <= set(table.column_names)
            require(known, "late rows without how late they are, or why")
            types = (pa.int64(), pa.duration("us"))
            require(table.column("late_by").type in types, "late rows: how late they are is not a number")
            require(table.column("late_reason").type == pa.string(), "late rows: why they are is not text")

    def with_rows(self, rows: pa.Table, axis: TimeAxis, late_by: Ints, reasons: Sequence[str]) -> LateRows:
        """With rows as they came, how late they were, and why."""
        marked = rows.append_column("late_by", pa.array(late_by, pa.int64()).cast(_lateness(axis)))
        return LateRows((*self.tables, marked.append_column("late_reason", pa.array(reasons, pa.string()))))

    def joined(self, schema: pa.Schema | None, axis: TimeAxis | None = None) -> pa.Table:
        """All of them in one table."""
        fields = [] if schema is None else list(schema)
        return self.joined_or(
            pa.schema([*fields, ("late_by", _lateness(axis)), ("late_reason", pa.string())])
        )


def _lateness(axis: TimeAxis | None) -> Any:
    return pa.int64() if axis is None or axis.is_integer else pa.duration("us")
