"""Columns that an aggregate does not take, and functions of users' own that are wrong, are named."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import AggregateError
from windrow.testing import assert_same_results, evaluate

ROWS = pa.table(
    {
        "t": [1, 2, 3],
        "who": ["ann", None, "bob"],
        "pair": [{"a": 3}, {"a": 1}, {"a": 2}],
        "day": [dt.date(2024, 1, k) for k in (1, 2, 3)],
        "owed": pa.array([Decimal("1.50")] * 3, pa.decimal128(8, 2)),
        "v": [1.0, 2.0, 3.0],
    }
)
TEXT = "column 'who' of type string: cast it to a number, such as float64, or take an aggregate of text"
NESTED = r"column 'pair' of type struct<a: int64>: take one of its fields or elements"
REFUSED = [
    *(
        (monoid("who"), TEXT)
        for monoid in (wr.mean, wr.sum, wr.product, wr.range, wr.var, wr.stddev, wr.skew)
    ),
    *((monoid("who"), TEXT) for monoid in (wr.geo_mean, wr.increase, wr.histogram(edges=[0, 1]))),
    (wr.cov("v", "who"), TEXT),
    (wr.weighted_mean("who", "v"), TEXT),
    (wr.exp_decay("who", "v", half_life=3), TEXT),
    (wr.mean("who", where=None, min_count=2), TEXT),
    (wr.mean("pair"), NESTED),
    (wr.top_k("pair", 2), NESTED),
    (wr.bottom_k("pair", 2), NESTED),
    (wr.max("pair"), NESTED),
    (wr.mean("day"), r"column 'day' of type date32\[day\]: cast it to a number, such as int64"),
    (wr.median("owed"), r"column 'owed' of type decimal128\(8, 2\): quantiles are floats"),
    (wr.concat("v"), r"column 'v' of type double: concat joins text or bytes.*Cast the column to text"),
]
STARTS: list[Callable[[wr.Query], wr.Query]] = [
    lambda query: query.window(wr.Tumbling(10)),
    lambda query: query.window(wr.Session(10)),
    lambda query: query.rolling(rows=2),
    lambda query: query.rolling(2),
]


@pytest.mark.parametrize(("aggregate", "message"), REFUSED, ids=repr)
def test_an_aggregate_names_a_column_that_it_does_not_take(aggregate: Any, message: str) -> None:
    for start in STARTS:
        query = start(wr.query(time="t")).agg(r=aggregate)
        for run in (query.run, query.open().push, query.open(store=wr.state.MemoryStore(), name="q").push):
            with pytest.raises(TypeError, match=f"does not work on {message}"):
                run(ROWS)
    with pytest.raises(TypeError, match=f"does not work on {message}"):
        wr.query(time="t").asof(5).agg(r=aggregate).run(ROWS, at=pa.table({"t": [9]}))


def test_first_and_last_k_take_structs() -> None:
    query = wr.query(time="t").window(wr.Tumbling(10))
    query = query.agg(first=wr.first_k("pair", 2), last=wr.last_k("pair", 2), all=wr.collect("pair"))
    assert_same_results(query.run(ROWS), evaluate(query, ROWS))


def own(**functions: Any) -> Any:
    return wr.monoid(**({"name": "joined", "lift": lambda v: [v], "identity": []} | functions))


WRONG = {
    "python": own(combine=lambda a, b: a.extend(b), compile=False),
    "native": own(lift=lambda v: v, combine=lambda a, b: None, identity=0.0),
}


def queried(window: Any) -> None:
    for value in (1.0, 2.0, 3.0):
        window.insert(value)
        window.query()


@pytest.mark.filterwarnings("ignore::windrow.compile.native.CompileWarning")
@pytest.mark.parametrize("kind", WRONG)
def test_a_combine_that_returns_nothing_is_named(kind: str) -> None:
    message = (
        "combine of 'joined' returned None for .*: return the partial of both, and change neither of them"
    )
    for start in STARTS:
        query = start(wr.query(time="t")).agg(r=WRONG[kind]("v"))
        with pytest.raises(AggregateError, match=f"aggregate 'joined' raised TypeError at .*{message}"):
            query.run(ROWS)
        operator = query.open()
        with pytest.raises(AggregateError, match=message):
            pa.concat_tables([operator.push(ROWS), operator.finish()])
    for algorithm in (wr.swag.TwoStacks, wr.swag.TwoStacksLite, wr.swag.DABA, wr.swag.FlatFAT, wr.swag.FiBA):
        with pytest.raises(TypeError, match=message):
            queried(algorithm(WRONG[kind]))
        with pytest.raises(AggregateError, match=message):
            algorithm(WRONG[kind]).roll([1.0, 2.0, 3.0], size=2)


def test_none_may_be_a_partial() -> None:
    latest = wr.monoid(
        lift=lambda v: v, combine=lambda a, b: a if b is None else b, identity=None, compile=False
    )
    assert wr.swag.TwoStacks(latest).roll(["a", "b"], size=2) == ["a", "b"]


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (
            {"combine": lambda a: a},
            r"combine of 'joined' takes \(a\): it must take two partials, the older first",
        ),
        ({"combine": lambda a, b, c: a}, r"combine of 'joined' takes \(a, b, c\): it must take two partials"),
        ({"combine": max, "lower": lambda: 1}, r"lower of 'joined' takes \(\): it must take one partial"),
    ],
)
def test_a_function_of_the_wrong_arity_is_named(functions: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        own(**functions)


def test_half_life_is_a_duration_over_timestamps() -> None:
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    moments = [start + dt.timedelta(days=10 * k) for k in range(4)]
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("s"), pa.timestamp("ns"), pa.date32()):
        times = pa.array([m.replace(tzinfo=None) for m in moments]).cast(kind)
        rows = pa.table({"ts": times, "v": [8.0, 1.0, 0.0, 2.0]})
        for half_life in ("10d", "240h", dt.timedelta(days=10)):
            query = wr.query(time="ts").rolling(rows=2).agg(r=wr.exp_decay("v", "ts", half_life=half_life))
            assert query.run(rows)["r"].to_pylist() == [8.0, 5.0, 0.5, 2.0]
            operator = query.open()
            assert pa.concat_tables([operator.push(rows), operator.finish()])["r"].to_pylist() == [
                8.0,
                5.0,
                0.5,
                2.0,
            ]
    window = wr.swag.DABA(wr.exp_decay(half_life="10d"))
    for value, moment in zip((8.0, 1.0), moments, strict=False):
        window.insert(value, moment)
    assert window.query() == 5.0
    assert (
        repr(wr.exp_decay("v", "ts", half_life="10d")) == "exp_decay('v', 'ts', half_life='10d', mean=False)"
    )


def test_a_half_life_that_does_not_go_with_the_times_is_named() -> None:
    rows = pa.table({"ts": [dt.datetime(2024, 1, 1)], "v": [1.0]})
    with pytest.raises(TypeError, match=r"half_life= is a number: give a duration, as in half_life='10d'"):
        wr.events(rows, time="ts").rolling(rows=2).agg(r=wr.exp_decay("v", "ts", half_life=10))
    for wrong in ("0d", -1, "1mo", "soon"):
        with pytest.raises(ValueError, match="half_life"):
            wr.exp_decay("v", "ts", half_life=wrong)


def test_exp_decay_takes_decimals() -> None:
    query = wr.query(time="t").rolling(rows=2).agg(r=wr.exp_decay("owed", "t", half_life=1))
    assert query.run(ROWS)["r"].to_pylist() == [1.5, 2.25, 2.25]
