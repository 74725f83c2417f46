"""Results as pandas DataFrames: columns that have come along keep their types, and no integer loses digits.

pandas has no null in its plain types: missing values are NaN, None or NaT there, and integers with missing
values are floats. Integers that a float cannot hold come back as pandas' own ``Int64`` instead.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["to_pandas"]

#: the integers that a float holds exactly
_EXACT = 2**53


def to_pandas(source: pa.Schema, table: pa.Table) -> Any:
    """A table as a DataFrame; ``source``: the schema of the DataFrame it was made from, as Arrow read it."""
    noted = json.loads((source.metadata or {}).get(b"pandas", b"{}"))
    known = {column["field_name"]: column for column in noted.get("columns", ())}
    columns = []
    for field in table.schema:
        came = field.name in known and source.field(field.name).type == field.type
        found = known[field.name] if came else _as_plain(field)
        if found["numpy_type"] in (str(field.type), "object") and _loses_digits(table.column(field.name)):
            found = found | {"numpy_type": _nullable(str(field.type))}
        if came or found["numpy_type"] != str(field.type):
            columns.append(found)
    noted |= {"columns": columns, "index_columns": [], "column_indexes": []}
    return table.replace_schema_metadata({b"pandas": json.dumps(noted).encode()}).to_pandas()


def _loses_digits(column: Any) -> bool:
    """Whether pandas would make floats of integers that do not fit them."""
    if not pa.types.is_integer(column.type) or not column.null_count:
        return False
    ends = pc.min_max(column).as_py()
    return any(end is not None and abs(end) > _EXACT for end in ends.values())


def _as_plain(field: Any) -> dict[str, Any]:
    """A result column, as Arrow notes such a column of a DataFrame."""
    kind = str(field.type)
    names = {"name": field.name, "field_name": field.name}
    return {**names, "pandas_type": kind, "numpy_type": kind, "metadata": None}


def _nullable(kind: str) -> str:
    """pandas' own type of integers.

    >>> _nullable("uint64")
    'UInt64'
    """
    return "UInt" + kind.removeprefix("uint") if kind.startswith("u") else "Int" + kind.removeprefix("int")
