"""What goes into tables of Delta and Iceberg, as far as it needs neither; ``table_cases.py`` writes them."""

from __future__ import annotations

from typing import Any

from windrow.cli.execution.spark.tables import with_plain_durations


def test_durations_are_microseconds_however_long(spark: Any) -> None:
    texts = ["INTERVAL '1 02:03:04.000005' DAY TO SECOND", "INTERVAL '-40000' DAY", "NULL"]
    frame = spark.sql(
        f"SELECT 1 AS a, {', '.join(f'{text} AS `late ``{k}`' for k, text in enumerate(texts))}"
    )
    found = with_plain_durations(frame).drop("late `2")
    assert found.dtypes == [("a", "int"), ("late `0", "bigint"), ("late `1", "bigint")]
    assert found.first()[:] == (1, 93_784_000_005, -40_000 * 86_400_000_000)
