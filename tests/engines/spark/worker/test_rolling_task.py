"""Rolling over a partition, without Spark, against the local engine on the whole table: in memory, in parts
on disk, and key by key in order of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from engines.spark.more_aggregates import with_more
from engines.spark.partitions import BUDGETS, batches, shuffled_table
from support.budget import examples
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker.local_task import CONTEXT, roll_batches
from windrow.swag import AggregateError
from windrow.testing import assert_same_results
from windrow.testing.strategies import rolling_frame_queries, rolling_queries, streams, table_of

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")


def rolled(query: wr.Query, table: pa.Table, sizes: list[int], budget: int = 1 << 30) -> pa.Table:
    """As a task does it."""
    kinds = [result_type(aggregate, table.schema) for _, aggregate in query.result_columns]
    rows = batches(shuffled_table(query, table), sizes)
    found = list(roll_batches(packed(query), kinds, rows, budget))
    results = zip(query.result_names, kinds, strict=True)
    own = [field for field in table.schema if field.name != CONTEXT]
    schema = pa.schema([*own, *(pa.field(name, kind) for name, kind in results)])
    return pa.Table.from_batches(found, schema)


def check(query: wr.Query, table: pa.Table, sizes: list[int], *budgets: int) -> None:
    for budget in budgets or (1 << 30, 600, 1):
        assert_same_results(rolled(query, table, sizes, budget), query.run(table))


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(40))
@given(data=st.data())
def test_any_rolling_in_batches_of_any_size(clock: Any, data: st.DataObject) -> None:
    kinds = with_more(rolling_queries(clock)) if data.draw(st.booleans()) else rolling_frame_queries(clock)
    query = data.draw(kinds)
    table = table_of(data.draw(streams(clock, null_times=True)), clock)
    sizes = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    check(query, table, sizes, data.draw(BUDGETS))


def random_table(count: int, keys: int, span: int) -> pa.Table:
    rng = np.random.default_rng(count)
    return pa.table(
        {
            "ts": rng.integers(0, span, count),
            "key": rng.integers(0, keys, count),
            "x": pa.array(rng.normal(size=count), mask=rng.random(count) < 0.1),
            "s": rng.choice(["p", "q", "r"], count),
        }
    )


@pytest.mark.parametrize("over", [{"size": 300}, {"rows": 500}], ids=str)
@pytest.mark.parametrize("sizes", [[97], [1, 1_000]], ids=str)
def test_windows_longer_than_batches(over: Any, sizes: list[int]) -> None:
    query = wr.query(time="ts", by="key").rolling(**over)
    aggregates = {
        "m": wr.max("x"),
        "total": wr.sum("x"),
        "who": wr.arg_max("x", value="s"),
        "l": wr.last("s"),
    }
    check(
        query.agg(**aggregates, n=wr.count(), known=wr.count("x"), part=wr.share("x")),
        random_table(3_000, 2, 2_000),
        sizes,
    )


def test_peers_that_span_many_batches() -> None:
    table = pa.table({"ts": [1] * 50 + [2] * 50 + [9], "v": list(range(101))})
    query = wr.query(time="ts").rolling(5).agg(total=wr.sum("v"), all=wr.collect("v"))
    check(query, table, [7])


def test_context_rows_are_seen_and_not_given_back() -> None:
    query = wr.query(time="t").rolling(2, closed="both").agg(total=wr.sum("v"))
    rows = pa.table({"t": [1, 2, 3, 4], "v": [1, 2, 4, 8], CONTEXT: [True, False, False, True]})
    for budget in (1 << 30, 1):
        found = rolled(query, rows, [3], budget).sort_by("t")
        assert found.to_pylist() == [{"t": 2, "v": 2, "total": 3}, {"t": 3, "v": 4, "total": 7}]


def test_integers_beyond_64_bits_go_on_in_python() -> None:
    table = pa.table({"ts": list(range(8)), "v": [1, 2, 2**62, 2**62, 2**62, 3, 4, 5]})
    query = wr.query(time="ts").rolling(rows=3).agg(mean=wr.mean("v"))
    check(query, table, [2])


@pytest.mark.parametrize("compile_", [True, False])
def test_an_aggregate_that_raises_names_itself_the_row_and_the_key(compile_: bool) -> None:
    inverse = wr.monoid(
        name="inverse", lift=lambda v: 1.0 / v, combine=lambda a, b: a + b, identity=0.0, compile=compile_
    )
    table = pa.table({"ts": [1, 2, 11, 12], "key": ["a", "a", "b", "b"], "v": [4.0, 2.0, 8.0, 0.0]})
    query = wr.query(time="ts", by="key").rolling(5).agg(x=inverse("v"))
    message = r"'inverse' raised ZeroDivisionError at the row with ts=12 of key '?b'? \(value 0\.0\)"
    with pytest.raises(AggregateError, match=message):
        rolled(query, table, [2])


def test_a_policy_that_sees_nothing_but_nulls_counts_zero() -> None:
    table = pa.table({"ts": [1, 2], "v": pa.array([None, None], pa.int64())})
    query = wr.query(time="ts").rolling(wr.Policy(lambda total, old: False)).agg(n=wr.count("v"))
    check(query, table, [1])
    assert query.run(table)["n"].to_pylist() == [0, 0]


@pytest.mark.parametrize("over", [{"size": 5}, {"policy": wr.Policy(lambda total, old: False)}], ids=str)
def test_tuples_are_structs_whether_python_or_native_code_made_them(over: Any) -> None:
    pair = wr.monoid(
        name="pair",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        identity=(100, -100),
    )
    table = pa.table({"ts": [1, 2, 3], "v": [5, None, 4]})
    found = rolled(wr.query(time="ts").rolling(**over).agg(p=pair("v")), table, [2]).sort_by("ts")["p"]
    assert found.type == pa.struct({"f0": pa.int64(), "f1": pa.int64()})
    assert [tuple(each.values()) for each in found.to_pylist()] == [(5, 5), (5, 5), (4, 5)]


def test_a_policy_whose_windows_are_empty_in_part_gives_null_or_infinity_for_these() -> None:
    table = pa.table({"ts": [1, 2], "v": pa.array([None, 7], pa.int64())})
    for empty in (None, float("-inf")):
        spread = wr.monoid(
            name="spread",
            lift=lambda v: (v, v),
            combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
            lower=lambda a: a[1] - a[0],
            identity=(float("inf"), float("-inf")),
            empty=empty,
        )
        query = wr.query(time="ts").rolling(wr.Policy(lambda total, old: False)).agg(s=spread("v"))
        check(query, table, [1])
        assert query.run(table)["s"].to_pylist() == [empty, 0.0]
