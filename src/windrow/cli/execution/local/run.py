"""A job on the local engine: a finite source, read once.

A stream is read in the micro-batches that Spark makes of the same files, and its rows are judged as Spark
judges them: every window that Spark writes comes out with the same values, and as many rows are late. At the
end, where Spark keeps what is left for a next run, every window that is still open comes out.
"""

from __future__ import annotations

import datetime as dt
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.errors import JobError, JobFailed, JobInterrupted
from windrow.cli.execution.local.derive import DerivedRows
from windrow.cli.execution.local.files import (
    check_readable,
    ignored_options,
    read_batches,
    read_micro_batches,
)
from windrow.cli.execution.local.late import HandedBack, close_all
from windrow.cli.execution.local.sinks import LocalSink, open_sink
from windrow.cli.job import FILE_FORMATS, Job
from windrow.cli.record import Record
from windrow.cli.show import Progress, Reporter
from windrow.cli.show.moments import plain_value
from windrow.cli.stopping import Stopping
from windrow.engines.stream import Operator
from windrow.engines.stream.metrics import Metrics

__all__ = ["guarded", "run_batches", "run_local"]

#: rows of history that are read at a time
_HISTORY_ROWS = 65_536


def run_local(
    job: Job, record: Record, reporter: Reporter, rows: int = 65_536, overwrite: bool = False
) -> None:
    """Run to the end of the input. Nothing is kept for a next run: every window comes out. ``rows``: how many
    are read at a time, which changes no result."""
    if job.source.is_stream and job.labels is not None:
        raise JobError(
            f"{job.file}: as-of windows on streams run on Spark alone: take out --engine local, or stream = "
            f"true for tables that end"
        )
    for source in job.sources:
        check_readable(source, job.file)
    sink, back = open_sink(job.sink, overwrite), HandedBack(job, overwrite)
    for source in job.sources:
        for name in ignored_options(source):
            reporter.note(f"note: the local engine does not know the option {name!r}")
    derived = DerivedRows(job)
    if job.source.is_stream:
        micro_batches = map(derived.of, read_micro_batches(job.source, rows))
        run_batches(job, micro_batches, sink, record, reporter, derived, back)
    else:
        _run_once(job, derived, read_batches(job.source, rows), rows, sink, back, record, reporter)


def _run_once(
    job: Job,
    derived: DerivedRows,
    tables: Iterable[pa.Table],
    rows: int,
    sink: LocalSink,
    back: HandedBack,
    record: Record,
    reporter: Reporter,
) -> None:
    """The whole table at once."""
    before = time.perf_counter()
    is_complete = False
    try:
        table = _joined(list(derived.of(tables)))
        labels = _label_arguments(job, rows)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = guarded(job.query.run, table, **labels)
        for warning in caught:
            reporter.note(f"note: {warning.message}")
        rejected = _rejected(job, table)
        back.write("rejected", rejected)
        _keep(sink, record, reporter, result)
        is_complete = True
    finally:
        close_all([back, sink], is_complete)
    largest = plain_value(pc.max(table.column(job.query.time)))
    seconds = time.perf_counter() - before
    windows = 0 if job.labels is not None else result.num_rows
    step = Progress(
        0, record.elapsed(), table.num_rows, 0, rejected.num_rows, windows, seconds=seconds, largest=largest
    )
    step = replace(step, filtered=derived.filtered)
    record.add(step)
    reporter.progress(step, record.totals)


def _rejected(job: Job, table: pa.Table) -> pa.Table:
    """The rows that are in no window; of as-of windows, those without a time."""
    return guarded(job.query.rejected_rows, table)


def _label_arguments(job: Job, rows: int) -> dict[str, Any]:
    """What as-of windows are given besides the events."""
    if job.labels is None:
        return {}
    source = job.labels.source
    tables = DerivedRows(job, source).of(read_batches(source, rows))
    return job.labels.arguments(_joined(list(tables), "[at]"))


def _history_arguments(job: Job) -> dict[str, Any]:
    """What an operator begins with."""
    if job.history is None:
        return {}
    if job.history.takes_over is not None:
        raise JobError(
            f"{job.file}: [history] takes_over: only Spark reads the checkpoint of its stream: take out "
            f"--engine local, or write until in its place, with the watermark that windrow state show gives"
        )
    source = job.history.source
    tables = DerivedRows(job, source).of(read_batches(source, _HISTORY_ROWS))
    return job.history.arguments(_joined(list(tables), "[history]"))


