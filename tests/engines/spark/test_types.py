"""Types that Spark has: times of every kind, session time zones, decimals, text, structs, null keys."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support import result_types
from windrow.engines.spark.types import storable
from windrow.errors import AggregateError
from windrow.testing import assert_same_results

N = 60
RNG = np.random.default_rng(4)
SECONDS = RNG.permutation(N) * 600
START = dt.datetime(2024, 3, 30, 12)  # the clocks of Berlin change in the night to the 31st

TIMES = {
    "timestamp": pa.array([(START + dt.timedelta(seconds=int(s))).replace(tzinfo=dt.UTC) for s in SECONDS]),
    "timestamp_ntz": pa.array([START + dt.timedelta(seconds=int(s)) for s in SECONDS], pa.timestamp("us")),
    "date": pa.array([START.date() + dt.timedelta(days=int(s) // 600) for s in SECONDS]),
    "bigint": pa.array(SECONDS),
    "int": pa.array(SECONDS.astype(np.int32)),
    "smallint": pa.array((SECONDS // 60).astype(np.int16)),
}
KEYS = {
    "string": pa.array([["a", None, "ü", ""][i % 4] for i in range(N)]),
    "double": pa.array([[1.5, float("nan"), None][i % 3] for i in range(N)], from_pandas=False),
    "decimal": pa.array(
        [[Decimal("1.50"), None, Decimal("2.25")][i % 3] for i in range(N)], pa.decimal128(9, 2)
    ),
    "date": pa.array([[dt.date(2024, 1, 1), None][i % 2] for i in range(N)]),
    "boolean": pa.array([[True, False, None][i % 3] for i in range(N)]),
    "binary": pa.array([[b"x", b"", None][i % 3] for i in range(N)]),
    "struct": pa.array([[{"p": 1, "q": "a"}, {"p": None, "q": "a"}, None][i % 3] for i in range(N)]),
    "array": pa.array([[[1, 2], [1], None][i % 3] for i in range(N)]),
}
VALUES = {
    "n": pa.array(RNG.integers(0, 9, N)),
    "small": pa.array(RNG.integers(0, 9, N).astype(np.int16)),
    "money": pa.array([Decimal(int(c)) / 100 for c in RNG.integers(0, 999, N)], pa.decimal128(8, 2)),
    "name": pa.array([["p", "q", None, "rs"][i % 4] for i in range(N)]),
    "flag": pa.array([[True, False, None][i % 3] for i in range(N)]),
    "day": pa.array([dt.date(2024, 1, 1 + i % 9) for i in range(N)]),
    "pair": pa.array([{"a": i, "b": str(i)} for i in range(N)]),
}


def table(time: str = "timestamp", key: str = "string") -> pa.Table:
    return pa.table({"ts": TIMES[time], "key": KEYS[key], **VALUES})


def length(time: str, seconds: int) -> Any:
    days = "3d" if seconds > 3_000 else "1d"
    special = {"bigint": seconds, "int": seconds, "smallint": seconds // 60, "date": days}
    return special.get(time, f"{seconds}s")


def windows(time: str) -> dict[str, Any]:
    long, short = length(time, 3_600), length(time, 1_200)
    return {"w": wr.Sliding(long, slide=short), "s": wr.Session(short), "r": wr.Rows(7)}


def check(spark: Any, query: wr.Query, rows: pa.Table) -> Any:
    found, expected = query.run(spark.createDataFrame(rows)), query.run(rows)
    assert found.columns == expected.column_names
    collected = found.toArrow()
    assert_same_results(collected, expected)
    return collected


@pytest.mark.parametrize("time", TIMES)
def test_times(spark: Any, time: str) -> None:
    query = wr.query(time="ts", by="key").window(**windows(time))
    check(spark, query.agg(total=wr.sum("n"), last=wr.last("name"), n=wr.count()), table(time))
    sliced = wr.query(time="ts", by="key").window(windows(time)["w"]).agg(total=wr.sum("n"))
    check(spark, sliced, table(time))
    rolling = wr.query(time="ts", by="key").rolling(length(time, 3_600))
    check(spark, rolling.agg(total=wr.sum("n"), first=wr.first("ts")), table(time))


@pytest.mark.parametrize("key", KEYS)
def test_keys(spark: Any, key: str) -> None:
    query = wr.query(time="ts", by=["key", "small"])
    if key not in ("struct", "array"):  # the local engine cannot compare tables with these as keys
        check(spark, query.window(wr.Tumbling("1h")).agg(total=wr.sum("n")), table(key=key))
        check(spark, query.rolling(rows=3).agg(total=wr.sum("n")), table(key=key))
        return
    frame = spark.createDataFrame(table(key=key))
    from pyspark.sql import functions

    found = query.window(wr.Tumbling("100d")).agg(total=wr.sum("n")).run(frame)
    rows = found.groupBy("key", "small").agg(functions.sum("total").alias("t"))
    own = frame.groupBy("key", "small").agg(functions.sum("n").alias("t"))
    assert sorted(map(repr, rows.collect())) == sorted(map(repr, own.collect()))
    assert query.rolling(rows=3).agg(total=wr.sum("n")).run(frame).count() == N


def test_values_of_every_type(spark: Any) -> None:
    aggregates = {
        "total": wr.sum("money"),
        "top": wr.max("money"),
        "low": wr.min("name"),
        "latest": wr.max("day"),
        "pick": wr.arg_max("small", value="pair"),
        "names": wr.collect("name"),
        "cash": wr.collect("money"),
        "any_flag": wr.any("flag"),
        "small_total": wr.sum("small"),
        "distinct": wr.approx_distinct("name"),
        "shape": wr.m4("n"),
        "together": wr.together(n=wr.count, most=wr.max)("n"),
    }
    query = wr.query(time="ts", by="key").window(wr.Tumbling("2h")).agg(**aggregates)
    found = check(spark, query, table())
    assert found.schema.field("total").type == pa.decimal128(18, 2)
    assert found.schema.field("latest").type == pa.date32()
    check(spark, wr.query(time="ts", by="key").rolling("2h").agg(**aggregates), table())


def test_a_mean_of_decimals_has_four_more_digits(spark: Any) -> None:
    rows = table()
    found = wr.events(spark.createDataFrame(rows), time="ts").window(wr.Tumbling("100d"))
    mean = found.agg(m=wr.mean("money")).toArrow()["m"]
    assert mean.type == pa.decimal128(12, 6)
    exact = sum(rows["money"].to_pylist()) / N
    assert [abs(m.as_py() - exact) < Decimal("0.000001") for m in mean] == [True] * len(mean)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_session_time_zones_change_nothing_but_how_times_are_shown(spark: Any, zone: str) -> None:
    rows = table()
    day = wr.query(time="ts", by="key").window(
        d=wr.Tumbling("1d", timezone="Europe/Berlin"), h=wr.Tumbling("1h")
    )
    queries = [
        day.agg(total=wr.sum("n"), last=wr.last("ts")),
        wr.query(time="ts", by="key").rolling("3h").agg(total=wr.sum("n"), top=wr.max("ts")),
    ]
    frame = spark.createDataFrame(rows)
    try:
        spark.conf.set("spark.sql.session.timeZone", zone)
        for query in queries:
            found = query.run(frame).toArrow()
            assert_same_results(found, query.run(rows))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_all_columns_of_the_input_come_back_as_they_were(spark: Any) -> None:
    from pyspark.sql import functions

    frame = spark.createDataFrame(table()).select(
        "*",
        functions.expr("interval '1' hour").alias("span"),
        functions.expr("map('a', 1)").alias("m"),
        functions.col("n").alias("a.b `c`"),
        functions.lit(None).cast("string").alias("nothing"),
    )
    found = (
        wr.events(frame, time="ts", by="key").rolling(rows=2).agg(total=wr.sum("n"), dots=wr.max("a.b `c`"))
    )
    assert found.schema.fields[: len(frame.columns)] == frame.schema.fields
    kept = found.select(*(functions.col(f"`{c.replace('`', '``')}`") for c in frame.columns))
    assert sorted(map(repr, kept.collect())) == sorted(map(repr, frame.collect()))


@pytest.mark.parametrize("rolls", [False, True])
def test_types_of_results_are_those_of_tables_for_every_aggregate_and_type(spark: Any, rolls: bool) -> None:
    lacking = ("uint8", "uint64", "large_string", "string_view", "dictionary", "timestamp_s", "timestamp_ns")
    columns = [name for name in result_types.COLUMNS if name not in (*lacking, "time64")]
    table = result_types.rows(columns)
    query = wr.query(time="t")
    asked = query.rolling(10) if rolls else query.window(wr.Tumbling(10))
    found: dict[str, tuple[Any, Any]] = {}
    for name, of in result_types.AGGREGATES.items():
        for column in columns:
            with contextlib.suppress(AggregateError, TypeError):  # not a column that it takes
                real = asked.agg(r=of(column)).run(table).schema.field("r").type
                found[f"{name} {column}"] = of(column), real
    named = {f"r{k}": aggregate for k, (aggregate, _) in enumerate(found.values())}
    schema = asked.agg(**named).run(spark.createDataFrame(table)).toArrow().schema
    for result, (name, (_, kind)) in zip(named, found.items(), strict=True):
        assert shape(schema.field(result).type) == shape(storable(kind)), name


def shape(kind: Any) -> str:
    """A type as text, without the zone of a session."""
    return re.sub(r", tz=[^\]]*", "", str(kind)).replace("element", "item")
