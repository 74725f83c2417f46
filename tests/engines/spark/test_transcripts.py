"""Every transcript as a finite query: all rows that it pushes in one table, on Spark and on the local engine.
And every case of ``tests/cases``, whose results on the local engine are known.

A table knows no watermark, so that no row is late and nothing is corrected; what is left of a transcript is
its query, with its stream options, over rows in the order of arrival. Results with the same columns are
collected by one Spark job, told apart by the name of their transcript.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from engines.spark.spark_frames import frame_of, table_of
from support.case_tables import PATHS, read_case
from windrow.testing import assert_same_results, list_transcripts
from windrow.testing.transcripts.format import Transcript, read_transcript
from windrow.testing.transcripts.run import arrow_types, table_from

TRANSCRIPTS = list_transcripts(Path(__file__).parents[2] / "transcripts")
#: plans of one job
TOGETHER = 16
CASE = "name of the case"


def finite(path: Path) -> tuple[wr.Query, Any]:
    """The query of a case or a transcript, and a table of all rows."""
    if path in PATHS:
        case = read_case(path)
        return case.query, case.table
    return finite_transcript(read_transcript(path))


def finite_transcript(transcript: Transcript) -> tuple[wr.Query, Any]:
    """The query with all windows that it ever has, and a table of all rows."""
    pushed = [row for step in transcript.steps if step.action == "push" for row in step.argument]
    added = [each for s in transcript.steps if s.action == "add_window" for each in s.argument.items()]
    query = replace(transcript.query, windows=(*transcript.query.windows, *added))
    return query, table_from(pushed, arrow_types(transcript))


@pytest.fixture(scope="module")
def frames(spark: Any) -> dict[str, Any]:
    found = {}
    for path in (*TRANSCRIPTS, *PATHS):
        query, table = finite(path)
        assert table.num_rows, "a transcript without rows says nothing about tables"
        found[path.stem] = query.run(frame_of(spark, table))
    return found


@pytest.fixture(scope="module")
def result_of(frames: dict[str, Any]) -> Callable[[str], pa.Table]:
    """Collects the result of a case, and with it those of others that have the same columns."""
    from pyspark.sql.functions import lit

    collected: dict[str, pa.Table] = {}

    def result(name: str) -> pa.Table:
        if name not in collected:
            schema = frames[name].schema
            waiting = (each for each in frames if each not in collected and frames[each].schema == schema)
            names = [name, *(each for each in waiting if each != name)][:TOGETHER]
            marked = [frames[each].withColumn(CASE, lit(each)) for each in names]
            table = table_of(reduce(lambda a, b: a.unionAll(b), marked))
            for each in names:
                rows = table.filter(pc.equal(table[CASE], each))
                collected[each] = rows.drop_columns([CASE])
        return collected[name]

    return result


@pytest.mark.filterwarnings("ignore:.*have no time:windrow.RejectedRows")
@pytest.mark.parametrize("path", [*TRANSCRIPTS, *PATHS], ids=lambda path: path.stem)
def test_a_transcript_or_a_case_as_a_table(result_of: Callable[[str], pa.Table], path: Path) -> None:
    query, table = finite(path)
    found, expected = result_of(path.stem), query.run(table)
    assert found.column_names == expected.column_names
    assert_same_results(found, expected)
