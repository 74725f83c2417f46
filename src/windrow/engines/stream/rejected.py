"""Rejected rows: how many a batch had, why, and the rows themselves for ``on_error="reject"``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from windrow.arrays import Mask
from windrow.engines.stream.waiting_tables import WaitingTables
from windrow.partials.raising import RaisingRows
from windrow.partials.rejected import with_reasons
from windrow.result_names import REJECTED_ROWS
from windrow.rows.selection import filter_rows, take_rows
from windrow.state.checks import require

__all__ = ["LeftOut", "RejectedTables"]


@dataclass(frozen=True)
class RejectedTables(WaitingTables):
    """Rejected rows that nobody has asked for yet, with why."""

    def check_invariants(self) -> None:
        """Of rejected rows that come from outside."""
        for table in self.checked_tables("rejected"):
            for name in REJECTED_ROWS:
                known = name in table.column_names and table.column(name).type == pa.string()
                require(known, f"rejected rows without {name}")

    def with_tables(self, tables: Sequence[pa.Table]) -> RejectedTables:
        return RejectedTables((*self.tables, *tables)) if tables else self

    def joined(self, schema: pa.Schema | None) -> pa.Table:
        """All of them in one table."""
        return self.joined_or(with_reasons((schema or pa.schema([])).empty_table(), "").schema)


@dataclass
class LeftOut:
    """Rows of one batch that are left out before windows see them. ``keeps``: the rows are handed back."""

    keeps: bool
    # every push makes one: a counter takes ten times as long to make as a dict
    counts: dict[str, int] = field(default_factory=dict)
    tables: list[pa.Table] = field(default_factory=list)

    def add(self, reason: str, table: pa.Table, left: Mask) -> None:
        """The rows of the table for which the mask holds."""
        count = int(left.sum())
        self.counts[reason] = self.counts.get(reason, 0) + count
        if self.keeps and count:
            self.tables.append(with_reasons(filter_rows(table, left), reason))

    def add_raising(self, table: pa.Table, found: RaisingRows) -> None:
        self.counts["raised"] = self.counts.get("raised", 0) + len(found.rows)
        rows = take_rows(table, found.rows)
        self.tables.append(with_reasons(rows, "raised", found.aggregates, found.errors))
