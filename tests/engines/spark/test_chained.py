"""What comes after a windrow query in one Spark query: Spark's own stateful operators, another windrow query, a
union; with late rows, and stopped and started again in between. Results are those of a batch query."""

from __future__ import annotations

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


IN_TIME = [calls(k) for k in range(5)]
BATCHES = [pa.concat_tables([t, late_calls()]) if k > 1 else t for k, t in enumerate(IN_TIME)]
ALL = pa.concat_tables(IN_TIME)
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
    assert len(expected) == 8
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
        within = (f.col("ts") >= f.col("window_start")) & (f.col("ts") < f.col("window_end"))
        both = events.join(results, (f.col("of") == f.col("region")) & within)
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
    found = ran(source, joined)
    assert None in {row["m"] for row in expected}
    # a row without a partner waits for one more micro-batch than one with it
    assert not as_set(found) - as_set(expected)
    assert {r["window_end"] for r in expected} - {r["window_end"] for r in found} <= {WATERMARK}
