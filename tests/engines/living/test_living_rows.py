"""Rows that live between pushes: operators give the same results with and without them, whatever comes; how
many combines that takes; and what is left of a push that raises."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.engines.living import kept, part, rows
from windrow.engines.living.part import LivingPart
from windrow.testing import assert_same_results

JOINED = wr.monoid(name="joined", lift=lambda v: v, combine=lambda a, b: a + b, identity="", compile=False)


@pytest.fixture(autouse=True)
def alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes back to the rows themselves without a reason; rows that are over are dropped early."""

    def raised(_: LivingPart, error: Exception) -> None:
        if not isinstance(error, ValueError):
            raise AssertionError("raised over living rows") from error

    monkeypatch.setattr(LivingPart, "_raised", raised)
    monkeypatch.setattr(rows, "_FEWEST_OVER", 4)
    monkeypatch.setattr(kept, "_MOST_PARTS", 3)
    monkeypatch.setattr(part, "LARGE", 20)


STARTS: dict[str, Callable[[wr.Query], Any]] = {
    "rows": lambda query: query.window(wr.Rows(5, slide=2)),
    "rows apart": lambda query: query.window(wr.Rows(3)),
    "delta": lambda query: query.window(wr.Delta("x", 6, slide=2)),
    "delta apart": lambda query: query.window(wr.Delta("x", 2.5)),
    "punctuation": lambda query: query.window(wr.Punctuation("b")),
    "threshold": lambda query: query.window(wr.Threshold("b")),
    "policy": lambda query: query.window(wr.Policy(lambda total, old: total.n - old.n >= 4)),
    "rolling by policy": lambda query: query.rolling(wr.Policy(lambda total, old: total.n - old.n >= 4)),
    "rolling rows": lambda query: query.rolling(rows=4),
    "rolling several": lambda query: query.rolling(rows=[2, 7]),
    "rolling time": lambda query: query.rolling(9),
    "rolling times": lambda query: query.rolling(3, 20),
    "rolling left": lambda query: query.rolling(9, closed="left"),
    "rolling ahead": lambda query: query.rolling(9, closed="both", shift=4),
    "rolling all": lambda query: query.rolling("all"),
}


