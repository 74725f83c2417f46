"""A Spark stream that begins with history: the state is computed in batch, and goes on as one stream."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from support.stream_source import Source
from windrow.cli.main import main
from windrow.testing import assert_same_results

SCHEMA = "ts timestamp, key string, v long, s string"
START = datetime(2024, 5, 1, tzinfo=UTC)
CUT = START + timedelta(minutes=25)


def rows_of(minutes: list[float], first: int) -> pa.Table:
    return pa.table(
        {
            "ts": pa.array(
                [START + timedelta(minutes=minute) for minute in minutes], pa.timestamp("us", "UTC")
            ),
            "key": [f"key {(first + k) % 3}" for k in range(len(minutes))],
            "v": [(first + k) % 17 for k in range(len(minutes))],
            "s": [f"<{first + k}>" for k in range(len(minutes))],
        }
    )


#: half an hour, out of order, of which the last five minutes come again from the live source
PAST = rows_of([(7 * k) % 60 / 2 for k in range(60)], 0)
AGAIN = PAST.filter(pa.array([ts.as_py() >= CUT - timedelta(minutes=5) for ts in PAST["ts"]]))
#: a micro-batch of which a filter leaves nothing
NOTHING = rows_of([45.0], 0).set_column(2, "v", pa.array([-1]))
LIVE = [AGAIN, rows_of([30 + k / 4 for k in range(40)], 60), rows_of([38 + k / 2 for k in range(60)], 100)]


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def expected(query: Any, closes: bool = False) -> list[Any]:
    """What an operator with the same history gives up to Spark's last watermark, or to the end."""
    operator = query.open(lateness="spark", history=PAST, history_until=CUT)
    found = [row for table in LIVE for row in operator.push(table).to_pylist()]
    found += operator.push(LIVE[0].slice(0, 0)).to_pylist()
    return found + operator.finish().to_pylist() if closes else found


def test_a_stream_goes_on_from_history(source: Source) -> None:
    start = wr.query(time="ts", by="key", watermark="3 minutes")
    windows = start.window(slide=wr.Sliding("40m", slide="5m"), visit=wr.Session("4m"), five=wr.Rows(5))
    query = windows.agg(n=wr.count(), total=wr.sum("v"), text=wr.concat("s"))
    past = source.spark.createDataFrame(PAST.to_pandas(), SCHEMA)
    source.write([NOTHING, *LIVE[:2]])

    def run(live: Any) -> Any:
        return query.run(live.where("v >= 0"), history=past, history_until=CUT)

    first, counts = source.run(run)
    assert counts["rows_rejected"] == 10
    source.write(LIVE[2:])
    rest, _ = source.run(run)
    assert_same_results([*first, *rest], expected(query))


def test_empty_windows_before_the_cut_came_twice_where_history_has_rows_behind_it(source: Source) -> None:
    """Keys 0 and 1 have rows behind the cut in history, key 2 has none."""
    windows = wr.query(time="ts", by="key", watermark="3 minutes", empty="include")
    query = windows.window(wr.Tumbling("2m")).agg(n=wr.count())
    # nothing of the 15 minutes before the cut
    past = rows_of([0.0, 1.0, 2.0, 4.0, 7.0, 9.0, 26.0, 27.0], 0)
    live = [past.slice(6), rows_of([30.0, 31.0, 33.0], 0), rows_of([50.0, 51.0, 53.0], 0)]
    source.write(live)
    frame = source.spark.createDataFrame(past.to_pandas(), SCHEMA)
    found, _ = source.run(lambda rows: query.run(rows, history=frame, history_until=CUT))
    operator = query.open(lateness="spark", history=past, history_until=CUT)
    expected = [row for table in [*live, live[0].slice(0, 0)] for row in operator.push(table).to_pylist()]
    assert_same_results(found, expected)
    batch = [row for row in query.run(past).to_pylist() if row["window_end"] <= CUT]
    told = [(row["key"], row["window_start"]) for row in [*batch, *expected]]
    assert len(told) == len(set(told)) > len(expected) > 20


JOB = """\
[source]
format = "parquet"
path = "input"
stream = true
options = { maxFilesPerTrigger = 1 }
schema = { ts = "timestamp", key = "string", v = "long", s = "string" }
[history]
format = "parquet"
path = "past.parquet"
until = 2024-05-01T00:25:00Z
[events]
time = "ts"
by = "key"
watermark = "3 minutes"
[rolling]
size = "20m"
[agg]
n = "count()"
text = "concat(s)"
[sink]
format = "parquet"
path = "results"
checkpoint = "point"
trigger = "available_now"
[spark]
master = "local[2]"
"""


def test_a_job_goes_on_from_history_on_both_engines(source: Source) -> None:
    folder = source.folder
    pq.write_table(PAST, folder / "past.parquet")
    source.write(LIVE)
    (folder / "job.toml").write_text(JOB)
    (folder / "local.toml").write_text(JOB.replace('"results"', '"local"'))
    assert main(["check", str(folder / "local.toml"), "--engine", "local"]) == 0
    assert main(["run", str(folder / "local.toml"), "--engine", "local", "--quiet"]) == 0
    assert main(["run", str(folder / "job.toml"), "--quiet"]) == 0
    query = wr.query(time="ts", by="key", watermark="3 minutes").rolling("20m")
    whole = expected(query.agg(n=wr.count(), text=wr.concat("s")), closes=True)
    assert_same_results(results(folder / "local"), whole)
    assert_same_results(results(folder / "results"), expected(query.agg(n=wr.count(), text=wr.concat("s"))))


def results(folder: Path) -> list[Any]:
    """As Spark or the local engine wrote them; Spark's times have no zone."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    rows = [row for table in tables for row in table.to_pylist()]
    return [row | {"ts": row["ts"].replace(tzinfo=UTC)} for row in rows]


def test_what_is_not_a_history(spark: Any, source: Source) -> None:
    query = wr.query(time="ts", by="key", watermark="3 minutes").window(wr.Tumbling("5m")).agg(n=wr.count())
    live = spark.readStream.schema(SCHEMA).parquet(str(source.input))
    with pytest.raises(ValueError, match="history is a stream"):
        query.run(live, history=live)
    with pytest.raises(TypeError, match="history of a Spark stream is a Spark DataFrame, and not a Table"):
        query.run(live, history=PAST)
    with pytest.raises(TypeError, match=r"column 'ts' is of type .* in history and of type .* in the stream"):
        query.run(live, history=spark.range(3).selectExpr("id AS ts", "'a' AS key"))
    with pytest.raises(TypeError, match="are for unbounded input"):
        query.run(spark.range(3).selectExpr("id AS ts", "'a' AS key"), history_until=3)
