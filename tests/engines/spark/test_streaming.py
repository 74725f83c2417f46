"""Streams on Spark: against the operator that is pushed the same micro-batches, and against Spark's own
windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source
from windrow.testing import assert_same_results

SCHEMA = "ts timestamp, seq long, region string, len long, caller string, done boolean"
START = datetime(2024, 5, 1)
DELAY = timedelta(minutes=3)


def calls(batch: int, rows: int = 60) -> pa.Table:
    """Ten minutes of calls a batch; some come up to forty minutes late."""
    rng = np.random.default_rng(batch)
    late = np.where(rng.random(rows) < 0.15, rng.integers(0, 2400, rows), 0)
    seconds = batch * 600 + rng.integers(0, 600, rows) - late
    return pa.table(
        {
            "ts": pa.array([START + timedelta(seconds=int(s)) for s in seconds], pa.timestamp("us", "UTC")),
            "seq": rng.permutation(rows),
            "region": pa.array([[None, "north", "south"][k] for k in rng.integers(0, 3, rows)]),
            "len": rng.integers(0, 50, rows),
            "caller": pa.array([f"caller {k}" for k in rng.integers(0, 9, rows)]),
            "done": rng.random(rows) < 0.2,
        }
    )


BATCHES = [calls(k) for k in range(4)]


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def expected(
    query: Any, batches: list[pa.Table], stopped_after: int | None = None
) -> tuple[list[Any], Any, list[Any]]:
    """What the operator gives for the same micro-batches: judged by the watermark of the batch before. A
    stream that is stopped when no data is left has one more batch, without rows."""
    operator = replace(query, watermark=None).open()
    results: list[Any] = []
    largest = None
    for number, table in enumerate(batches):
        if number == stopped_after:
            results += operator.advance(largest - DELAY).to_pylist()
        results += operator.push(table).to_pylist()
        if largest is not None:
            results += operator.advance(largest - DELAY).to_pylist()
        newest = max(t.as_py() for t in table["ts"])
        largest = newest if largest is None else max(largest, newest)
    results += operator.advance(largest - DELAY).to_pylist()
    late = operator.late_rows().to_pylist() if query.late == "return" else []
    return results, operator.metrics, late


def query(**options: Any) -> Any:
    return wr.query(time="ts", by="region", watermark=DELAY, **options)


AGGREGATES = {
    "n": wr.count(),
    "longest": wr.max("len"),
    "total": wr.sum("len"),
    "who": wr.arg_max("len", value="caller"),
}


def test_windows_and_sessions_are_those_of_the_operator(source: Source) -> None:
    q = query().window(
        slide=wr.Sliding("10m", slide="4m"), visit=wr.Session("40s"), so_far=wr.Cumulative("20m", step="10m")
    )
    q = q.agg(**AGGREGATES)
    source.write(BATCHES)
    found, counts = source.run(q.run)
    results, metrics, _ = expected(q, BATCHES)
    assert_same_results(found, results)
    assert counts["rows_late"] == metrics.rows_late > 0
    assert counts["late_pairs"] == sum(metrics.late_pairs.values()) > counts["rows_late"]
    for reason in ("window_fired", "session_closed"):
        assert counts[f"late_pairs_{reason}"] == metrics.late_pairs[reason] > 0
    assert counts["rows_in"] == metrics.rows_in == counts["rows_aggregated"] + counts["rows_late"]
    held = wr.spark.inspect_state(source.checkpoint)
    assert set(held["part"].to_pylist()) == {"time", "session 1"}
    assert set(held["region"].to_pylist()) <= {None, "north", "south"}


def test_without_lateness_results_are_those_of_sparks_window(source: Source) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    q = query().window(wr.Sliding("10m", slide="4m")).agg(n=wr.count(), total=wr.sum("len"))
    source.write(BATCHES)
    found, _ = source.run(q.run)

    def own(stream: Any) -> Any:
        windows = stream.withWatermark("ts", "3 minutes").groupBy(
            "region", F.window("ts", "10 minutes", "4 minutes")
        )
        sums = windows.agg(F.count("*").alias("n"), F.sum("len").alias("total"))
        return sums.select(
            "region",
            F.col("window.start").alias("window_start"),
            F.col("window.end").alias("window_end"),
            "n",
            "total",
        )

    source.checkpoint += "-own"
    native, _ = source.run(own)
    assert_same_results(found, native)


def test_corrections_come_in_update_mode_too(source: Source) -> None:
    q = query(allowed_lateness="6m", output="update").window(t=wr.Tumbling("5m"), s=wr.Session("40s"))
    q = q.agg(n=wr.count(), total=wr.sum("len"))
    source.write(BATCHES)
    found, counts = source.run(q.run, mode="update")
    results, metrics, _ = expected(q, BATCHES)

    def standing(rows: list[Any]) -> dict[Any, Any]:
        """What stands of each window at the end."""
        last: dict[Any, Any] = {}
        for row in rows:
            edges = (row["window_start"].replace(tzinfo=None), row["window_end"].replace(tzinfo=None))
            key = (row["region"], row["window"], *edges)
            if key not in last or row["revision"] > last[key]["revision"]:
                last[key] = row
        return {k: (r["n"], r["total"]) for k, r in last.items() if not r["retracted"] and r["is_final"]}

    assert standing(found) == standing(results)
    assert counts["windows_corrected"] == metrics.windows_corrected > 0


def test_windows_that_data_decide_and_late_rows_handed_back(source: Source) -> None:
    q = query(late="return", order="seq").window(
        five=wr.Rows(5), job=wr.Punctuation("done"), spell=wr.Threshold("done")
    )
    q = q.agg(n=wr.count(), callers=wr.concat("caller"))
    source.write(BATCHES)
    found, _ = source.run(q.run)
    results, metrics, late = expected(q, BATCHES)
    behind = [row["late"] for row in found if row["late"] is not None]
    kept = [{k: v for k, v in row.items() if k != "late"} for row in found if row["late"] is None]
    assert_same_results(kept, results)
    assert len(behind) == metrics.rows_late > 0
    microseconds = [row | {"late_by": row["late_by"] // timedelta(microseconds=1)} for row in late]
    assert_same_results(behind, microseconds)


@pytest.mark.parametrize("over", [{"size": "12m"}, {"rows": 7}])
def test_rolling_gives_a_result_a_row(source: Source, over: Any) -> None:
    size = over.get("size")
    q = query(order="seq").rolling(size, rows=over.get("rows")).agg(n=wr.count(), total=wr.sum("len"))
    source.write(BATCHES)
    found, _ = source.run(q.run)
    results, _, _ = expected(q, BATCHES)
    assert_same_results(found, results)


def test_a_stream_goes_on_from_its_checkpoint(source: Source) -> None:
    q = query().window(slide=wr.Sliding("10m", slide="4m"), visit=wr.Session("40s")).agg(**AGGREGATES)
    source.write(BATCHES[:2])
    first, _ = source.run(q.run)
    other = query().window(slide=wr.Sliding("9m", slide="3m"), visit=wr.Session("40s")).agg(**AGGREGATES)
    source.write(BATCHES[2:])
    with pytest.raises(Exception, match=r"window 'slide' was Sliding\('10m', slide='4m'\), is Sliding\('9m'"):
        source.run(other.run)
    more = query().window(
        slide=wr.Sliding("10m", slide="4m"), visit=wr.Session("40s"), band=wr.Tumbling("7m")
    )
    rest, _ = source.run(more.agg(**AGGREGATES).run)
    results, _, _ = expected(q, BATCHES, stopped_after=2)
    assert_same_results(first + [row for row in rest if row["window"] != "band"], results)
    assert any(row["window"] == "band" for row in rest)


def test_what_is_wrong_is_said_before_the_stream_starts(source: Source) -> None:
    stream = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    with pytest.raises(ValueError, match="a stream needs a watermark"):
        wr.query(time="ts").window(wr.Tumbling("1h")).agg(n=wr.count()).run(stream)
    session = source.spark
    provider = "spark.sql.streaming.stateStore.providerClass"
    before = session.conf.get(provider)
    session.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(
            ValueError, match=r"has org\.apache.*HDFSBacked.*: start the session with wr"
        ) as caught:
            query().window(wr.Tumbling("1h")).agg(n=wr.count()).run(stream)
        for named in (
            "spark.conf.set",
            f"server take --conf {provider}=org.",
            "spark-pipeline.yml",
            "managed",
        ):
            assert named in str(caught.value)
    finally:
        session.conf.set(provider, before)


def test_results_of_any_name_and_type_leave_a_stream(spark: Any, tmp_path: Path) -> None:
    def renamed(table: pa.Table) -> pa.Table:
        columns = {"ts": table["ts"], "a.b `c`": table["region"], "seq": table["seq"]}
        columns |= {"len": table["len"], "day": table["ts"].cast(pa.date32())}
        columns["price"] = table["len"].cast(pa.int32()).cast(pa.decimal128(12, 2))
        return pa.table(columns)

    batches = [renamed(table) for table in BATCHES[:2]]
    schema = "ts timestamp, `a.b ``c``` string, seq long, len long, day date, price decimal(12, 2)"
    q = wr.query(time="ts", by="a.b `c`", order="seq", watermark=DELAY).window(five=wr.Tumbling("5m"))
    lists = {"all": wr.collect("len"), "ends": wr.m4("len"), "top.3": wr.top_k("len", k=3)}
    q = q.agg(**lists, **{"last `day`": wr.last("day"), "price": wr.max("price")})
    with Source.in_folder(spark, tmp_path, schema) as source:
        source.write(batches)
        found, _ = source.run(q.run)
    results, _, _ = expected(q, batches)
    assert len(results) > 5
    assert_same_results(found, results)
