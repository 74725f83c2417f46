"""``nan="ignore"`` skips a row in which one of the columns that an aggregate reads is NaN: the result is that
over the same rows with null in place of NaN, for every aggregate, on every engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.aggregates import CASES
from windrow.monoids.base import Monoid
from windrow.testing import assert_same_results, evaluate

NAN = math.nan
VALUES = [0.0, 1.0, 2.5, 3.0, NAN, NAN, None]
#: what takes no floats
NOT_OF_FLOATS = {"concat", "concatenation", "matrix"}

AGGREGATES: dict[str, Monoid] = {
    case.name: case.monoid for case in CASES if case.monoid.name not in NOT_OF_FLOATS
}
AGGREGATES |= {"count_distinct": wr.count_distinct, "approx_quantile": wr.approx_quantile}
STARTS: dict[str, Callable[[wr.Query], wr.Query]] = {
    "windows": lambda query: query.window(wr.Sliding(6, slide=2)),
    "sessions": lambda query: query.window(wr.Session(2)),
    "rows": lambda query: query.window(wr.Rows(3)),
    "rolling": lambda query: query.rolling(4),
    "rolling rows": lambda query: query.rolling(rows=3),
    "frames": lambda query: query.rolling(3, 6, closed="left"),
    "policy": lambda query: query.rolling(policy=lambda total, old: total.rows > 3),
}
PICKS = {
    "first": wr.first(nan="ignore")("x"),
    "last": wr.last(nan="ignore")("x"),
    "arg_max": wr.arg_max(nan="ignore")("n", "x"),
    "arg_min": wr.arg_min(nan="ignore")("n", "x"),
}


def of_floats(x: list[Any], y: list[Any], times: list[int]) -> pa.Table:
    columns = {
        "x": pa.array(x, pa.float64(), from_pandas=False),
        "y": pa.array(y, pa.float64(), from_pandas=False),
    }
    return pa.table(
        {"t": pa.array(times, pa.int64()), "n": pa.array(range(len(times)), pa.int64()), **columns}
    )


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    size = draw(st.integers(1, 9))

    def several(each: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(each, min_size=size, max_size=size))

    return of_floats(
        several(st.sampled_from(VALUES)), several(st.sampled_from(VALUES)), several(st.integers(0, 15))
    )


def with_null_for_nan(table: pa.Table) -> pa.Table:
    rows = [
        {name: None if value != value else value for name, value in row.items()} for row in table.to_pylist()
    ]
    return pa.Table.from_pylist(rows, table.schema)


def results_of_engines(query: wr.Query, table: pa.Table) -> Iterator[pa.Table]:
    """The results on tables, of operators in memory and in a store, and of windows in a store."""
    yield query.run(table)
    over = query.rolling_over
    for options in ({}, {"store": wr.state.MemoryStore(), "name": "these"}):
        operator = query.open(**options)
        pieces = [operator.push(table.slice(k, 3)) for k in range(0, table.num_rows, 3)]
        yield pa.concat_tables([*pieces, operator.finish()], promote_options="permissive")
    if over is not None and over.frames is None:
        options = {
            "rows": over.rows,
            "policy": over.policy,
            "size": None if over.size is None else over.size.units,
        }
        stored = wr.query(time="t").rolling(**options, store=wr.state.MemoryStore())
        yield stored.agg(**dict(query.aggregates)).run(table)


def compare(query: wr.Query, plain: wr.Query, table: pa.Table) -> None:
    """The results of a query, on every engine, with what brute force gives for another without NaN."""
    expected = [without_inputs(row) for row in evaluate(plain, with_null_for_nan(table))]
    for found in results_of_engines(query, table):
        assert_same_results([without_inputs(row) for row in found.to_pylist()], expected)


def without_inputs(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("x", "y")}


@pytest.mark.parametrize("name", AGGREGATES)
@given(start=st.sampled_from(list(STARTS)), table=tables())
def test_ignored_nan_is_like_null(name: str, start: str, table: pa.Table) -> None:
    monoid = AGGREGATES[name]
    columns = "xy"[: monoid.arity[0]]
    query, plain = (
        STARTS[start](wr.query(time="t", watermark=100)).agg(found=rule(*columns), rows=wr.count())
        for rule in (monoid(nan="ignore"), monoid)
    )
    compare(query, plain, table)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", PICKS)
def test_a_picked_nan_is_ignored(name: str, start: str) -> None:
    table = of_floats([NAN, 1.0, NAN, 2.0, NAN, NAN], [0.0] * 6, [1, 2, 3, 4, 5, 15])
    query = STARTS[start](wr.query(time="t", watermark=100))
    plain = {"first": wr.first("x"), "last": wr.last("x"), "arg_max": wr.arg_max("n", value="x")}
    plain |= {"arg_min": wr.arg_min("n", value="x")}
    compare(
        query.agg(found=PICKS[name], rows=wr.count()), query.agg(found=plain[name], rows=wr.count()), table
    )


@pytest.mark.parametrize("name", PICKS)
def test_a_picked_nan_is_ignored_as_of_a_label(name: str) -> None:
    table = of_floats([NAN, 1.0, NAN, 2.0, NAN, NAN], [0.0] * 6, [1, 2, 3, 4, 5, 15])
    labels = pa.table({"t": [2, 3, 5, 6, 30]})
    query = wr.query(time="t").asof(3, "all").agg(found=PICKS[name])
    expected = evaluate(query, with_null_for_nan(table), at=labels)
    assert_same_results(query.run(table, at=labels), expected)
    operator = query.open()
    operator.push(table)
    assert_same_results(operator.at(labels), expected)


def test_a_picked_nan_is_ignored_in_a_bare_window() -> None:
    assert wr.swag.DABA(wr.last(nan="ignore")).roll([1.0, NAN, 2.0], size=2) == [1.0, 1.0, 2.0]
    assert wr.swag.DABA(wr.arg_max(nan="ignore")).roll([(1, 5.0), (2, NAN)], size=2) == [5.0, 5.0]
