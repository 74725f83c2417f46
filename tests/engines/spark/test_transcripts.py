"""Every transcript as a finite query: all rows that it pushes in one table, on Spark and on the local engine.

A table knows no watermark, so that no row is late and nothing is corrected; what is left of a transcript is
its query, options of endless input included, over rows in the order in which they came.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import windrow as wr
from engines.spark.spark_frames import frame_of, table_of
from windrow.testing import assert_same_results, list_transcripts
from windrow.testing.transcripts.format import Transcript, read_transcript
from windrow.testing.transcripts.tables import arrow_types, table_from

TRANSCRIPTS = list_transcripts(Path(__file__).parents[2] / "transcripts")


def finite(transcript: Transcript) -> tuple[wr.Query, Any]:
    """The query with all windows that it ever has, and a table of all rows."""
    pushed = [row for step in transcript.steps if step.action == "push" for row in step.argument]
    added = [each for s in transcript.steps if s.action == "add_window" for each in s.argument.items()]
    query = replace(transcript.query, windows=(*transcript.query.windows, *added))
    return query, table_from(pushed, arrow_types(transcript))


@pytest.mark.filterwarnings("ignore:.*have no time:windrow.RejectedRows")
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_as_a_table(spark: Any, path: Path) -> None:
    query, table = finite(read_transcript(path))
    assert table.num_rows, "a transcript without rows says nothing about tables"
    found, expected = query.run(frame_of(spark, table)), query.run(table)
    assert found.columns == expected.column_names
    assert_same_results(table_of(found), expected)
