"""The checkpoint of a stream that is kept in tests/golden: Spark goes on from it, and the results are those
of an operator that never stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import windrow as wr
from support import golden_state as golden
from support.stream_source import Source
from windrow.testing import assert_same_results


def uninterrupted() -> tuple[list[Any], int]:
    """The results of the steps after the checkpoint, and how many rows were late; a stream that takes what is
    there ends with a micro-batch without rows."""
    operator = golden.spark_query().open(lateness="spark")
    empty = golden.SCHEMA.empty_table()
    for step in range(golden.WRITTEN):
        operator.push(golden.rows(step))
    operator.push(empty)
    late = operator.metrics.rows_late
    found = [operator.push(golden.rows(step)) for step in range(golden.WRITTEN, golden.STEPS)]
    found.append(operator.push(empty))
    return [row for table in found for row in table.to_pylist()], operator.metrics.rows_late - late


def test_a_stream_goes_on_from_a_golden_checkpoint(spark: Any, tmp_path: Path) -> None:
    checkpoint = golden.unzip(golden.FOLDER / "spark-checkpoint.zip", tmp_path / "checkpoint")
    golden.move_checkpoint(checkpoint, f"{golden.ELSEWHERE}/checkpoint", str(checkpoint))
    with Source.in_folder(spark, tmp_path, golden.SPARK_SCHEMA) as source:
        source.write([golden.rows(step) for step in range(golden.WRITTEN, golden.STEPS)])
        query = golden.spark_query()
        wr.spark.check_checkpoint(query, source.checkpoint, spark)
        found, counts = source.run(query.run)
        expected, late = uninterrupted()
        assert late > 0
        assert counts["rows_late"] == late
        assert_same_results(found, expected)
