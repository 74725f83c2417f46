"""The rows of a transcript as Arrow tables that all have the same columns and types."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from windrow.testing.transcripts.errors import TranscriptError
from windrow.testing.transcripts.format import Transcript

__all__ = ["arrow_types", "table_from"]

Row = dict[str, Any]


def arrow_types(transcript: Transcript) -> dict[str, Any]:
    """The type of each column that is pushed: as the transcript says, or as the values of all pushes tell."""
    import pyarrow as pa

    pushed = [row for step in transcript.steps if step.action == "push" for row in step.argument]
    columns = dict.fromkeys(name for row in pushed for name in row) | transcript.types
    return {
        name: _named(said) if said else pa.array([_tellable(row.get(name)) for row in pushed]).type
        for name, said in columns.items()
    }


def table_from(rows: list[Row], types: dict[str, Any]) -> Any:
    """Rows as a table with all columns, also where there are no rows.

    >>> import pyarrow as pa
    >>> table_from([], {"t": pa.int64()}).schema
    t: int64
    """
    import pyarrow as pa

    return pa.table({name: pa.array([row.get(name) for row in rows], type_) for name, type_ in types.items()})


def _tellable(value: Any) -> Any:
    """A value by which Arrow tells the type; datetimes in any zone are timestamps in UTC."""
    from datetime import UTC

    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def _named(type_name: str) -> Any:
    import pyarrow as pa

    try:
        return pa.type_for_alias(type_name)
    except ValueError as error:
        raise TranscriptError(f"type {type_name!r} is none that Arrow knows by this name") from error
