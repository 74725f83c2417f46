"""Integers at the edges of 64 bits: results of sums are int64 on every engine, exact whatever the sums on the
way are, and one that does not fit is an error that names aggregate, rows and key."""

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.worker.test_window_tasks import by_rows, by_slices
from support.packed_stream import PackedStream
from windrow.state import MemoryStore
from windrow.testing import assert_same_results, evaluate

LOWEST, HIGHEST = -(2**63), 2**63 - 1
WINDOWS: dict[str, Any] = {
    "tumbling": lambda q: q.window(wr.Tumbling(10)),
    "sliding": lambda q: q.window(wr.Sliding(10, slide=5)),
    "session": lambda q: q.window(wr.Session(5)),
    "count": lambda q: q.window(wr.Rows(3)),
    "policy": lambda q: q.window(wr.Policy(lambda total, old: total.n - old.n >= 3)),
    "rolling": lambda q: q.rolling(10),
    "rolling rows": lambda q: q.rolling(rows=3),
}


def numbers(*values: int, kind: Any = None) -> pa.Table:
    return pa.table({"t": range(1, len(values) + 1), "k": ["a"] * len(values), "v": pa.array(values, kind)})


def query_over(window: str, aggregate: Any) -> Any:
    return WINDOWS[window](wr.query(time="t", by="k")).agg(s=aggregate, n=wr.count())


def streamed(operator: Any, table: pa.Table) -> pa.Table:
    return pa.concat_tables([operator.push(table), operator.finish()], promote_options="default")


def on_all(query: Any, table: pa.Table) -> Any:
    yield lambda: query.run(table)
    yield lambda: streamed(query.open(), table)
    yield lambda: streamed(query.open(store=MemoryStore(), name="q"), table)
    if query.windows and isinstance(query.windows[0][1], wr.Session | wr.Tumbling | wr.Sliding):
        yield lambda: by_slices(query, table, [2], 2)
    elif query.windows:
        yield lambda: by_rows(query, table, [2])


@pytest.mark.parametrize("window", WINDOWS)
def test_sums_and_means_at_the_edges_are_exact(window: str) -> None:
    for values in ([LOWEST], [LOWEST, HIGHEST], [HIGHEST, 1, -1], [2**62, 2**62, -(2**62)], [LOWEST, -1, 5]):
        table = numbers(*values)
        for aggregate in (wr.mean("v"), wr.sum("v")):
            query = query_over(window, aggregate)
            expected = evaluate(query, table)
            if any(isinstance(r["s"], int) and not LOWEST <= r["s"] <= HIGHEST for r in expected):
                continue
            for run in on_all(query, table):
                found = run()
                assert_same_results(found, expected)
                kind = pa.float64() if aggregate.monoid.name == "mean" else pa.int64()
                assert found.schema.field("s").type == kind


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("values", [(2**62, 2**62), (LOWEST, -9)])
def test_a_sum_that_int64_cannot_hold_is_the_same_named_error_everywhere(window: str, values: Any) -> None:
    table = numbers(*values, 7)
    query = query_over(window, wr.sum("v"))
    told = r"^sum = -?922337203685477\d+ over .* of key 'a' does not fit int64: cast the column to float64"
    for run in on_all(query, table):
        with pytest.raises(wr.IntegerOverflow, match=told):
            run()


def test_results_of_unsigned_columns_have_one_type_whatever_the_values() -> None:
    query = query_over("tumbling", wr.max("v"))
    for values in ((1, 2), (1, 2**63 + 5)):
        table = numbers(*values, kind=pa.uint64())
        for found in (query.run(table), streamed(query.open(), table)):
            assert found.schema.field("s").type == pa.uint64()
            assert found["s"].to_pylist() == [max(values)]
    with pytest.raises(wr.IntegerOverflow):
        query_over("tumbling", wr.sum("v")).run(numbers(1, 2**63 + 5, kind=pa.uint64()))
    total = query_over("tumbling", wr.sum("v")).run(numbers(1, 2, kind=pa.uint64()))
    assert total.schema.field("s").type == pa.int64()


def test_products_and_ranges_of_integers_are_int64_or_an_error() -> None:
    for aggregate, values in ((wr.product("v"), (2**40, 2**40)), (wr.range("v"), (LOWEST, HIGHEST))):
        for window in ("tumbling", "session", "rolling"):
            query = query_over(window, aggregate)
            assert query.run(numbers(3, 5)).schema.field("s").type == pa.int64()
            with pytest.raises(wr.IntegerOverflow, match=f"{aggregate.monoid.name} = "):
                query.run(numbers(*values))
            with pytest.raises(wr.IntegerOverflow, match=f"{aggregate.monoid.name} = "):
                streamed(query.open(), numbers(*values))


def test_a_stream_on_spark_adds_up_what_64_bits_do_not_hold_on_the_way() -> None:
    table = numbers(2**62, 2**62, -(2**62), LOWEST)
    query = wr.query(time="t", by="k", watermark=0).window(wr.Tumbling(10)).agg(s=wr.sum("v"), m=wr.mean("v"))
    stream = PackedStream(query, table.schema)
    stream.batch(table, 0)
    found = stream.batch(table.slice(0, 0), 20)
    assert [(row["s"], row["m"]) for row in found] == [(-(2**62), -(2**62) / 4)]
