"""Late rows among results: in a column ``late``, as streams on Spark have them."""

from __future__ import annotations

import pyarrow as pa

from windrow.result_names import LATE

__all__ = ["with_late_rows"]


def with_late_rows(results: pa.Table, late: pa.Table) -> pa.Table:
    """Results, then a row for each late one, whose other columns are null.

    >>> late = pa.table({"t": [3], "late_by": [7]})
    >>> with_late_rows(pa.table({"n": [2]}), late).to_pylist()
    [{'n': 2, 'late': None}, {'n': None, 'late': {'t': 3, 'late_by': 7}}]
    """
    rows = late.combine_chunks()
    arrays = [rows.column(k).combine_chunks() for k in range(rows.num_columns)]
    kind = pa.struct(list(rows.schema))
    struct = pa.StructArray.from_arrays(arrays, fields=list(kind)) if rows.num_rows else pa.array([], kind)
    found = results.append_column(LATE, pa.nulls(results.num_rows, kind))
    if not rows.num_rows:
        return found
    nulls = [pa.nulls(rows.num_rows, field.type) for field in results.schema]
    return pa.concat_tables([found, pa.table([*nulls, struct], schema=found.schema)])
