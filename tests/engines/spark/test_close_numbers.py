"""Moments of numbers that lie close together far from 0, in Spark batches, against exact ones."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from engines.test_close_numbers import AGGREGATES, check_windows, rows_for
from support.exact_moments import OFFSETS, assert_exact, definition

COUNT = 120


def rows(offset: float) -> pa.Table:
    """Numbers near an offset, steps of an eighth apart, and as many rows at each time."""
    x = [offset + 0.125 * (k * k % 29) for k in range(COUNT)]
    y = [-offset + 0.125 * (k * 7 % 31) for k in range(COUNT)]
    return pa.table({"t": pa.array([k // 3 for k in range(COUNT)], pa.int64()), "x": x, "y": y})


@pytest.mark.parametrize("window", [wr.Tumbling(10), wr.Sliding(12, slide=5), wr.Session(3)], ids=repr)
def test_windows_on_spark_lost_digits_to_an_offset(spark: Any, window: Any) -> None:
    query = wr.query(time="t").window(window).agg(**AGGREGATES)
    for offset in OFFSETS:
        table = rows(offset)
        check_windows(query.run(spark.createDataFrame(table).repartition(3)).toArrow(), table)


def test_rolling_results_on_spark_lost_digits_to_an_offset(spark: Any) -> None:
    table = rows(1e15).append_column("n", pa.array(range(COUNT), pa.int64()))
    query = wr.query(time="t", order="n").rolling(rows=7).agg(**AGGREGATES)
    found = query.run(spark.createDataFrame(table)).toArrow().sort_by("n").to_pylist()
    for k, result in enumerate(found):
        inside = table.slice(max(0, k - 6), min(k + 1, 7))
        for name, aggregate in AGGREGATES.items():
            assert_exact(aggregate.monoid, rows_for(aggregate, inside), result[name])


def test_spark_folded_variances_by_its_own_that_lose_digits(spark: Any) -> None:
    """What Spark's own function makes of the same rows shows why its partials are not used."""
    table = rows(1e15)
    frame = spark.createDataFrame(table)
    query = wr.query(time="t").window(wr.Tumbling(10))
    assert "Spark groups rows by key and slice itself" in query.agg(m=wr.mean("x")).explain(frame)
    both = query.agg(m=wr.mean("x"), v=wr.var("x"))
    assert "Spark groups rows by key and slice itself" not in both.explain(frame)
    found = both.run(frame).toArrow().sort_by("window_start")["v"][0].as_py()
    own = frame.where("t < 10").selectExpr("var_samp(x)").first()[0]
    exact, _ = definition(wr.var, table["x"].to_pylist()[:30])
    assert found == pytest.approx(exact, rel=1e-14)
    assert own != pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(25, 3)], ids=str)
def test_integers_and_decimals_on_spark_were_rounded_to_floats(spark: Any, kind: Any) -> None:
    values: list[Any] = [10**18 + k * k % 17 for k in range(COUNT)]
    if pa.types.is_decimal(kind):
        values = [Decimal(each) / 1000 for each in values]
    table = rows(1e14).set_column(1, "x", pa.array(values, kind))
    query = wr.query(time="t").window(wr.Sliding(12, slide=5)).agg(**AGGREGATES)
    check_windows(query.run(spark.createDataFrame(table)).toArrow(), table)
