"""``windrow verify``: a sample of keys computed again in batch, and compared with what the job wrote."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from windrow.cli.commands.reading import job_of
from windrow.cli.errors import FAILED, OK, JobError, JobFailed
from windrow.cli.job import Job
from windrow.cli.json_text import json_text
from windrow.cli.show.moments import plain_value

__all__ = ["execute"]

#: differences that are listed
_LISTED = 20


def execute(options: argparse.Namespace) -> int:
    job = job_of(options)
    if options.sample < 1:
        raise JobError("--sample: give 1 or more")
    if not job.query.windows:
        raise JobError(f"{job.file}: windrow verify compares windows, and this job has none")
    verify = _locally if options.engine == "local" else _on_spark
    found = verify(job, options)
    for difference in found.differences[:_LISTED]:
        print(_line(difference))
    more = len(found.differences) - _LISTED
    if more > 0:
        print(f"and {more:,} more")
    counted = f"{found.windows:,} windows of {found.keys:,} keys"
    waiting = f"; {found.still_open:,} are not due yet" if found.still_open else ""
    if found.differences:
        print(f"{len(found.differences):,} differ among {counted}{waiting}")
        return FAILED
    print(f"verified: {counted} are as the source gives them{waiting}")
    return OK


def _locally(job: Job, options: argparse.Namespace) -> Any:
    from windrow.cli.verification.local import read_rows, read_written

    rows = read_rows(job)
    return _compared(job, options.sample, lambda sink: read_written(job, sink), lambda keys: rows)


def _on_spark(job: Job, options: argparse.Namespace) -> Any:
    from windrow.cli.execution.spark.session import open_session
    from windrow.cli.verification.on_spark import read_rows, read_written

    with open_session(job, False) as spark:
        return _compared(
            job,
            options.sample,
            lambda sink: read_written(job, spark, sink),
            lambda keys: read_rows(job, spark, keys),
        )


def _compared(job: Job, sample: int, written_to: Any, rows_of: Any) -> Any:
    import pyarrow.compute as pc

    from windrow.cli.verification.comparison import (
        conformed,
        of_keys,
        sampled_keys,
        verdict,
        without_rows,
    )

    written = written_to(job.sink)
    if written is None or not written.num_rows:
        raise JobFailed(f"{job.sink.path or job.sink.format}: the job has written no results")
    keys = sampled_keys(written, job.query.by, sample)
    rows = of_keys(rows_of(keys), keys)
    late = None if job.late is None else written_to(job.late)
    if late is not None:
        rows = without_rows(rows, of_keys(late, keys))
    # what the stream needs of a query, batch does not
    query = replace(job.query, late="count", emit="final", allowed_lateness=None)
    written = conformed(written, query.run(rows.slice(0, 0)).schema)
    return verdict(query, rows, of_keys(written, keys), pc.max(written.column("window_end")).as_py())


def _line(difference: Any) -> str:
    window = ", ".join(f"{name}={value}" for name, value in difference.window.items())
    if difference.written is None:
        return f"{window}: not written, and it must be {_values(difference.expected)}"
    if difference.expected is None:
        return f"{window}: written as {_values(difference.written)}, and the source has no rows for it"
    return (
        f"{window}: written as {_values(difference.written)}, and it must be {_values(difference.expected)}"
    )


def _values(values: dict[str, Any]) -> str:
    return json_text(values, lambda value: str(plain_value(value)))
