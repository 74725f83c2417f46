"""Tables in and out: anything with the Arrow PyCapsule interface comes in, and the same kind goes back.

No library is imported to find out what a table is: a table of pandas, Polars or DuckDB shows by its module
that the library is loaded already.

What pandas calls missing (``isna()``) comes in as null: NaN in NumPy's floats, NA in its own types and in
those of Arrow. NaN that pandas does not call missing, as a column of an Arrow type may hold it, is a number,
as it is in all other tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

import pyarrow as pa

from windrow.errors import UnknownColumn
from windrow.names import check_columns
from windrow.rows.columns import needed_columns
from windrow.rows.pandas_results import to_pandas
from windrow.spec import Spec

__all__ = ["read_table"]


def read_table(data: Any, reads: Spec | Sequence[str] = ()) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """The data as an Arrow table, and what turns a result into the kind of table that went in. ``reads``: the
    columns that are asked of it, or the query that asks, for what to say of columns in a pandas index."""
    if isinstance(data, pa.Table):
        return data, _same
    library = type(data).__module__.split(".")[0]
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data]), _same
    if library == "pandas" and hasattr(data, "columns") and hasattr(data, "iloc"):
        wanted = needed_columns(reads) if isinstance(reads, Spec) else reads
        frame = _with_index(data, wanted)
        _check_pandas(frame, wanted)
        table = pa.Table.from_pandas(frame, preserve_index=False)
        return table.replace_schema_metadata(None), partial(to_pandas, table.schema)
    if library == "polars" and type(data).__name__ in ("DataFrame", "LazyFrame"):
        frame = data.collect() if hasattr(data, "collect") else data
        return frame.to_arrow(), _to_polars
    if library in ("duckdb", "_duckdb") and hasattr(data, "to_arrow_table"):
        return data.to_arrow_table(), _to_duckdb
    if hasattr(data, "__arrow_c_stream__"):
        return _reader(data).read_all(), _same
    raise TypeError(_not_a_table(data))


def _reader(data: Any) -> Any:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except pa.ArrowInvalid as error:  # one column, and not a table
        raise TypeError(_not_a_table(data)) from error


def _with_index(data: Any, wanted: Sequence[str]) -> Any:
    """The table with those levels of its index as columns, in front, that are asked for by name."""
    levels = [name for name in data.index.names if name in wanted and name not in data.columns]
    return data.reset_index(level=levels) if levels else data


def _check_pandas(data: Any, reads: Sequence[str]) -> None:
    """Refuse columns of one name, and an index without a name in the place of a column."""
    columns = [*map(str, data.columns)]
    if not data.columns.is_unique:
        check_columns(columns, columns)
    missing = [name for name in reads if name not in columns]
    if not missing:
        return
    if data.index.names == [None] and str(data.index.dtype).startswith("datetime64"):
        raise UnknownColumn(
            f"there is no column {missing[0]!r}, and the index of this pandas table holds times "
            "without a name: "
            f"give it with .rename_axis({missing[0]!r}).reset_index()"
        )


def _not_a_table(data: Any) -> str:
    """What to say of data that is not a table: its type, and how to make a table of it."""
    kind = type(data)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    if isinstance(data, (str, PathLike)):
        remedy = "read the file first, as in pyarrow.parquet.read_table(path)"
    elif isinstance(data, Mapping):
        remedy = "make one with pyarrow.table(data), whose keys are the columns"
    elif isinstance(data, (list, tuple)) and all(isinstance(row, Mapping) for row in data[:10]):
        remedy = "make one with pyarrow.Table.from_pylist(rows)"
    elif name == "numpy.ndarray":
        remedy = "name its columns, as in pyarrow.table({'ts': a[:, 0], 'x': a[:, 1]})"
    elif hasattr(data, "__next__"):
        remedy = "open() the query and push() each batch"
    else:
        remedy = "give an Arrow, pandas, Polars, DuckDB or Spark table, or anything with __arrow_c_stream__"
    return f"a {name} is not a table: {remedy}"


def _same(table: pa.Table) -> pa.Table:
    return table


def _to_polars(table: pa.Table) -> Any:
    import polars

    return polars.from_arrow(table)


def _to_duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table) if table.num_columns else table  # DuckDB has no table without columns
