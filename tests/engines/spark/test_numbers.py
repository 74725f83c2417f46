"""Numbers at their edges on Spark: integers at the ends of 64 bits, windows without a value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import windrow as wr
from engines.spark.spark_frames import settings_of
from engines.spark.test_windows import check

LOWEST, HIGHEST = -(2**63), 2**63 - 1
DAY = 86_400_000_000
#: what each key has, and whether its sum fits
EDGES = {
    "low": [LOWEST],
    "both": [LOWEST, HIGHEST],
    "over": [2**62, 2**62, -(2**62)],
    "under": [LOWEST, -1, 5],
    "none": [None, None],
}
WINDOWS: list[Any] = [
    {"w": wr.Tumbling("1h")},
    {"w": wr.Tumbling("1d", timezone="Europe/Berlin")},
    {"w": wr.Sliding("2h", slide="30m")},
    {"w": wr.Session("1h")},
]


def edges(keys: dict[str, Any]) -> pa.Table:
    rows = [(i, key, v) for key, values in keys.items() for i, v in enumerate(values)]
    moments = pa.array([DAY + i * 60_000_000 for i, _, _ in rows], pa.timestamp("us", "UTC"))
    return pa.table(
        {"ts": moments, "k": [k for _, k, _ in rows], "v": pa.array([v for *_, v in rows], pa.int64())}
    )


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("windows", WINDOWS, ids=lambda windows: repr(windows["w"]))
def test_int64_edges_in_sums_and_means(spark: Any, windows: Any, ansi: str) -> None:
    query = wr.query(time="ts", by="k").window(**windows)
    results = {"s": wr.sum("v"), "m": wr.mean("v"), "n": wr.count("v")}
    with settings_of(spark, {"spark.sql.ansi.enabled": ansi}):
        check(spark, query.agg(**results), edges(EDGES))
        check(spark, query.agg(**results, d=wr.var("v")), edges({**EDGES, "low": [7]}))
        check(spark, query.agg(m=wr.mean("v")), edges({"a": [2**62, 2**62], "b": [LOWEST, LOWEST, -1]}))


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("windows", WINDOWS, ids=lambda windows: repr(windows["w"]))
def test_a_sum_that_int64_cannot_hold_is_the_named_error(spark: Any, windows: Any, ansi: str) -> None:
    query = wr.query(time="ts", by="k").window(**windows).agg(s=wr.sum("v"))
    frame = spark.createDataFrame(edges({"fine": [1], "large": [2**62, 2**62]}))
    with settings_of(spark, {"spark.sql.ansi.enabled": ansi}), pytest.raises(PySparkException) as caught:
        query.run(frame).collect()
    for part in (
        "IntegerOverflow",
        "sum = 9223372036854775808",
        "large",
        "does not fit int64: cast the column",
    ):
        assert part in str(caught.value)


def test_rolling_sums_that_int64_cannot_hold_are_the_named_error(spark: Any) -> None:
    frame = spark.createDataFrame(edges({"large": [2**62, 2**62]}))
    for rolling in (wr.query(time="ts", by="k").rolling("1h"), wr.query(time="ts", by="k").rolling(rows=2)):
        with pytest.raises(
            Exception, match=r"IntegerOverflow: sum = 9223372036854775808 .*large.*does not fit int64"
        ):
            rolling.agg(s=wr.sum("v")).run(frame).collect()


def test_aggregates_of_one_s_own_over_no_values_give_null_or_what_they_state(spark: Any) -> None:
    table = edges({"a": [1, 5, None], "b": [None, None]})
    query = wr.query(time="ts", by="k")
    for options in ({}, {"empty": -1.0}, {"empty": -1.0, "compile": False, "result_type": "float64"}):
        mine = wr.monoid(
            name="average",
            lift=lambda v: (float(v), 1),
            combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
            lower=lambda a: a[0] / a[1],
            identity=(0.0, 0),
            commutative=True,
            **options,
        )
        for over in (
            *(query.window(**windows) for windows in WINDOWS),
            query.rolling("1m"),
            query.rolling(rows=1),
        ):
            made = over.agg(s=mine("v"))
            check(spark, made, table)
            assert options.get("empty") in made.run(table)["s"].to_pylist()


@pytest.mark.parametrize("kind", ["boolean", "int", "double"])
def test_shares_are_spark_s_own_averages_of_booleans(spark: Any, kind: str) -> None:
    table = edges({"a": [1, 0, 1, None], "b": [0], "none": [None, None]})
    rows = spark.createDataFrame(table).selectExpr("ts", "k", f"CAST(v AS {kind}) AS v")
    query = wr.query(time="ts", by="k").window(wr.Tumbling("1d")).agg(s=wr.share("v"))
    expected = rows.selectExpr("k", "CAST(v AS INT) AS v").groupBy("k").avg("v")
    found = query.run(rows)
    assert "no row goes to Python" in query.explain(rows)
    assert {(r.k, r.s) for r in found.collect()} == {tuple(r) for r in expected.collect()}
    start = wr.query(time="ts", by="k")
    for other in (start.rolling("2m"), *(start.window(**windows) for windows in WINDOWS[2:])):
        check(spark, other.agg(s=wr.share("v"), n=wr.count("v")), rows.toArrow())


def test_nan_is_true_in_a_share_on_spark(spark: Any) -> None:
    moments = pa.array([DAY, DAY + 1, DAY + 2, DAY + 3], pa.timestamp("us", "UTC"))
    table = pa.table({"ts": moments, "v": [float("nan"), 0.0, -0.0, 2.5]})
    query = wr.query(time="ts").window(wr.Tumbling("1d")).agg(s=wr.share("v"))
    check(spark, query, table)
    check(spark, query.agg(s=wr.share("v", nan="ignore")), table)
