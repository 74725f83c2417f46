"""Tables in and out: anything with the Arrow PyCapsule interface comes in, and the same kind goes back.

No library is imported to find out what a table is: a table of pandas, Polars or DuckDB shows by its module
that the library is loaded already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

__all__ = ["read_table"]


def read_table(data: Any) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """The data as an Arrow table, and what turns a result into the kind of table that went in."""
    library = type(data).__module__.split(".")[0]
    if isinstance(data, pa.Table):
        return data, _same
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data]), _same
    if library == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None), _to_pandas
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


def _to_pandas(table: pa.Table) -> Any:
    return table.to_pandas()


def _to_polars(table: pa.Table) -> Any:
    import polars

    return polars.from_arrow(table)


def _to_duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table)
