"""What a newcomer gives to ``.agg(...)``: aggregates without names, and what other libraries take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

CALLS = pa.table({"t": [1, 2, 11], "len": [5, 9, 4], "caller": ["ann", "bob", "cy"]})
SPREAD = wr.monoid(
    name="spread",
    lift=lambda x: (x, x),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda a: a[1] - a[0],
    identity=(10**9, -(10**9)),
)


def query() -> wr.Query:
    return wr.query(time="t").window(wr.Tumbling(10))


def test_aggregates_without_a_keyword_are_named_after_columns_and_aggregate() -> None:
    asked = [
        wr.mean("len"),
        wr.count(),
        wr.count("caller"),
        wr.arg_max("len", value="caller"),
        wr.quantile("len", 0.95),
        SPREAD("len"),
    ]
    found = query().agg(*asked, top=wr.max("len"))
    assert [name for name, _ in found.aggregates] == [
        "len_mean",
        "count",
        "caller_count",
        "len_caller_arg_max",
        "len_quantile",
        "len_spread",
        "top",
    ]
    assert found.run(CALLS).select(["len_mean", "count", "len_caller_arg_max", "len_spread"]).to_pylist() == [
        {"len_mean": 7.0, "count": 2, "len_caller_arg_max": "bob", "len_spread": 4},
        {"len_mean": 4.0, "count": 1, "len_caller_arg_max": "cy", "len_spread": 0},
    ]


def test_aggregates_without_a_keyword_run_at_once_on_events_and_roll() -> None:
    rolled = wr.events(CALLS, time="t").rolling(rows=2).agg(wr.sum("len"))
    assert rolled["len_sum"].to_pylist() == [5, 14, 13]
    operator = query().agg(wr.sum("len")).open()
    assert operator.push(CALLS).num_rows == 0
    assert operator.finish()["len_sum"].to_pylist() == [14, 4]


@pytest.mark.parametrize(
    "build",
    [
        lambda: query().agg(wr.quantile("len", 0.5), wr.quantile("len", 0.95)),
        lambda: query().agg(wr.quantile("len", 0.5), len_quantile=wr.quantile("len", 0.95)),
    ],
)
def test_two_aggregates_of_one_name_are_to_be_named_by_keyword(build: Any) -> None:
    with pytest.raises(ValueError, match=r"would both be named 'len_quantile': name them by keyword, as in"):
        build()


@pytest.mark.parametrize(
    ("build", "remedy"),
    [
        (lambda: query().agg({"len": "mean"}), "write .agg(len_mean=wr.mean('len'))"),
        (
            lambda: query().agg({"len": ["avg", "std"]}),
            "write .agg(len_mean=wr.mean('len'), len_stddev=wr.stddev('len'))",
        ),
        (lambda: query().agg({"len": "p95"}), "write .agg(len_quantile=wr.quantile('len', 0.95))"),
        (lambda: query().agg({"len": "zzz"}), "write for instance .agg(len_mean=wr.mean('len'))"),
        (lambda: query().agg(n=("len", "zzz")), "write for instance n=wr.mean('len')"),
        (lambda: query().agg({"len": np.mean}), "write .agg(len_mean=wr.mean('len'))"),
        (lambda: query().agg(n=("len", "mean")), "write n=wr.mean('len')"),
        (lambda: query().agg(n=("len", "nunique")), "write n=wr.count_distinct('len')"),
        (lambda: query().agg(("len", "max")), "write len=wr.max('len')"),
        (lambda: query().agg(n="mean"), "write for instance n=wr.mean('column')"),
        (lambda: query().agg("avg"), "write for instance result=wr.mean('column')"),
        (lambda: query().agg(n="len"), "write for instance n=wr."),
        (lambda: query().agg(n=max), "write for instance n=wr.max('column')"),
        (lambda: query().agg(n=lambda x: x), "or make one with wr.monoid(...)"),
        (lambda: query().agg(pl.col("len").mean()), "<polars Expr> is not an aggregate: write for instance"),
        (lambda: query().agg(n=pl.col("len").mean()), "n=<polars Expr> is not an aggregate"),
        (lambda: query().agg(n=3), "n=3 is not an aggregate: write for instance n=wr.mean('column')"),
        (lambda: query().agg(n=None), "n=None is not an aggregate"),
        (lambda: query().agg(n=wr.sum), "n=sum has no column: write n=wr.sum('column')"),
        (lambda: query().agg(n=wr.count), "n=count has no column: write n=wr.count()"),
        (lambda: query().agg(wr.count), "count has no column: write wr.count()"),
        (lambda: query().agg(n=SPREAD), "n=spread has no column: write n=spread('column')"),
        (lambda: query().agg(), "needs at least one aggregate, as in .agg(total=wr.sum('len'))"),
        (lambda: wr.sum(pl.col("len")), "sum takes the name of a column and not a polars Expr"),
        (lambda: wr.sum(pd.Series([1])), "sum takes the name of a column and not a pandas Series"),
        (lambda: wr.quantile(np.array([1.0]), 0.5), "quantile takes the name of a column and not a numpy"),
        (lambda: wr.sum(["len", "other"]), "sum takes the name of a column and not a list"),
        (lambda: wr.sum(), "sum reads 1 column and got none: write for instance wr.sum('column')"),
        (
            lambda: wr.arg_max("len"),
            "arg_max reads 2 columns and got 'len': write for instance wr.arg_max('column', value='value')",
        ),
        (lambda: wr.stddev("len", ddoff=0), "stddev has no parameter 'ddoff': did you mean 'ddof'?"),
        (
            lambda: wr.sum("len", skipna=True),
            "sum has no parameter 'skipna'. It takes where, min_count, nulls, nan",
        ),
    ],
)
def test_what_is_not_an_aggregate_is_shown_as_windrow_spells_it(build: Any, remedy: str) -> None:
    with pytest.raises(TypeError) as caught:
        build()
    assert remedy in str(caught.value)


@pytest.mark.parametrize("name", ["window", "window_start", "window_end", "caller"])
def test_a_result_column_that_is_there_already_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"duplicate result column '{name}': choose another name"):
        wr.query(time="t", by="caller").window(ten=wr.Tumbling(10)).agg(**{name: wr.count()})