def table_of(picks: list[tuple[int, int, int | None]], begin: int, late: int = 0) -> pa.Table:
    """Rows whose times rise by so much each, with keys and values."""
    times = begin - late + np.cumsum([step for step, _, _ in picks]) if picks else np.zeros(0, np.int64)
    values = [value for _, _, value in picks]
    return pa.table(
        {
            "t": pa.array(times, pa.int64()),
            "k": pa.array([f"k{key}" for _, key, _ in picks], pa.string()),
            "v": pa.array(values, pa.int64()),
            "s": pa.array([None if value is None else chr(97 + value % 26) for value in values], pa.string()),
            "x": pa.array(times // 2, pa.int64()),
            "b": pa.array([value is not None and value % 3 == 0 for value in values], pa.bool_()),
        }
    )


AGGREGATES = {
    "n": wr.count(),
    "total": wr.sum("v"),
    "text": JOINED("s"),
    "last": wr.last("s"),
    "largest": wr.max_by("s", "v"),
    "some": wr.count(where="b"),
}
ROWS = st.tuples(st.integers(0, 5), st.integers(0, 2), st.none() | st.integers(-9, 9))


@pytest.mark.parametrize("start", STARTS)
@settings(max_examples=examples(60))
@given(st.data())
def test_results_are_those_of_rows_that_do_not_live(start: str, data: st.DataObject) -> None:
    by = data.draw(st.sampled_from([None, "k"]))
    query = STARTS[start](wr.query(time="t", by=by, watermark=data.draw(st.integers(0, 6))))
    query = query.agg(**AGGREGATES)
    begin, living = data.draw(st.integers(-50, 50)), query.open()
    resting = query.open()
    resting._plan = wr.engines.stream.plan.Plan.of(query)
    for number in range(data.draw(st.integers(1, 12))):
        picks = data.draw(st.lists(ROWS, max_size=data.draw(st.sampled_from([1, 3, 40]))))
        table = table_of(picks, begin, data.draw(st.integers(0, 8)) if number else 0)
        begin = max([begin, *table["t"].to_pylist()])
        found, expected = living.push(table), resting.push(table)
        assert found.to_pylist() == expected.to_pylist()
        assert living.metrics.rows_in == resting.metrics.rows_in
        if data.draw(st.integers(0, 4)) == 0:
            living = query.restore(living.snapshot())
    assert_same_results(living.finish(), resting.finish())
    assert living.metrics.state_bytes == 0


@pytest.mark.parametrize("start", STARTS)
@settings(max_examples=examples(20))
@given(st.data())
def test_a_push_that_raises_leaves_everything_as_it_was(start: str, data: st.DataObject) -> None:
    def lift(value: int) -> str:
        if value == 7:
            raise ArithmeticError("seven")
        return f"{value},"

    fragile = replace(JOINED, name="fragile", lift=lift)
    query = STARTS[start](wr.query(time="t", by="k", watermark=0)).agg(n=wr.count(), f=fragile("v"))
    one, other, begin = query.open(), query.open(), 0
    for _ in range(data.draw(st.integers(1, 10))):
        table = table_of(data.draw(st.lists(ROWS, min_size=1, max_size=6)), begin + 1)
        begin = max(table["t"].to_pylist())
        good = table.filter(pa.array([value != 7 for value in table["v"].to_pylist()]))
        if good.num_rows < table.num_rows:
            before = one.snapshot()
            try:
                one.push(table)
            except wr.errors.AggregateError:
                assert one.snapshot() == before
            else:  # it raises when a window is complete that holds the row
                one = query.restore(before)
        assert one.push(good).to_pylist() == other.push(good).to_pylist()


# -- what it costs -------------------------------------------------------------------------------------------


class Counting:
    """A sum of texts, in order, that counts its combines."""

    def __init__(self) -> None:
        self.calls = 0
        self.monoid = wr.monoid(
            name="counting", lift=lambda v: v, combine=self._combine, identity=0, compile=False
        )

    def _combine(self, a: int, b: int) -> int:
        self.calls += 1
        return a + b


COUNTED: dict[str, Callable[[wr.Query, int], Any]] = {
    "Rows": lambda query, n: query.window(wr.Rows(n, slide=1)),
    "Delta": lambda query, n: query.window(wr.Delta("x", n, slide=1)),
    "rolling rows": lambda query, n: query.rolling(rows=n),
    "rolling time": lambda query, n: query.rolling(n),
    "rolling left": lambda query, n: query.rolling(n, closed="left"),
    "rolling several": lambda query, n: query.rolling(n // 4, n),
    "Policy": lambda query, n: query.window(wr.Policy(lambda total, old: total.n - old.n >= n)),
    "rolling by policy": lambda query, n: query.rolling(wr.Policy(lambda total, old: total.n - old.n >= n)),
    "Punctuation": lambda query, n: query.window(wr.Punctuation("b")),
    "Threshold": lambda query, n: query.window(wr.Threshold("b")),
}


def counted_rows(begin: int, end: int, n: int) -> pa.Table:
    numbers = np.arange(begin, end)
    return pa.table({"t": numbers, "v": numbers % 5, "x": numbers, "b": numbers % n != 0})


@pytest.mark.parametrize("size", [1, 10, 1_000])
@pytest.mark.parametrize("n", [64, 1_024])
@pytest.mark.parametrize("kind", COUNTED)
def test_a_result_takes_logarithmically_many_combines(kind: str, n: int, size: int) -> None:
    counting = Counting()
    query = COUNTED[kind](wr.query(time="t", watermark=0), n).agg(n=wr.count(), total=counting.monoid("v"))
    operator = query.open()
    end = 3 * n
    operator.push(counted_rows(0, end, n))  # a large push before
    most = 2 * math.log2(n) + 8
    for restored in (False, True):
        if restored:
            operator = query.restore(operator.snapshot())
        counting.calls, first = 0, end
        for _ in range(max(1, 80 // size)):
            table = counted_rows(end, end + size, n)
            late = counted_rows(end - 50, end - 50 + size // 5, n)
            operator.push(pa.concat_tables([table, late]))
            end += size
        assert 0 < counting.calls <= most * (end - first), (counting.calls / (end - first), most)


def test_dropped_rows_leave_memory() -> None:
    operator = wr.query(time="t", by="k", watermark=0).rolling(rows=3).agg(total=wr.sum("v")).open()
    most = 0
    for number in range(2_000):
        keys = [f"{number // 10}", "always"]
        operator.push(pa.table({"t": [number, number], "k": keys, "v": [1, 2]}))
        most = max(most, operator.metrics.state_bytes)
    by_time = wr.query(time="t", by="k", watermark=0).rolling(20).agg(total=wr.sum("v")).open()
    sizes = []
    for number in range(2_000):
        by_time.push(pa.table({"t": [number], "k": [f"{number // 3}"], "v": [1]}))
        sizes.append(by_time.metrics.state_bytes)
    assert max(sizes) < 50_000


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (wr.query(time="t").window(wr.Rows(5)), "in memory FlatFAT over these rows"),
        (wr.query(time="t").rolling(rows=5), "in memory FlatFAT over these rows"),
        (wr.query(time="t").rolling(5, 9), "in memory FlatFAT over these rows"),
        (wr.query(time="t").rolling(wr.Policy(lambda total, old: False)), "in memory AMTA over these rows"),
        (wr.query(time="t").rolling(rows=5, shift=2), "since frames of rows look ahead"),
        (wr.query(time="t", output="update").rolling(5), "since output='update'"),
    ],
)
def test_explain_names_what_stays_between_pushes(query: Any, expected: str) -> None:
    text = query.agg(total=wr.sum("v")).explain()
    assert expected in text
    assert text.count("in memory ") == (0 if expected.startswith("since") else 1)


def test_explain_says_where_values_are_read_again() -> None:
    text = wr.query(time="t").window(wr.Rows(5)).agg(middle=wr.median("v")).explain()
    assert "read again for each push, since values are kept" in text
