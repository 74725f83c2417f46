"""What comes after a windrow query in one Spark query: Spark's own stateful operators, another windrow query,
a union; with late rows, and stopped and started again in between. Results are those of a batch query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from support.stream_source import Source, keep_in
from windrow.engines.spark.compat import analyzed_plan

GUIDE = Path(__file__).parents[3] / "docs" / "spark-streams.md"
SCHEMA = "ts timestamp, region string, len long"
START = datetime(2024, 5, 1)
DELAY = timedelta(minutes=3)


def calls(batch: int, rows: int = 80) -> pa.Table:
    """Ten minutes of calls, two of them out of order by as much as a watermark waits."""
    rng = np.random.default_rng(batch)
    seconds = batch * 600 + rng.integers(0, 600, rows) - rng.choice([0, 0, 120], rows)
    seconds[-1] = batch * 600 + 599  # on which the watermark depends
    return table_of(seconds, rng)


def late_calls(rows: int = 5) -> pa.Table:
    """Calls from hours ago."""
    return table_of(np.arange(rows) - 7200, np.random.default_rng(1))


def table_of(seconds: Any, rng: Any) -> pa.Table:
    times = [START + timedelta(seconds=int(s)) for s in seconds]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "region": rng.choice(["north", "south"], len(times)),
            "len": rng.integers(0, 50, len(times)),
        }
    )


START_OF = [pa.scalar(START + timedelta(minutes=10 * k), pa.timestamp("us", "UTC")) for k in range(4)]
IN_TIME = [calls(k) for k in range(5)]
BATCHES = [pa.concat_tables([t, late_calls()]) if k > 1 else t for k, t in enumerate(IN_TIME)]
ALL = pa.concat_tables(IN_TIME)
#: in order, so that a watermark without delay makes nothing late
SORTED = [calls(k).filter(pc.greater_equal(calls(k)["ts"], START_OF[k])) for k in range(4)]
WATERMARK = (START + timedelta(seconds=4 * 600 + 599) - DELAY).replace(tzinfo=None)


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def ran(source: Source, make: Callable[[Any], Any], mode: str = "append") -> list[dict[str, Any]]:
    """The results of two starts: three micro-batches, and two more."""
    found: list[dict[str, Any]] = []
    for part in (BATCHES[:3], BATCHES[3:]):
        source.write(part)
        found += [plain(row) for row in source.run(make, mode)[0]]
    return found


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: v.replace(tzinfo=None) if isinstance(v, datetime) else v for name, v in row.items()}


def final(query: Any, table: pa.Table = ALL) -> list[dict[str, Any]]:
    """What a batch query gives, up to where the stream's watermark comes."""
    rows = [plain(row) for row in query.run(table).to_pylist()]
    return [row for row in rows if row["window_end"] <= WATERMARK]


