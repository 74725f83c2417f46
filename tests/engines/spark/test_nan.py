"""NaN side by side: missing where pandas says so, a number in Arrow, Polars, DuckDB and Spark."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.spark_frames import settings_of

NAN = math.nan
#: the same four rows in every table: a value, NaN, no value, a value
TIMES, VALUES = [1, 2, 3, 4], [1.0, NAN, None, 2.0]

#: what comes out by the rule for NaN: where it is a number, and where it is missing
AS_NUMBER = {
    "propagate": {"top": NAN, "total": NAN, "avg": NAN, "n": 3},
    "ignore": {"top": 2.0, "total": 3.0, "avg": 1.5, "n": 2},
}
AS_MISSING = dict.fromkeys(AS_NUMBER, AS_NUMBER["ignore"])


def aggregates(rule: str) -> dict[str, Any]:
    made = {"top": wr.max, "total": wr.sum, "avg": wr.mean, "n": wr.count}
    return {name: monoid("v", nan=rule) for name, monoid in made.items()}


def windowed(rows: Any, rule: str) -> Any:
    return wr.events(rows, time="t").window(wr.Tumbling(10)).agg(**aggregates(rule))


def rolled(rows: Any, rule: str) -> Any:
    return wr.events(rows, time="t").rolling(rows=4).agg(**aggregates(rule))


def in_pandas(values: Any) -> Any:
    return pd.DataFrame({"t": TIMES, "v": values})


def arrow() -> pa.Table:
    return pa.table({"t": TIMES, "v": pa.array(VALUES, pa.float64())})


PANDAS = {
    "pandas, NumPy's floats": (lambda: in_pandas([1.0, NAN, NAN, 2.0]), AS_MISSING),
    "pandas, float32": (lambda: in_pandas(pd.Series([1.0, NAN, NAN, 2.0], dtype="float32")), AS_MISSING),
    "pandas, objects": (lambda: in_pandas(pd.Series(VALUES, dtype=object)), AS_MISSING),
    "pandas, Float64": (lambda: in_pandas(pd.array([1.0, pd.NA, pd.NA, 2.0], dtype="Float64")), AS_MISSING),
    "pandas, Arrow's NA": (
        lambda: in_pandas(pd.array([1.0, pd.NA, pd.NA, 2.0], dtype="float64[pyarrow]")),
        AS_MISSING,
    ),
    "pandas, Arrow's NaN": (
        lambda: in_pandas(pd.arrays.ArrowExtensionArray(pa.array(VALUES, pa.float64()))),
        AS_NUMBER,
    ),
}
OTHERS = {
    "Arrow": (arrow, AS_NUMBER),
    "Polars": (lambda: pl.DataFrame({"t": TIMES, "v": VALUES}), AS_NUMBER),
    "DuckDB": (lambda: duckdb.from_arrow(arrow()), AS_NUMBER),
}


def last(results: Any) -> dict[str, Any]:
    """The last result, whatever the table."""
    if isinstance(results, pd.DataFrame):
        return results[list(aggregates("ignore"))].iloc[-1].to_dict()
    table = results.to_arrow_table() if hasattr(results, "to_arrow_table") else results
    table = table.to_arrow() if hasattr(table, "to_arrow") else table
    return {name: table[name].to_pylist()[-1] for name in aggregates("ignore")}


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("rule", ["propagate", "ignore"])
@pytest.mark.parametrize("run", [windowed, rolled])
@pytest.mark.parametrize("kind", [*PANDAS, *OTHERS])
def test_nan_is_missing_in_pandas_and_a_number_elsewhere(kind: str, run: Any, rule: str) -> None:
    make, expected = (PANDAS | OTHERS)[kind]
    same(last(run(make(), rule)), expected[rule])


@pytest.mark.parametrize("kind", PANDAS)
def test_what_pandas_calls_missing_is_what_is_skipped(kind: str) -> None:
    frame = PANDAS[kind][0]()
    assert last(windowed(frame, "propagate"))["n"] == 4 - frame["v"].isna().sum()
    assert last(windowed(frame, "propagate"))["total"] == pytest.approx(frame["v"].sum(), nan_ok=True)


def test_nan_of_pandas_comes_through_as_an_array() -> None:
    frame = in_pandas([1.0, NAN, 5.0, 2.0])
    numbers = pa.table({name: frame[name].to_numpy() for name in frame})
    same(last(windowed(numbers, "propagate")), AS_NUMBER["propagate"] | {"n": 4})
    kept = pl.from_pandas(frame, nan_to_null=False)
    same(last(windowed(kept, "propagate")), AS_NUMBER["propagate"] | {"n": 4})


@pytest.mark.parametrize("rule", ["propagate", "ignore"])
@pytest.mark.parametrize("run", [windowed, rolled])
def test_nan_is_a_number_on_spark(spark: Any, run: Any, rule: str) -> None:
    same(last(run(spark.createDataFrame(arrow()), rule).toArrow()), AS_NUMBER[rule])


@pytest.mark.parametrize(
    ("arrow_on", "expected"),
    [
        ("true", AS_MISSING),
        pytest.param("false", AS_NUMBER, marks=pytest.mark.classic("DataFrames are always made by Arrow")),
    ],
)
def test_nan_of_pandas_on_spark_is_what_spark_makes_of_it(spark: Any, arrow_on: str, expected: Any) -> None:
    with settings_of(spark, {"spark.sql.execution.arrow.pyspark.enabled": arrow_on}):
        frame = spark.createDataFrame(pd.DataFrame({"t": [1, 2, 4], "v": [1.0, NAN, 2.0]}))
    for rule in ("propagate", "ignore"):
        same(last(windowed(frame, rule).toArrow()), expected[rule])
