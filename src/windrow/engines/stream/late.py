"""Late rows: which a batch had, why, and the rows themselves for ``late="emit"``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.engines.times import TimeAxis

__all__ = ["REASONS", "LateRows"]

Ints = npt.NDArray[np.int64]

#: why a row is late, by what took none of it: windows that time decides, sessions, rows in order
REASONS = ("window_fired", "session_closed", "order_passed")


@dataclass(frozen=True)
class LateRows:
    """Late rows that nobody has asked for yet."""

    tables: tuple[pa.Table, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(int(table.nbytes) for table in self.tables)

    def with_rows(self, rows: pa.Table, axis: TimeAxis, late_by: Ints, reasons: Sequence[str]) -> LateRows:
        """With rows as they came, how late they were, and why."""
        behind: Any = pa.array(late_by, pa.int64())
        if not axis.is_integer:
            behind = behind.cast(pa.duration("us"))
        told = rows.append_column("late_by", behind).append_column(
            "late_reason", pa.array(reasons, pa.string())
        )
        return LateRows((*self.tables, told))

    def joined(self, schema: pa.Schema | None) -> pa.Table:
        """All of them in one table."""
        if self.tables:
            return pa.concat_tables(self.tables, promote_options="permissive")
        names = [] if schema is None else list(schema)
        return pa.schema([*names, ("late_by", pa.int64()), ("late_reason", pa.string())]).empty_table()
