"""Tables in and out: anything with the Arrow PyCapsule interface comes in, and the same kind goes back.

No library is imported to find out what a table is: a table of pandas, Polars or DuckDB shows by its module
that the library is loaded already.

What pandas calls missing (``isna()``) comes in as null: NaN in NumPy's floats, NA in its own types and in
those of Arrow. NaN that pandas does not call missing, as a column of an Arrow type may hold it, is a number,
as it is in all other tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from windrow.engines.pandas_results import to_pandas

__all__ = ["read_table"]


def read_table(data: Any) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """The data as an Arrow table, and what turns a result into the kind of table that went in."""
    library = type(data).__module__.split(".")[0]
    if isinstance(data, pa.Table):
        return data, _same
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data]), _same
    if library == "pandas":
        table = pa.Table.from_pandas(data, preserve_index=False)
        return table.replace_schema_metadata(None), partial(to_pandas, table.schema)
    if library == "polars":
        frame = data.collect() if hasattr(data, "collect") else data
        return frame.to_arrow(), _to_polars
    if library in ("duckdb", "_duckdb") and hasattr(data, "to_arrow_table"):
        return data.to_arrow_table(), _to_duckdb
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).read_all(), _same
    raise TypeError(
        f"{type(data).__module__}.{type(data).__name__} is no table: give an Arrow, pandas, Polars or "
        f"DuckDB table, or anything with __arrow_c_stream__"
    )


def _same(table: pa.Table) -> pa.Table:
    return table


def _to_polars(table: pa.Table) -> Any:
    import polars

    return polars.from_arrow(table)


def _to_duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table)
