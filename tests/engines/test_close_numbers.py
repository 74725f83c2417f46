"""Moments of numbers that lie close together far from 0, on tables and operators, against exact ones."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.exact_moments import assert_exact, close_numbers
from windrow.monoids.base import Aggregate

AGGREGATES = {
    "var": wr.var("x"),
    "spread": wr.stddev("x", ddof=0),
    "skew": wr.skew("x"),
    "tails": wr.kurtosis("x", bias=True),
    "cov": wr.cov("x", "y"),
    "corr": wr.corr("x", "y"),
    "slope": wr.slope("y", "x"),
}
WINDOWS = [wr.Tumbling(10), wr.Sliding(12, slide=5), wr.Session(3)]


def rows_for(aggregate: Aggregate, table: pa.Table) -> list[Any]:
    columns = [table[name].to_pylist() for name in aggregate.columns]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def check_windows(found: pa.Table, table: pa.Table) -> None:
    """That each result is the exact one of the rows from its start to before its end."""
    times = table["t"].to_pylist()
    assert found.num_rows
    for result in found.to_pylist():
        start, end = result["window_start"], result["window_end"]
        inside = table.filter(pa.array([start <= time < end for time in times]))
        for name, aggregate in AGGREGATES.items():
            assert_exact(aggregate.monoid, rows_for(aggregate, inside), result[name])


@st.composite
def tables(draw: Any, most: int = 60) -> pa.Table:
    x, y = draw(close_numbers(most)), draw(close_numbers(most))
    count = min(len(x), len(y))
    steps = draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    times = [sum(steps[: k + 1]) for k in range(count)]
    return pa.table({"t": pa.array(times, pa.int64()), "x": x[:count], "y": y[:count]})


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@settings(max_examples=examples(40), deadline=None)
@given(tables())
def test_windows_of_tables_keep_all_digits(window: Any, table: pa.Table) -> None:
    check_windows(wr.events(table, time="t").window(window).agg(**AGGREGATES), table)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@settings(max_examples=examples(15), deadline=None)
@given(tables(), st.integers(1, 9))
def test_windows_of_operators_keep_all_digits(window: Any, stored: bool, table: pa.Table, size: int) -> None:
    query = wr.query(time="t", watermark=1_000).window(window).agg(**AGGREGATES)
    options: Any = {"store": wr.state.MemoryStore(), "name": "these"} if stored else {}
    operator = query.open(**options)
    pieces = [operator.push(table.slice(k, size)) for k in range(0, table.num_rows, size)]
    check_windows(pa.concat_tables([*pieces, operator.finish()]), table)


@settings(max_examples=examples(30), deadline=None)
@given(tables(), st.integers(1, 20))
def test_rolling_results_keep_all_digits(table: pa.Table, size: int) -> None:
    found = wr.events(table, time="t").rolling(rows=size).agg(**AGGREGATES).to_pylist()
    for k, result in enumerate(found):
        inside = table.slice(max(0, k + 1 - size), min(k + 1, size))
        for name, aggregate in AGGREGATES.items():
            assert_exact(aggregate.monoid, rows_for(aggregate, inside), result[name])


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(25, 3)], ids=str)
def test_operators_keep_the_digits_of_integers_and_decimals(kind: Any) -> None:
    values: list[Any] = [10**18 + k * k % 17 for k in range(40)]
    if pa.types.is_decimal(kind):
        values = [Decimal(each) / 1000 for each in values]
    y = [float(k * k % 13) for k in range(40)]
    table = pa.table({"t": pa.array(range(40), pa.int64()), "x": pa.array(values, kind), "y": y})
    query = wr.query(time="t", watermark=0).window(wr.Sliding(12, slide=5)).agg(**AGGREGATES)
    operator, pieces = query.open(), []
    for k in range(0, 40, 7):
        pieces.append(operator.push(table.slice(k, 7)))
        operator = query.restore(operator.snapshot())
    check_windows(pa.concat_tables([*pieces, operator.finish()]), table)


@pytest.mark.parametrize("name", AGGREGATES)
def test_nulls_infinities_and_too_few_rows_are_what_they_were(name: str) -> None:
    far, inf, nan = 1e15, float("inf"), float("nan")
    x = [far, None, far + 1, inf, far, far + 1, nan, far, far + 4, far, far, far, far, far, far + 1, far + 3]
    table = pa.table({"t": range(16), "x": pa.array(x, pa.float64()), "y": x[4:6] * 8})
    found = wr.events(table, time="t").window(wr.Tumbling(2)).agg(**AGGREGATES)[name].to_pylist()
    shown = ["nan" if each is not None and each != each else each for each in found]
    none = 0.0 if name == "spread" else None
    assert shown[0] == none, "one value"
    assert shown[1] == shown[3] == (None if name == "skew" else "nan")
    assert shown[5] == (0.0 if name in ("var", "spread", "cov") else None), "equal values"
    assert name == "skew" or shown[7] is not None
