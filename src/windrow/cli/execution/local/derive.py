"""``where`` and derived columns on the local engine: Spark's results, or an error by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from windrow.cli.derived import computed_columns
from windrow.cli.errors import JobError, JobFailed
from windrow.cli.expressions import ExpressionError, ValueRefused
from windrow.cli.expressions.derivation import Derivation
from windrow.cli.job import Job, Source

__all__ = ["DerivedRows", "check_settings", "derivation_of", "derived_table"]

#: Spark settings that change what expressions mean, and the only values under which results agree
_SETTINGS = {
    "spark.sql.session.timezone": ("utc", "etc/utc", "gmt", "z"),
    "spark.sql.ansi.enabled": ("true",),
    "spark.sql.casesensitive": ("false",),
    "spark.sql.timestamptype": ("timestamp_ltz",),
    "spark.sql.ansi.doublequotedidentifiers": ("false",),
    "spark.sql.parser.escapedstringliterals": ("false",),
}


class DerivedRows:
    """The rows of tables that stay, with derived columns; ``filtered`` counts those that were left out."""

    def __init__(self, job: Job, source: Source | None = None) -> None:
        """``source``: that of the job, or of its labels."""
        self._job = job
        self._source = job.source if source is None else source
        self._derivation: Derivation | None = None
        self._schema: pa.Schema | None = None
        self.filtered = 0
        if self._source.columns or self._source.where:
            check_settings(job, self._source)

    def of(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Tables one after the other, as the query is to see them."""
        source = self._source
        if not source.columns and source.where is None:
            yield from tables
            return
        for table in tables:
            found = derived_table(self._for(table.schema), table)
            self.filtered += table.num_rows - found.num_rows
            yield found

    def _for(self, schema: pa.Schema) -> Derivation:
        if self._derivation is None or schema != self._schema:
            self._derivation, self._schema = derivation_of(self._job, self._source, schema), schema
            for place, key, error in self._derivation.refused:
                raise JobError(f"[{place}] {key}: {error}")
        return self._derivation


def check_settings(job: Job, source: Source) -> None:
    """Raise where the expressions of a source would mean something else on Spark."""
    if source.format in ("csv", "json") and not source.schema:
        raise JobError(
            f"[{source.table}] schema: where and columns need it on the local engine: without "
            f"[{source.table}.schema] the types of {source.format} are guessed, by Spark in another way"
        )
    for setting in job.spark.conf:
        allowed = _SETTINGS.get(setting.name.lower())
        if allowed is not None and setting.value.lower() not in allowed:
            raise JobError(
                f"[spark.conf] {setting.name} = {setting.value!r} changes what expressions mean, and the "
                f"local engine knows them with {allowed[0]!r} alone: run this job on Spark"
            )


def derivation_of(job: Job, source: Source, schema: pa.Schema) -> Derivation:
    try:
        return Derivation.of(computed_columns(job, source), source.where, schema, source.table)
    except ExpressionError as error:
        table, key, message = error.args
        raise JobError(f"[{table}] {key}: {message}") from error


def derived_table(derivation: Derivation, table: pa.Table) -> pa.Table:
    batches = table.combine_chunks().to_batches() or [_empty(table.schema)]
    try:
        return pa.Table.from_batches([derivation.applied(batch) for batch in batches])
    except ValueRefused as error:
        raise JobFailed(str(error)) from error


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
