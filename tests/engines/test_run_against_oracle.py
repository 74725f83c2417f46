"""query.run against the oracle: random queries on random disordered tables, and cases known to be hard."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.oracle_checks import MANY, check, table
from windrow.testing.strategies import CONCATENATION, queries, rolling_queries, streams, table_of, windows

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")

CLOCKS = ["integer", "timestamp"]
KINDS = ["Tumbling", "Sliding", "Cumulative", "Fixed", "Session", "Rows", "Delta", "Punctuation", "Threshold"]


# -- random queries ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_any_mix_of_windows(clock: Any, data: st.DataObject) -> None:
    query = data.draw(queries(clock))
    check(query, table_of(data.draw(streams(clock, null_times=True)), clock))


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_any_rolling(clock: Any, data: st.DataObject) -> None:
    query = data.draw(rolling_queries(clock))
    check(query, table_of(data.draw(streams(clock, null_times=True)), clock))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(10))
@given(data=st.data())
def test_each_kind_of_window_with_an_aggregate_that_keeps_order(
    clock: Any, kind: str, data: st.DataObject
) -> None:
    window = data.draw(windows(clock, kinds=(kind,)))
    query = wr.query(time="ts", by="key").window(window).agg(n=wr.count(), s=CONCATENATION("s"))
    check(query, table_of(data.draw(streams(clock)), clock))


# -- tables --------------------------------------------------------------------------------------------------

SHAPES = {
    "no row": [],
    "one row": [3],
    "equal times": [5, 5, 5, 5],
    "negative times": [-1, -10, -11, -20, 0],
    "falling times": [40, 30, 29, 11, 10],
    "a null time": [4, None, 12],
    "only null times": [None, None],
}
ANY_WINDOW = {
    "tumbling": wr.Tumbling(10),
    "sliding": wr.Sliding(10, slide=4),
    "every": wr.Sliding(5, slide=1),
    "cumulative": wr.Cumulative(20, step=5),
    "fixed": wr.Fixed(0, 15),
    "session": wr.Session(5),
    "limited": wr.Session(5, max_size=7),
    "rows": wr.Rows(2, slide=1),
}


@pytest.mark.parametrize("times", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("empty", ["skip", "emit"])
def test_tables_of_any_shape(times: list[int | None], empty: Any) -> None:
    query = wr.query(time="ts", empty=empty).window(**ANY_WINDOW)
    check(query.agg(n=wr.count(), total=wr.sum("n"), s=wr.concat("s")), table(pa.array(times, pa.int64())))


@pytest.mark.parametrize("times", SHAPES.values(), ids=SHAPES)
def test_rolling_over_tables_of_any_shape(times: list[int | None]) -> None:
    rows = table(pa.array(times, pa.int64()))
    for over in ({"size": 10}, {"rows": 2}):
        check(wr.query(time="ts").rolling(**over).agg(total=wr.sum("n"), all=wr.concat("s")), rows)


def test_an_empty_table_has_the_columns_of_a_full_one() -> None:
    query = wr.query(time="ts", by="key").window(w=wr.Tumbling(10)).agg(total=wr.sum("n"))
    full = table([1], key=["a"])
    assert query.run(full.slice(0, 0)).schema == query.run(full).schema


@pytest.mark.parametrize("times", [[7, None, 2], [3, 1, 2]], ids=["a null time", "disorder"])
def test_rolling_gives_rows_back_where_they_were(times: list[int | None]) -> None:
    rows = table(pa.array(times, pa.int64()))
    found = wr.query(time="ts").rolling(10).agg(total=wr.sum("n")).run(rows)
    assert found.select(rows.column_names).equals(rows)


# -- keys, order, counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["key", "number", ["key", "number"], ["number", "key"]], ids=str)
@pytest.mark.parametrize("empty", ["skip", "emit"])
def test_keys_of_one_and_several_columns_with_nulls(by: Any, empty: Any) -> None:
    rows = table(
        MANY,
        key=["a", None, "b", "a", None, "b", "a", "c"],
        number=pa.array([1, 1, None, 1, 2, None, 1, 2], pa.int64()),
    )
    query = wr.query(time="ts", by=by, empty=empty).window(a=wr.Sliding(10, slide=5), b=wr.Session(5))
    check(query.agg(n=wr.count(), s=wr.concat("s")), rows)
    check(wr.query(time="ts", by=by).rolling(10).agg(so_far=wr.concat("s")), rows)


@pytest.mark.parametrize("order", ["seq", ["seq", "also"]], ids=str)
def test_order_decides_among_equal_times(order: Any) -> None:
    rows = table([5, 5, 5, 1, 5], seq=[3, 1, 2, 9, 1], also=[0, 2, 0, 0, 1])
    aggregates = {"s": wr.concat("s"), "first": wr.first("s"), "last": wr.last("n")}
    check(wr.query(time="ts", order=order).window(wr.Tumbling(10)).agg(**aggregates), rows)
    check(wr.query(time="ts", order=order).window(wr.Rows(2)).agg(**aggregates), rows)
    check(
        wr.query(time="ts", order=order).rolling(rows=2).agg(**{f"r_{k}": v for k, v in aggregates.items()}),
        rows,
    )


@pytest.mark.parametrize("min_count", [0, 1, 2, 3])
def test_min_count_makes_results_of_few_values_null(min_count: int) -> None:
    rows = table(MANY, v=pa.array([1, None, 3, None, None, 6, 7, 8], pa.int64()))
    query = wr.query(time="ts", min_count=min_count, empty="include").window(wr.Tumbling(10))
    check(query.agg(total=wr.sum("v"), n=wr.count("v"), s=CONCATENATION("s")), rows)
    rolling = wr.query(time="ts", min_count=min_count).rolling(10)
    check(rolling.agg(total=wr.sum("v"), valued=wr.count("v")), rows)


def test_min_count_holds_for_rows_counted_without_a_column() -> None:
    check(wr.query(time="ts", min_count=2).window(wr.Tumbling(10)).agg(n=wr.count()), table(MANY))


@pytest.mark.parametrize(
    "aggregate",
    [
        wr.sum("x"),
        wr.sum("x", nan="ignore"),
        wr.sum("x", nulls="propagate"),
        wr.max("x"),
        wr.min("x", nan="ignore"),
        wr.mean("x"),
        wr.count("x"),
        wr.arg_max("x", value="s"),
        wr.collect("x"),
    ],
    ids=repr,
)
def test_nulls_nan_and_infinities_stay_in_their_windows(aggregate: Any) -> None:
    x = pa.array([1.5, None, float("nan"), 2.5, float("inf"), -0.0, float("-inf"), 4.0], from_pandas=False)
    rows = table([1, 2, 11, 21, 31, 32, 41, 51], x=x)
    check(wr.query(time="ts", empty="include").window(wr.Sliding(20, slide=10)).agg(r=aggregate), rows)
    check(wr.query(time="ts").rolling(rows=2).agg(r=aggregate), rows)


# -- windows that data decide --------------------------------------------------------------------------------


def test_punctuation_and_delta_by_key() -> None:
    rows = table(
        [1, 2, 3, 4, 5, 6],
        key=["a", "b", "a", "a", "b", "a"],
        done=pa.array([False, True, None, True, False, False]),
        km=pa.array([0.5, 0.5, 9.0, 11.0, 30.0, 31.0]),
    )
    both = {"p": wr.Punctuation("done"), "d": wr.Delta("km", size=10, slide=5)}
    check(wr.query(time="ts", by="key").window(**both).agg(s=wr.concat("s"), n=wr.sum("n")), rows)


def test_rows_without_a_value_are_in_no_delta_window() -> None:
    rows = table([1, 2, 3], km=pa.array([1.0, None, 12.0]))
    check(wr.query(time="ts").window(wr.Delta("km", size=10)).agg(s=wr.concat("s")), rows)


@pytest.mark.parametrize("least", [1, 6, 100])
def test_policies_keep_what_weighs_enough(least: int) -> None:
    def keeps_enough(total: Any, old: Any) -> bool:
        return total.weight - old.weight >= least

    rows = table([3, 1, 2, 2, 9], key=["a", "a", "b", "a", "a"], w=pa.array([4, 3, 5, 1, 9], pa.int64()))
    aggregates = {"weight": wr.sum("w"), "all": wr.concat("s"), "rows": wr.count()}
    query = wr.query(time="ts", by="key")
    check(query.window(wr.Policy(keeps_enough)).agg(**aggregates), rows)
    check(query.rolling(wr.Policy(keeps_enough)).agg(**aggregates), rows)


def test_a_policy_may_evict_every_row() -> None:
    rows = table([1, 2, 3])
    everything = wr.Policy(lambda total, old: True)
    aggregates = {"held": wr.count(), "total": wr.sum("n"), "all": wr.concat("s")}
    check(wr.query(time="ts").rolling(everything).agg(**aggregates), rows)
    check(wr.query(time="ts").window(everything).agg(**aggregates), rows)
