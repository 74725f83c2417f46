"""Which derived columns of a job are computed: those that anything reads, on every engine. On Spark also
which it must compute apart."""

from __future__ import annotations

from windrow.cli.errors import JobError
from windrow.cli.expressions import ExpressionError
from windrow.cli.expressions.derivation import columns_apart, used_columns
from windrow.cli.job import Job, Source
from windrow.rows.columns import needed_columns

__all__ = ["computed_apart", "computed_columns"]


def computed_columns(job: Job, source: Source | None = None) -> tuple[tuple[str, str], ...]:
    """Name and expression, in order, of the job's source or of another of its tables. Rolling, rows that
    are handed back, and labels show every column."""
    if source is not None and source is not job.source:
        return source.columns
    shows_all = job.query.is_rolling or job.query.hands_rows_back
    return used_columns(
        job.source.columns, job.source.where, None if shows_all else needed_columns(job.query)
    )


def computed_apart(job: Job, source: Source) -> set[str]:
    """The columns that Spark must not put in the place of their names; JobError where a plan is too large."""
    try:
        return columns_apart(computed_columns(job, source), source.where, source.table)
    except ExpressionError as error:
        table, key, message = error.args
        raise JobError(f"[{table}] {key}: {message}") from error
