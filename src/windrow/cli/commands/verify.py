"""``windrow verify``: a sample of keys computed again in batch, and compared with what the job wrote."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from windrow.cli.commands.reading import job_of
from windrow.cli.errors import FAILED, OK, JobError, JobFailed
from windrow.cli.job import Job, Sink, Source
from windrow.cli.json_text import json_text
from windrow.cli.show.moments import plain_value
from windrow.cli.show.out import say_line

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.cli.verification.comparison import Difference, Verdict

__all__ = ["execute"]

#: differences that are listed
_LISTED = 20


class _Tables(Protocol):
    """What a job read and wrote, on one of the engines."""

    def rows(self, source: Source, keys: pa.Table | None) -> pa.Table: ...

    def written(self, sink: Sink) -> pa.Table | None: ...


def execute(options: argparse.Namespace) -> int:
    job = job_of(options)
    if options.sample < 1:
        raise JobError("--sample: give 1 or more")
    if job.history is not None:
        raise JobError(
            f"{job.file}: [history]: results over history and a stream together are not computed again: "
            f"verify a copy of the job whose [source] has all rows, and which has no [history]"
        )
    found = _locally(job, options.sample) if options.engine == "local" else _on_spark(job, options.sample)
    for difference in found.differences[:_LISTED]:
        print(_line(difference))
    more = len(found.differences) - _LISTED
    if more > 0:
        print(f"and {more:,} more")
    counted = f"{_results(found)} of {found.keys:,} keys"
    waiting = f"; {found.still_open:,} are still open" if found.still_open else ""
    if found.differences:
        lacking = f"; {found.lacking:,} others miss only rows that were late" if found.lacking else ""
        print(f"{len(found.differences):,} differ among {counted}{lacking}{waiting}")
        return FAILED
    lacking = f"; {found.lacking:,} of them miss only rows that were late" if found.lacking else ""
    print(f"verified: {counted} equal those recomputed from the source{lacking}{waiting}")
    return OK


def _results(found: Verdict) -> str:
    return f"{found.results:,} {'' if found.what == 'windows' else 'results for '}{found.what}"


def _locally(job: Job, sample: int) -> Verdict:
    from windrow.cli.verification.local import LocalTables

    return _compared(job, sample, LocalTables(job))


def _on_spark(job: Job, sample: int) -> Verdict:
    from windrow.cli.execution.spark.session import open_session
    from windrow.cli.verification.on_spark import SparkTables

    with open_session(job, False) as spark:
        return _compared(job, sample, SparkTables(job, spark))


def _compared(job: Job, sample: int, tables: _Tables) -> Verdict:
    import pyarrow.compute as pc

    from windrow.cli.verification.comparison import Streamed, conformed, of_keys, sampled_keys, verdict
    from windrow.cli.verification.local import as_streamed
    from windrow.cli.verification.shape import shape_of

    written = tables.written(job.sink)
    if written is None or not written.num_rows:
        raise JobFailed(f"{job.sink.path or job.sink.format}: the job has written no results")
    for name in job.query.result_names:
        if name not in written.column_names:
            raise JobFailed(
                f"{job.sink.path or job.sink.format}: the results have no column {name!r}: to be verified, "
                f"results in csv need header = true in [sink.options] before they are written"
            )
    keys = sampled_keys(written, job.query.by if job.labels is None else job.labels.by, sample)
    rows = _rows(job, tables, None if keys is None else keys.rename_columns(list(job.query.by)))
    asked: dict[str, Any] = {}
    if job.labels is not None:
        labels = of_keys(tables.rows(job.labels.source, keys), keys)
        asked = job.labels.arguments(_timed(job, labels, job.labels.time))
    # what the stream needs of a query, batch does not
    query = replace(job.query, late="count", output="final", allowed_lateness=None)
    expected = query.run(rows, **asked)
    shape = shape_of(query, job.labels, asked.get("at", rows).column_names)
    written = conformed(written, expected.schema)

    def streamed() -> Streamed | None:
        if not job.source.is_stream or job.labels is not None:
            return None
        try:
            return as_streamed(job, keys, expected.schema)
        except (JobError, JobFailed, ValueError, OSError) as error:
            say_line(f"note: which rows came late is not known: {error}")
            return None

    ends = pc.max(written.column(shape.due)).as_py()
    return verdict(shape, expected, of_keys(written, keys), ends, streamed)


def _rows(job: Job, tables: _Tables, keys: pa.Table | None) -> pa.Table:
    """The rows of these keys, without those that were late."""
    from windrow.cli.verification.comparison import of_keys, without_rows

    rows = _timed(job, of_keys(tables.rows(job.source, keys), keys), job.query.time)
    late = None if job.late is None else tables.written(job.late)
    if job.late is None or late is None:
        return rows
    return without_rows(rows, late, job.late.format in ("csv", "json"))


def _timed(job: Job, rows: pa.Table, time: str) -> pa.Table:
    """A stream rejects rows without a time, which in batch have a result that is null."""
    return rows.filter(rows.column(time).is_valid()) if job.source.is_stream else rows


def _line(difference: Difference) -> str:
    of = ", ".join(f"{name}={value}" for name, value in difference.of.items())
    if not difference.written:
        return f"{of}: not written; recomputed {_values(difference.expected)}"
    if not difference.expected:
        return f"{of}: written {_values(difference.written)}; the source has no rows for it"
    return f"{of}: written {_values(difference.written)}; recomputed {_values(difference.expected)}"


def _values(results: list[dict[str, Any]]) -> str:
    return " and ".join(json_text(each, lambda value: str(plain_value(value))) for each in results)
