"""Timestamps in Spark have no time zone: days, weeks and months are those of UTC, unless a window "
"names one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import windrow as wr

NEW_YORK = "America/New_York"
#: the evening of 31 January and the night after it, in New York
NIGHT = [(datetime(2024, 2, 1, 1, tzinfo=UTC), 1), (datetime(2024, 2, 1, 6, tzinfo=UTC), 2)]


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", NEW_YORK)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def over(*, zone: str | None = None, **settings: Any) -> wr.Query:
    return wr.query(time="ts", **settings).window(wr.Tumbling("1mo", timezone=zone)).agg(n=wr.count())


def counts(frame: Any) -> list[int]:
    return sorted(row["n"] for row in frame.collect())


def test_days_in_a_session_of_a_zone_are_those_of_utc(session: Any) -> None:
    rows = session.createDataFrame(NIGHT, "ts timestamp, v long")
    assert counts(over().run(rows)) == [2]
    assert "days, weeks and months are those of UTC" in over().explain(rows)
    assert counts(over(zone=NEW_YORK).run(rows)) == [1, 1]
    rolling = wr.query(time="ts").rolling("1mo").agg(n=wr.count())
    assert counts(rolling.run(rows)) == [1, 2]


def test_days_of_a_stream_are_those_of_utc(session: Any, tmp_path: Path) -> None:
    rows = session.createDataFrame([*NIGHT, (datetime(2024, 6, 1, tzinfo=UTC), 3)], "ts timestamp, v long")
    rows.coalesce(1).write.parquet(str(tmp_path / "in"))
    source = session.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
    for query, expected in ((over(watermark="1h"), [2]), (over(zone=NEW_YORK, watermark="1h"), [1, 1])):
        name = f"zone_{len(expected)}"
        stream = query.run(source).writeStream.format("memory").queryName(name).outputMode("append")
        stream.trigger(availableNow=True).start().awaitTermination()
        assert counts(session.table(name)) == expected


def test_labels_of_a_stream_see_days_of_utc(session: Any, tmp_path: Path) -> None:
    """On 10 March New York's day has 23 hours: the event is 23 and a half hours before the label."""
    frames = {
        "events": [(datetime(2024, 3, 9, 16, 45, tzinfo=UTC), 1), (datetime(2024, 3, 12, tzinfo=UTC), 2)],
        "labels": [(datetime(2024, 3, 10, 16, 15, tzinfo=UTC), 1)],
    }
    streams = {}
    for name, rows in frames.items():
        frame = session.createDataFrame(rows, "ts timestamp, v long")
        frame.coalesce(1).write.parquet(str(tmp_path / name))
        streams[name] = session.readStream.schema(frame.schema).parquet(str(tmp_path / name))
    for zone, expected in ((None, [1]), (NEW_YORK, [0])):
        query = wr.query(time="ts", watermark="1h").asof("1d", timezone=zone).agg(n=wr.count())
        found = query.run(streams["events"], at=streams["labels"])
        name = f"labels_{'utc' if zone is None else 'named'}"
        stream = found.writeStream.format("memory").queryName(name).outputMode("append")
        stream.trigger(availableNow=True).start().awaitTermination()
        assert counts(session.table(name)) == expected