def run_batches(
    job: Job,
    batches: Iterable[Iterable[pa.Table]],
    sink: LocalSink,
    record: Record,
    reporter: Reporter,
    derived: DerivedRows,
    back: HandedBack | None = None,
) -> None:
    """Micro-batch after micro-batch, each in one table or more, through an operator that judges as Spark
    does; then the end. Stopped in between, no file of results stays: it would pass for all of them.
    ``derived`` counts the rows that were left out of the micro-batches. ``back``: where late and rejected
    rows go; None: among results."""
    back = HandedBack(job) if back is None else back
    operator = guarded(job.query.open, lateness="spark", **_history_arguments(job))
    is_complete = False
    with Stopping(lambda: reporter.note("stopping after this micro-batch ...")) as stopping:
        try:
            for result in _stepped(job, operator, batches, record, reporter, derived, back):
                _keep(sink, record, reporter, result)
                if stopping.asked:
                    break
            else:
                is_complete = True
        finally:
            close_all([back, sink], is_complete)
    if not is_complete:
        record.written = 0 if job.sink.format in FILE_FORMATS else record.written
        raise JobInterrupted


def _stepped(
    job: Job,
    operator: Operator,
    batches: Iterable[Iterable[pa.Table]],
    record: Record,
    reporter: Reporter,
    derived: DerivedRows,
    back: HandedBack,
) -> Iterator[pa.Table]:
    times = _Largest(job.query.time)
    for number, batch in enumerate(batches):
        before, began, left_out = operator.metrics, time.perf_counter(), derived.filtered
        result = back.after(operator, guarded(operator.push_parts, back.seen(times.seen(batch))))
        step = _progress(number, record, began, before, operator.metrics, times.largest)
        step = replace(step, filtered=derived.filtered - left_out)
        record.add(step)
        reporter.progress(step, record.totals)
        yield result
    yield from _without_data(operator, record, reporter, times.largest, back)
    fired = operator.metrics.windows_fired
    result = guarded(operator.finish)
    record.totals.windows += operator.metrics.windows_fired - fired
    if result.num_rows:
        reporter.note(
            f"the input has ended: {result.num_rows:,} results of open windows were also emitted; on Spark "
            f"they stay open in the checkpoint"
        )
    yield back.after(operator, result)


def _without_data(
    operator: Operator, record: Record, reporter: Reporter, largest: Any, back: HandedBack
) -> Iterator[pa.Table]:
    """The micro-batch without rows that Spark runs if the last one with rows leads to another watermark."""
    before, began = operator.metrics, time.perf_counter()
    result = back.after(operator, guarded(operator.push_parts, ()))
    after = operator.metrics
    if after.watermark != before.watermark:
        step = replace(_progress(len(record.steps), record, began, before, after, largest), filtered=0)
        record.add(step)
        reporter.progress(step, record.totals)
        yield result


class _Largest:
    """The largest time of tables that are on their way."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._largest: Any = None

    def seen(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            if self._column in table.column_names:
                found = pc.max(table.column(self._column))
                both = [found] if self._largest is None else [self._largest, found]
                self._largest = pc.max(pa.array(both, found.type))
            yield table

    @property
    def largest(self) -> Any:
        return None if self._largest is None else plain_value(self._largest)


def _progress(
    number: int, record: Record, began: float, before: Metrics, after: Metrics, largest: Any
) -> Progress:
    pairs = dict(Counter(after.late_pairs) - Counter(before.late_pairs))
    return Progress(
        batch=number,
        at=record.elapsed(),
        rows=after.rows_in - before.rows_in,
        late=after.rows_late - before.rows_late,
        late_pairs=pairs,
        late_at=[_moment(moment, largest) for moment in after.late_times] if pairs else (),
        rejected=after.rows_rejected - before.rows_rejected,
        windows=after.windows_fired - before.windows_fired,
        corrected=after.windows_corrected - before.windows_corrected,
        seconds=time.perf_counter() - began,
        state_bytes=after.state_bytes,
        watermark=_moment(after.watermark, largest),
        largest=largest,
    )


def _moment(watermark: Any, largest: Any) -> Any:
    """The watermark as times are shown: one that is beyond Python's times is a number of microseconds."""
    if isinstance(watermark, int) and isinstance(largest, (str, dt.date)):
        return plain_value(pa.scalar(watermark, pa.timestamp("us")))
    return watermark


def _keep(sink: LocalSink, record: Record, reporter: Reporter, result: pa.Table) -> None:
    sink.write(result)
    record.written = (record.written or 0) + result.num_rows
    record.results.add(result)
    reporter.results(result)


def _joined(tables: list[pa.Table], which: str = "the source") -> pa.Table:
    if not tables:
        raise JobFailed(f"{which} has files, but no rows")
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise JobFailed(f"the files of {which} have different columns: {error}") from error


def guarded(work: Any, *arguments: Any, **named: Any) -> Any:
    """What the engine refuses is a failure of the job, in one line."""
    try:
        return work(*arguments, **named)
    except (TypeError, ValueError, KeyError, ArithmeticError, RuntimeError) as error:
        raise JobFailed(
            str(error.args[0] if isinstance(error, KeyError) and error.args else error)
        ) from error