def as_set(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter(tuple(sorted((name, str(value)) for name, value in row.items())) for row in rows)


def minutes(**options: Any) -> Any:
    plain = wr.query(time="ts", by="region", watermark=DELAY, **options)
    return plain.window(wr.Tumbling("1m")).agg(n=wr.count(), longest=wr.max("len"))


def tens(**aggregates: Any) -> Any:
    return wr.query(time="ts", by="region").window(wr.Tumbling("10m")).agg(**aggregates)


# -- Spark's own operators -----------------------------------------------------------------------------------


def test_window_after_windrow_gave_no_rows(source: Source) -> None:
    from pyspark.sql import functions as f

    def hourly(stream: Any) -> Any:
        results = wr.spark.with_window_time(minutes().run(stream))
        counted = results.groupBy(f.window("window_time", "10 minutes"), "region")
        totals = counted.agg(f.sum("n").alias("n"), f.max("longest").alias("longest"))
        return totals.select("region", "window.start", "window.end", "n", "longest")

    expected = final(tens(n=wr.count(), longest=wr.max("len")))
    found = ran(source, hourly)
    names = {"start": "window_start", "end": "window_end"}
    assert len(expected) == 10
    assert as_set([{names.get(k, k): v for k, v in row.items()} for row in found]) == as_set(expected)


def test_results_of_several_keys_are_added_up_by_their_window(source: Source) -> None:
    from pyspark.sql import functions as f

    def totals(stream: Any) -> Any:
        return minutes().run(stream).groupBy("window_end").agg(f.sum("n").alias("n"))

    every_minute = wr.query(time="ts").window(wr.Tumbling("1m")).agg(n=wr.count())
    expected = [{"window_end": row["window_end"], "n": row["n"]} for row in final(every_minute)]
    assert as_set(ran(source, totals)) == as_set(expected)


def test_drop_duplicates_after_windrow_gave_no_rows(source: Source) -> None:
    def ends(stream: Any) -> Any:
        return minutes().run(stream).dropDuplicatesWithinWatermark(["window_end"]).select("window_end")

    found = ran(source, ends)
    expected = {row["window_end"] for row in final(minutes())}
    assert sorted(row["window_end"] for row in found) == sorted(expected)


def test_a_join_after_windrow_gave_no_rows(source: Source) -> None:
    from pyspark.sql import functions as f

    def joined(stream: Any) -> Any:
        """Calls with the longest of their minute; and nothing for those that are late."""
        results = minutes().run(stream).withColumnRenamed("region", "of")
        events = stream.withWatermark("ts", "3 minutes")
        within = f.expr("ts >= window_end - interval 1 minute AND ts < window_end AND of = region")
        both = events.join(results, within)
        return both.select("ts", "region", "len", "longest")

    known = {(row["region"], row["window_start"]): row["longest"] for row in final(minutes())}
    expected = [
        row | {"longest": known[row["region"], row["ts"].replace(second=0)]}
        for row in map(plain, ALL.to_pylist())
        if (row["region"], row["ts"].replace(second=0)) in known
    ]
    assert as_set(ran(source, joined)) == as_set(expected)


def test_an_outer_join_of_two_windrow_queries(source: Source) -> None:
    from pyspark.sql import functions as f

    with_long = wr.query(time="ts", by="region", watermark=DELAY).window(wr.Tumbling("1m")).agg(m=wr.count())

    def joined(stream: Any) -> Any:
        left = minutes().run(stream).alias("l")
        right = with_long.run(stream.where("len > 40")).alias("r")
        same = (f.col("l.region") == f.col("r.region")) & (f.col("l.window_end") == f.col("r.window_end"))
        return left.join(right, same, "left_outer").select("l.region", "l.window_end", "n", "m")

    few = final(with_long, ALL.filter(pc.greater(ALL["len"], 40)))
    known = {(row["region"], row["window_end"]): row["m"] for row in few}
    expected = [
        {name: row[name] for name in ("region", "window_end", "n")}
        | {"m": known.get((row["region"], row["window_end"]))}
        for row in final(minutes())
    ]
    assert None in {row["m"] for row in expected}
    assert as_set(ran(source, joined)) == as_set(expected)


def test_rolling_rows_at_the_watermark_itself_are_not_late_for_spark(source: Source) -> None:
    """Times are whole seconds, and so is the watermark: each micro-batch emits rows of the time that the
    watermark before had."""

    def once(stream: Any) -> Any:
        rolled = wr.query(time="ts", by="region", watermark="0s").rolling("1m", "5m").agg(total=wr.sum("len"))
        results = wr.spark.with_window_time(rolled.run(stream))
        return results.dropDuplicatesWithinWatermark(["ts", "region"]).select("ts", "region")

    found = []
    for part in (SORTED[:2], SORTED[2:]):
        source.write(part)
        found += [plain(row) for row in source.run(once)[0]]
    rows = map(plain, pa.concat_tables(SORTED).select(["ts", "region"]).to_pylist())
    known = {(row["ts"], row["region"]) for row in rows}
    last = max(known)[0]
    assert Counter((row["ts"], row["region"]) for row in found) == Counter(k for k in known if k[0] < last)


def test_sessions_that_end_a_microsecond_after_the_watermark_are_not_late_for_spark(source: Source) -> None:
    def once(stream: Any) -> Any:
        sessions = (
            wr.query(time="ts", by="region", watermark="0s").window(wr.Session("10s")).agg(n=wr.count())
        )
        results = wr.spark.with_window_time(sessions.run(stream))
        return results.dropDuplicatesWithinWatermark(["region", "window_end"])

    def at(region: str, micros: int) -> pa.Table:
        times = pa.array([1_000_000_000_000_000 + micros], pa.timestamp("us", "UTC"))
        return pa.table({"ts": times, "region": [region], "len": [0]})

    seconds = [at("south", k * 1_000_000) for k in (10, 40, 70, 100)]
    source.write([at("north", 1), *seconds])  # north's ends at 10 s and 1 us
    assert len(source.run(once)[0]) == 4


# -- other windrow queries -----------------------------------------------------------------------------------


def test_a_union_of_two_windrow_queries_had_metrics_of_one_name(source: Source) -> None:
    names: list[list[str]] = []

    def both(stream: Any) -> Any:
        north, south = (minutes().run(stream.where(f"region = '{name}'")) for name in ("north", "south"))
        return north.union(south)

    def counted(stream: Any) -> Any:
        found = both(stream)
        names.append(names_in(found))
        return found

    found: list[dict[str, Any]] = []
    totals: Counter[str] = Counter()
    for part in (BATCHES[:3], BATCHES[3:]):
        source.write(part)
        rows, counts = source.run(counted)
        found += map(plain, rows)
        totals += counts
    assert as_set(found) == as_set(final(minutes()))
    assert names[0] == names[1]
    assert len(names[0]) == 2
    assert (totals["rows_in"], totals["rows_late"]) == (5 * 80 + 3 * 5, 3 * 5)


def test_a_second_windrow_query_had_metrics_of_the_same_name_and_a_watermark_of_its_own(
    source: Source,
) -> None:
    def tens_of_minutes(stream: Any) -> Any:
        results = wr.spark.with_window_time(minutes().run(stream))
        second = wr.query(time="window_time", by="region", watermark=DELAY)
        return second.window(wr.Tumbling("10m")).agg(n=wr.sum("n"), longest=wr.max("longest")).run(results)

    found = ran(source, tens_of_minutes)
    assert as_set(found) == as_set(final(tens(n=wr.count(), longest=wr.max("len"))))


def test_a_second_query_by_another_time_stays_behind_by_its_own_watermark(source: Source) -> None:
    """By the start of windows of a minute, results are a minute late; two minutes are waited for."""

    def tens_of_minutes(stream: Any) -> Any:
        second = wr.query(time="window_start", by="region", watermark="2m")
        return second.window(wr.Tumbling("5m")).agg(n=wr.sum("n")).run(minutes().run(stream))

    fives = wr.query(time="ts", by="region").window(wr.Tumbling("5m")).agg(n=wr.count())
    behind = WATERMARK - timedelta(minutes=2)
    expected = [row for row in final(fives) if row["window_end"] <= behind]
    assert as_set(ran(source, tens_of_minutes)) == as_set(expected)


def test_a_stream_that_has_a_watermark_keeps_it(source: Source) -> None:
    found = ran(source, lambda stream: minutes().run(stream.withWatermark("ts", "3 minutes")))
    assert as_set(found) == as_set(final(minutes()))


@pytest.mark.parametrize(
    ("end", "is_end", "moment"),
    [
        ("TIMESTAMP'2024-05-01 10:00:00Z'", True, "2024-05-01 09:59:59.999999"),
        ("TIMESTAMP'2024-05-01 10:00:00.000001Z'", True, "2024-05-01 10:00:00.000999"),
        ("TIMESTAMP'2024-05-01 10:00:00Z'", False, "2024-05-01 10:00:00.000999"),
        ("TIMESTAMP'1969-12-31 23:59:59.9995Z'", False, "1969-12-31 23:59:59.999999"),
        ("TIMESTAMP_NTZ'2024-05-01 10:00:00.25'", True, "2024-05-01 10:00:00.249999"),
        ("DATE'2024-05-01'", True, "2024-04-30 23:59:59.999999"),
        ("1000L", True, "1970-01-01 00:00:00.999999"),
    ],
)
def test_the_time_of_a_window(spark: Any, end: str, is_end: bool, moment: str) -> None:
    from pyspark.sql import functions as f

    metadata = {"windrow.watermarkDelayMs": 5, "windrow.isWindowEnd": is_end}
    results = spark.range(1).select(f.expr(end).alias("window_end", metadata=metadata))
    found = wr.spark.with_window_time(results)
    assert found.selectExpr("CAST(window_time AS STRING)").first()[0] == moment
    assert found.schema["window_time"].metadata["spark.watermarkDelayMs"] == 5


def test_the_code_of_the_guide(source: Source, tmp_path: Path) -> None:
    """Everything in it starts: Spark has nothing against it, nor has windrow."""
    section = GUIDE.read_text().partition("\n## Spark operators after windrow\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    stream = source.spark.readStream.schema("ts timestamp, region string, caller string, len long")
    scope: dict[str, Any] = {"wr": wr, "calls": stream.parquet(str(source.input))}
    exec(code, scope)
    for name in ("everywhere", "hourly", "once", "with_longest", "busiest", "both"):
        started(scope[name], tmp_path / name)


def test_windrow_after_window_had_a_watermark_of_its_own(source: Source) -> None:
    from pyspark.sql import functions as f

    def tens_of_minutes(stream: Any) -> Any:
        counted = stream.withWatermark("ts", "3 minutes").groupBy(f.window("ts", "1 minute"), "region")
        ends = counted.agg(f.count("*").alias("n")).select(f.window_time("window").alias("t"), "region", "n")
        second = wr.query(time="t", by="region", watermark="0s")
        return second.window(wr.Tumbling("10m")).agg(n=wr.sum("n")).run(ends)

    assert as_set(ran(source, tens_of_minutes)) == as_set(final(tens(n=wr.count())))


# -- what cannot be ------------------------------------------------------------------------------------------


def started(frame: Any, tmp_path: Path, mode: str = "append") -> None:
    writer = frame.writeStream.option("checkpointLocation", str(tmp_path / "c")).outputMode(mode)
    writer.foreachBatch(keep_in(tmp_path / "out")).start().stop()


def test_a_watermark_after_windrow_gave_no_rows_for_ever(source: Source, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    again = minutes().run(stream_of(source)).select("window_end", "n").withWatermark("window_end", "1 minute")
    totals = again.groupBy(f.window("window_end", "10 minutes")).agg(f.sum("n"))
    with pytest.raises(
        ValueError, match=r"^withWatermark\('window_end'\) comes after a windrow query.*leave it"
    ):
        started(totals, tmp_path)
    with pytest.raises(ValueError, match="comes after a windrow query"):
        wr.query(time="window_end", watermark="1m").window(wr.Tumbling("1h")).agg(n=wr.count()).run(again)


def test_updates_went_into_a_query_in_append_mode(source: Source, tmp_path: Path) -> None:
    updates = minutes(output="update").run(stream_of(source))
    with pytest.raises(
        ValueError, match=r"output='update' gives results again.*'append'.*outputMode\('update'\)"
    ):
        started(updates, tmp_path)
    with pytest.raises(ValueError, match="output mode 'append'"):
        updates.where("n > 1").writeStream.toTable("t", outputMode="append")
    started(updates, tmp_path, "update")


def test_results_that_come_out_again_are_not_added_up(source: Source, tmp_path: Path) -> None:
    updates = minutes(output="update").run(stream_of(source))
    with pytest.raises(ValueError, match="Aggregate comes after a query with output='update'"):
        started(updates.groupBy("region").count(), tmp_path, "update")
    hourly = wr.query(time="window_end", watermark="1m").window(wr.Tumbling("1h")).agg(n=wr.sum("n"))
    with pytest.raises(ValueError, match="leave out output='update' there"):
        hourly.run(updates)
    corrected = minutes(allowed_lateness="5m").run(stream_of(source))
    with pytest.raises(ValueError, match="leave out allowed_lateness there"):
        hourly.run(corrected)
    hourly.run(corrected.where("revision = 0").drop("revision"))


def test_max_ahead_does_not_hold_back_a_watermark_that_is_there(source: Source) -> None:
    stream = stream_of(source).withWatermark("ts", "3 minutes")
    with pytest.raises(ValueError, match="max_ahead cannot hold back"):
        minutes(max_ahead="1h").run(stream)


@pytest.mark.parametrize("options", [{"emit": "update"}, {"allowed_lateness": "1m"}, {"empty": "emit"}])
def test_results_that_come_late_have_no_event_time(source: Source, options: Any) -> None:
    results = minutes(**options).run(stream_of(source))
    assert "spark.watermarkDelayMs" not in results.schema["window_end"].metadata
    with pytest.raises(ValueError, match="no event time of results"):
        wr.spark.with_window_time(results)


def test_one_column_is_the_event_time(source: Source) -> None:
    results = wr.spark.with_window_time(minutes().run(stream_of(source)))
    marked = [f.name for f in results.schema.fields if "spark.watermarkDelayMs" in f.metadata]
    assert marked == ["window_time"]
    with pytest.raises(ValueError, match="already"):
        wr.spark.with_window_time(
            results.withColumnRenamed("window_time", "t").selectExpr("*", "t AS window_time")
        )


def test_counts_have_a_name_that_follows_from_the_query_and_its_stream(
    source: Source, tmp_path: Path
) -> None:
    names = []
    for start in range(2):
        results = minutes().run(stream_of(source))
        others = [
            minutes(late="return").run(stream_of(source)),
            minutes().run(stream_of(source).where("len > 3")),
        ]
        names.append([names_in(each) for each in (results, *others)])
        for number, each in enumerate((results, *others)):
            started(each, tmp_path / f"{start} {number}")
    assert names[0] == names[1]
    assert len({name for found in names[0] for name in found}) == 3


def test_the_same_query_on_streams_that_look_the_same(source: Source, tmp_path: Path) -> None:
    def both() -> Any:
        return minutes().run(stream_of(source)).union(minutes().run(stream_of(source)))

    names = []
    for start in range(2):
        frame = both()
        names.append(names_in(frame))
        started(frame, tmp_path / str(start))
    assert names[0] == names[1]
    assert len(names[0]) == 2


def names_in(frame: Any) -> list[str]:
    return sorted(set(re.findall(r"CollectMetrics (windrow_[0-9a-f]{8}(?:_\d+)?),", analyzed_plan(frame))))


def stream_of(source: Source) -> Any:
    return source.spark.readStream.schema(source.schema).parquet(str(source.input))
