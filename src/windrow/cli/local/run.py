"""A job on the local engine: a finite source, read once, in batches if it is a stream."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.errors import JobFailed, JobInterrupted
from windrow.cli.job import Job
from windrow.cli.local.files import check_readable, ignored_options, read_batches
from windrow.cli.local.late import with_late_rows
from windrow.cli.local.sinks import LocalSink, open_sink
from windrow.cli.record import Record
from windrow.cli.show import Progress, Reporter
from windrow.cli.stopping import Stopping
from windrow.engines.stream import Operator
from windrow.engines.stream.metrics import Metrics

__all__ = ["guarded", "run_batches", "run_local"]


def run_local(
    job: Job, record: Record, reporter: Reporter, rows: int = 65_536, overwrite: bool = False
) -> None:
    """Run to the end of the input. Nothing is kept for a next run: every window comes out."""
    check_readable(job.source)
    sink = open_sink(job.sink, overwrite)
    for name in ignored_options(job.source):
        reporter.note(f"note: the local engine does not know the option {name!r}")
    batches = read_batches(job.source, rows)
    if job.source.is_stream:
        run_batches(job, batches, sink, record, reporter)
    else:
        _run_once(job, list(batches), sink, record, reporter)


def _run_once(job: Job, tables: list[pa.Table], sink: LocalSink, record: Record, reporter: Reporter) -> None:
    """The whole table at once."""
    before = time.perf_counter()
    is_complete = False
    try:
        table = _joined(tables)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = guarded(job.query.run, table)
        for warning in caught:
            reporter.note(f"note: {warning.message}")
        _keep(sink, record, result)
        is_complete = True
    finally:
        sink.close(is_complete)
    largest = pc.max(table.column(job.query.time)).as_py()
    seconds = time.perf_counter() - before
    rejected = table.column(job.query.time).null_count
    windows = 0 if job.query.rolling_over is not None else result.num_rows
    step = Progress(
        0, record.elapsed(), table.num_rows, 0, rejected, windows, seconds=seconds, largest=largest
    )
    record.add(step)
    reporter.progress(step, record.totals)


def run_batches(
    job: Job, batches: Iterable[pa.Table], sink: LocalSink, record: Record, reporter: Reporter
) -> None:
    """Batch after batch through an operator, then the end. Stopped in between, what is due is written."""
    operator = job.query.open()
    is_complete = False
    with Stopping(lambda: reporter.note("stopping after this batch ...")) as stopping:
        try:
            for result in _stepped(job, operator, batches, record, reporter):
                _keep(sink, record, result)
                if stopping.asked:
                    break
            is_complete = True
        finally:
            sink.close(is_complete)
    if stopping.asked:
        raise JobInterrupted


def _stepped(
    job: Job, operator: Operator, batches: Iterable[pa.Table], record: Record, reporter: Reporter
) -> Iterator[pa.Table]:
    before, largest = operator.metrics, None
    number = 0
    for number, batch in enumerate(batches):
        began = time.perf_counter()
        result = _with_late(job, operator, guarded(operator.push, batch))
        seconds = time.perf_counter() - began
        seen = pc.max(batch.column(job.query.time)).as_py()
        largest = seen if largest is None or (seen is not None and seen > largest) else largest
        after = operator.metrics
        step = _progress(number, record.elapsed(), seconds, before, after, largest)
        before = after
        record.add(step)
        reporter.progress(step, record.totals)
        yield result
    result = guarded(operator.finish)
    fired = operator.metrics.windows_fired - before.windows_fired
    record.totals.windows += fired
    yield _with_late(job, operator, result)


def _with_late(job: Job, operator: Operator, result: pa.Table) -> pa.Table:
    return result if job.query.late == "count" else with_late_rows(result, operator.late_rows())


def _progress(
    number: int, at: float, seconds: float, before: Metrics, after: Metrics, largest: Any
) -> Progress:
    return Progress(
        batch=number,
        at=at,
        rows=after.rows_in - before.rows_in,
        late=after.rows_late - before.rows_late,
        late_pairs=dict(Counter(after.late_pairs) - Counter(before.late_pairs)),
        rejected=after.rows_rejected - before.rows_rejected,
        windows=after.windows_fired - before.windows_fired,
        corrected=after.windows_corrected - before.windows_corrected,
        seconds=seconds,
        state_bytes=after.state_bytes,
        watermark=after.watermark,
        largest=largest,
    )


def _keep(sink: LocalSink, record: Record, result: pa.Table) -> None:
    sink.write(result)
    record.written = (record.written or 0) + result.num_rows
    record.results.add(result)


def _joined(tables: list[pa.Table]) -> pa.Table:
    if not tables:
        raise JobFailed("the source has files, but no rows")
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise JobFailed(f"the files of the source have different columns: {error}") from error


def guarded(work: Any, *arguments: Any) -> Any:
    """What the engine refuses is a failure of the job, in one line."""
    try:
        return work(*arguments)
    except (TypeError, ValueError, KeyError, ArithmeticError, RuntimeError) as error:
        raise JobFailed(str(error.args[0] if error.args else error)) from error
