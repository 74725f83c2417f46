"""``windrow check``, for ``where`` and derived columns: tried on the first rows, without Spark.

What only Spark knows is passed with a note, or, for the local engine, is an error."""

from __future__ import annotations

from typing import Any, Literal

from windrow.cli.errors import JobError, JobFailed
from windrow.cli.job import Job, Source
from windrow.cli.show.out import say_line

__all__ = ["tried_expressions"]


def tried_expressions(
    job: Job, source: Source, rows: Any, origin: str, engine: Literal["spark", "local"]
) -> tuple[Any, str]:
    """The rows of a source as the query sees them, or None and why not."""
    if not source.columns and source.where is None:
        return rows, origin
    _check_settings(job, source, engine)
    if engine == "spark":
        from windrow.cli.derived import computed_apart

        computed_apart(job, source)
    missing = _noted(job, source, rows, engine)
    if rows is None:
        return None, origin
    if missing:
        return None, f"column {missing[0]!r} can be computed on Spark alone"
    return _applied(job, source, rows, origin)


def _check_settings(job: Job, source: Source, engine: str) -> None:
    from windrow.cli.execution.local.derive import check_settings

    try:
        check_settings(job, source)
    except JobError as error:
        if engine == "local":
            raise
        say_line(f"note  {error}")


def _noted(job: Job, source: Source, rows: Any, engine: str) -> list[str]:
    """Say what only Spark knows; the columns among it that the query reads."""
    from windrow.cli.derived import computed_columns
    from windrow.cli.expressions import ExpressionError
    from windrow.cli.expressions.derivation import Derivation

    schema = None if rows is None else rows.schema
    try:
        found = Derivation.of(source.columns, source.where, schema, source.table)
    except ExpressionError as error:
        table, key, message = error.args
        raise JobError(f"[{table}] {key}: {message}") from error
    computed = [name for name, _ in computed_columns(job, source)]
    for table, key, reason in found.refused:
        if engine == "local" and (table == source.table or key in computed):
            raise JobError(f"[{table}] {key}: {reason}")
        say_line(f"note  [{table}] {key}: {reason}")
    return [key for table, key, _ in found.refused if table != source.table and key in computed]


def _applied(job: Job, source: Source, rows: Any, origin: str) -> tuple[Any, str]:
    from windrow.cli.execution.local.derive import derivation_of, derived_table

    derivation = derivation_of(job, source, rows.schema)
    try:
        found = derived_table(derivation, rows)
    except JobFailed as error:
        if "made up" not in origin:
            raise
        return None, f"rows made up from the schema do not suit {error}"
    columns = len(source.columns)
    derived = f"{columns} derived column{'' if columns == 1 else 's'}"
    if source.where is not None and derivation.where is None:
        say_line(f"skip  where: it was not applied to these rows; {derived}")
    else:
        say_line(f"ok    expressions: {derived}; {found.num_rows:,} of {rows.num_rows:,} rows stay")
    return found, origin
