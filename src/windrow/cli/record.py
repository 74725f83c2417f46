"""What a run leaves behind for its summary and its report."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from windrow.cli.job import Job
from windrow.cli.show.comparison import Comparison
from windrow.cli.show.progress import Progress, Totals, human_seconds

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Record", "Sample"]

#: results that are kept for a report
_MOST = 100_000


@dataclass
class Sample:
    """Results, thinned evenly where there are very many."""

    tables: list[pa.Table] = field(default_factory=list)
    seen: int = 0
    kept: int = 0
    stride: int = 1

    def add(self, table: pa.Table) -> None:
        first = -self.seen % self.stride
        self.seen += table.num_rows
        self._keep(_every(table, self.stride, first))
        while self.kept > _MOST:
            self.stride *= 2
            whole = self.table()
            self.tables, self.kept = [], 0
            self._keep(_every(whole, 2, 0))

    def _keep(self, table: pa.Table) -> None:
        if table.num_rows:
            self.tables.append(table)
            self.kept += table.num_rows

    def table(self) -> Any:
        import pyarrow as pa

        return pa.concat_tables(self.tables) if self.tables else None


def _every(table: pa.Table, stride: int, first: int) -> pa.Table:
    return table if stride == 1 else table.take(list(range(first, table.num_rows, stride)))


@dataclass
class Record:
    """One run, as it goes on."""

    job: Job
    engine: Literal["local", "spark"]
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    steps: list[Progress] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    results: Sample = field(default_factory=Sample)
    notes: list[str] = field(default_factory=list)
    status: Literal["running", "done", "stopped", "failed"] = "running"
    #: the result rows that were written, where that is known
    written: int | None = None
    #: what the same work took in other ways, for the report
    comparisons: list[Comparison] = field(default_factory=list)
    #: seconds of the work itself: neither the start of the engine nor what is done with results afterwards
    seconds: float = 0.0
    #: seconds until the engine was ready
    startup: float = 0.0
    _clock: float = 0.0
    _worked: float | None = None

    def __post_init__(self) -> None:
        self._clock = time.monotonic()

    def elapsed(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self._clock

    def engine_started(self) -> None:
        """The engine is ready, and the work begins."""
        self.startup += self.elapsed()
        self._clock = time.monotonic()

    def work_ended(self) -> None:
        """All rows are worked off; what follows is not counted."""
        self._worked = self.elapsed()

    def add(self, step: Progress) -> None:
        self.steps.append(step)
        self.totals.add(step)

    def end(self, status: Literal["done", "stopped", "failed"]) -> None:
        self.status = status
        self.seconds = self.elapsed() if self._worked is None else self._worked

    def summary(self) -> dict[str, Any]:
        """For machines."""
        totals = self.totals
        failed = {"error": self.notes[-1]} if self.status == "failed" and self.notes else {}
        return {
            "job": self.job.name,
            "engine": self.engine,
            "status": self.status,
            "seconds": round(self.seconds, 3),
            "startup_seconds": round(self.startup, 3),
            "batches": totals.batches,
            "rows": totals.rows,
            "late": totals.late,
            "late_pairs": dict(totals.late_pairs),
            "rejected": totals.rejected,
            "windows": totals.windows,
            "corrected": totals.corrected,
            "filtered": totals.filtered,
            "results": self.written,
            "watermark": self.steps[-1].as_dict()["watermark"] if self.steps else None,
        } | failed

    def summary_text(self) -> str:
        """For people, in one line."""
        totals, written = self.totals, self.written
        started = f" (Spark started in {human_seconds(self.startup)})" if self.startup else ""
        parts = [f"{totals.rows:,} rows in {human_seconds(self.seconds)}{started}"]
        if written is not None:
            parts.append(f"{written:,} results")
        parts += [f"{totals.late_text} late"] if totals.late_pairs else []
        parts += [f"{totals.rejected:,} rejected"] if totals.rejected else []
        parts += [f"{totals.filtered:,} filtered"] if totals.filtered else []
        where = f", written to {self.job.sink.path}" if self.job.sink.path else ""
        if self.status == "stopped" and self.engine == "local":
            where = ", and no file was written" if where else ""
        return f"{self.status}: {', '.join(parts)}{where}"
