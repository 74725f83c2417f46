"""Every case of ``tests/cases`` as a stream: its rows in one micro-batch, and a row far ahead of them in the
next, so that all of them is due."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from support.case_tables import PATHS, read_case
from support.stream_source import Source
from windrow.testing import assert_same_results

#: later than any row of a case
AHEAD = 1_000_000


def one_row_ahead(table: pa.Table, time: str) -> pa.Table:
    row = {name: [None] for name in table.column_names}
    return pa.table(row | {time: [pc.max(table[time]).as_py() + AHEAD]}, schema=table.schema)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_case_as_a_stream(spark: Any, path: Path, tmp_path: Path) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    case = read_case(path, watermark=0)
    case.skip_if_lacking("stream")
    with Source.in_folder(spark, tmp_path, from_arrow_schema(case.table.schema)) as source:
        source.write([case.table, one_row_ahead(case.table, case.query.time)])
        found, _ = source.run(case.query.run)
    assert_same_results(case.shown(found), case.expected)
