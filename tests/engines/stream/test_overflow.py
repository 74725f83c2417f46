"""Integer sums that int64 cannot hold, in an operator: the step that brings the rows raises and changes
nothing, so that the operator goes on without them."""

import copy
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.packed_stream import PackedStream
from windrow.engines.stream import overflow
from windrow.state import MemoryStore

HALF = 2**62
WINDOWS: dict[str, Any] = {
    "tumbling": lambda q: q.window(wr.Tumbling(10)),
    "sliding": lambda q: q.window(wr.Sliding(10, slide=5)),
    "long": lambda q: q.window(wr.Sliding(1000, slide=1)),
    "session": lambda q: q.window(wr.Session(5)),
    "count": lambda q: q.window(wr.Rows(3)),
    "policy": lambda q: q.window(wr.Policy(lambda total, old: total.n - old.n >= 3)),
    "rolling": lambda q: q.rolling(10),
    "rolling rows": lambda q: q.rolling(rows=3),
}


def rows(*pairs: tuple[int, int], key: str = "a") -> pa.Table:
    return pa.table({"t": [t for t, _ in pairs], "k": [key] * len(pairs), "v": [v for _, v in pairs]})


def query_over(window: str, watermark: int | None = 0, aggregate: Any = None) -> Any:
    query = wr.query(time="t", by="k", watermark=watermark)
    return WINDOWS[window](query).agg(s=aggregate or wr.sum("v"), n=wr.count())


def opened(query: Any, how: str) -> Any:
    return query.open() if how == "memory" else query.open(store=MemoryStore(), name="q")


def sums(*tables: pa.Table) -> list[Any]:
    return [value for table in tables for value in table["s"].to_pylist()]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("how", ["memory", "store"])
@pytest.mark.parametrize("watermark", [0, 3, None])
def test_an_integer_sum_that_overflows_does_not_wedge_the_operator(
    window: str, how: str, watermark: Any
) -> None:
    operator = opened(query_over(window, watermark), how)
    untouched = opened(query_over(window, watermark), how)
    found = [operator.push(rows((1, HALF)))]
    expected = [untouched.push(rows((1, HALF)))]
    for _ in range(2):
        before = operator.metrics
        with pytest.raises(wr.IntegerOverflow, match="of key 'a' does not fit int64"):
            operator.push(rows((2, HALF), (2, 5)))
        assert operator.metrics == before
    for batch in (rows((2, 1)), rows((3, 5), key="b"), rows((40, 2)), rows((41, 4))):
        found.append(operator.push(batch))
        expected.append(untouched.push(batch))
    found += [operator.advance(60), operator.finish()]
    expected += [untouched.advance(60), untouched.finish()]
    assert sums(*found) == sums(*expected)
    assert any(HALF < value < HALF + 10 for value in sums(*found))


@pytest.mark.parametrize("window", WINDOWS)
def test_a_watermark_never_fires_a_window_that_overflows(window: str) -> None:
    """Whatever was pushed without an error comes out without one."""
    operator = query_over(window, None).open()
    for t in range(1, 40):
        try:
            operator.push(rows((t, HALF // 3 * (-1 if t % 7 == 0 else 1))))
        except wr.IntegerOverflow:
            continue
    assert operator.advance(20).num_rows + operator.finish().num_rows


def test_large_values_of_many_keys_do_not_make_every_push_try_all_windows(monkeypatch: Any) -> None:
    tried = []
    monkeypatch.setattr(overflow, "_try_all", lambda *_: tried.append(1))
    operator = query_over("sliding").open()
    for key in "abcdefgh":
        operator.push(rows((1, HALF), key=key))
    for t in range(100, 160, 20):
        operator.push(rows((t, 1)))
    assert not tried


def test_products_and_ranges_that_overflow_do_not_wedge_the_operator() -> None:
    for aggregate, first, second in ((wr.product("v"), 2**40, 2**30), (wr.range("v"), -HALF, HALF)):
        for window in ("tumbling", "session", "rolling"):
            operator = query_over(window, 3, aggregate).open()
            operator.push(rows((1, first)))
            with pytest.raises(wr.IntegerOverflow):
                operator.push(rows((2, second)))
            operator.push(rows((2, first // 2**38 or 1)))
            assert operator.finish().num_rows


def test_corrections_that_overflow_do_not_wedge_the_operator() -> None:
    query = wr.query(time="t", by="k", watermark=0, allowed_lateness=100)
    operator = query.window(wr.Tumbling(10)).agg(s=wr.sum("v")).open()
    assert sums(operator.push(rows((1, HALF), (15, 0)))) == [HALF]
    with pytest.raises(wr.IntegerOverflow):
        operator.push(rows((2, HALF)))
    assert sums(operator.push(rows((2, 1)))) == [HALF + 1]


def test_rolling_in_a_store_that_overflows_is_not_wedged() -> None:
    store = MemoryStore()
    query = wr.query(time="t", by="k", watermark=0).rolling(10, store=store).agg(s=wr.sum("v"))
    operator = query.open(store=store, name="q")
    found = [operator.push(rows((1, HALF)))]
    with pytest.raises(wr.IntegerOverflow):
        operator.push(rows((2, HALF)))
    found += [operator.push(rows((2, 1))), operator.push(rows((30, HALF))), operator.finish()]
    assert sums(*found) == [HALF, HALF + 1, HALF]


def test_rolling_in_a_store_remembers_how_much_it_holds() -> None:
    store = MemoryStore()
    query = wr.query(time="t", by="k").rolling(10, store=store).agg(s=wr.sum("v"))
    operator = query.open(store=store, name="q")
    operator.push(rows((1, HALF)))
    operator.push(rows((2, HALF - 1)))
    with pytest.raises(wr.IntegerOverflow):
        operator.push(rows((3, 1)))
    assert sums(operator.finish()) == [HALF, 2**63 - 1]


@pytest.mark.parametrize("window", ["tumbling", "session", "rolling"])
def test_a_stream_on_spark_fails_with_the_rows_that_overflow_and_goes_on_without_them(window: str) -> None:
    stream = PackedStream(query_over(window), rows((1, 1)).schema)
    stream.batch(rows((1, HALF)), 0)
    before = copy.deepcopy(stream.entries)
    with pytest.raises(wr.IntegerOverflow, match="of key 'a' does not fit int64"):
        stream.batch(rows((2, HALF)), 0)
    stream.entries = before  # Spark takes back what a failed micro-batch has written
    found = stream.batch(rows((2, 1)), 0) + stream.batch(rows((50, 1)), 40)
    assert HALF + 1 in [row["s"] for row in found]
