"""Which derived columns of a job are computed: those that anything reads, on every engine."""

from __future__ import annotations

from windrow.cli.expressions.derivation import used_columns
from windrow.cli.job import Job
from windrow.rows.columns import needed_columns

__all__ = ["computed_columns"]


def computed_columns(job: Job) -> tuple[tuple[str, str], ...]:
    """Name and expression, in order. Rolling, and late rows that are handed back, show every column."""
    shows_all = job.query.is_rolling or job.query.late == "emit"
    return used_columns(
        job.source.columns, job.source.where, None if shows_all else needed_columns(job.query)
    )
