"""The oracle of endless input: it agrees with the oracle of finite tables where nothing is late, and holds
what it promises where something is."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.testing import StreamOracle, assert_same_results, evaluate
from windrow.testing.strategies import (
    Operation,
    operations,
    pushes,
    queries,
    rolling_queries,
    stream_queries,
    streams,
)
from windrow.windows import Duration

Row = dict[str, Any]
CLOCKS = ["integer", "timestamp"]
#: far more than rows are out of order by
LONG = {"integer": Duration(10_000, "integer"), "timestamp": Duration(10**15, "fixed")}


def operate(oracle: StreamOracle, calls: list[Operation]) -> list[Row]:
    """All that comes out of these calls and of ``finish``."""
    found = [getattr(oracle, name)(argument) for name, argument in calls]
    return [*itertools.chain.from_iterable(found), *oracle.finish()]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("draws", [queries, rolling_queries], ids=["windows", "rolling"])
@settings(max_examples=examples(40))
@given(data=st.data())
def test_without_late_rows_it_agrees_with_the_oracle_of_tables(clock: Any, draws: Any, data: Any) -> None:
    rows = data.draw(streams(clock, min_size=5))
    query = data.draw(draws(clock))
    if data.draw(st.booleans()):
        query = replace(query, watermark=LONG[clock])
    oracle = StreamOracle(query)
    found = operate(oracle, [("push", batch) for batch in data.draw(pushes(rows))])
    assert oracle.late == []
    assert_same_results(found, evaluate(query, rows))


@settings(max_examples=examples(40))
@given(data=st.data())
def test_rows_in_order_are_never_late_behind_their_own_watermark(data: Any) -> None:
    rows = sorted(data.draw(streams()), key=lambda row: row["ts"])
    query = replace(data.draw(st.one_of(queries(), rolling_queries())), watermark=Duration(0, "integer"))
    oracle = StreamOracle(query)
    found = operate(oracle, [("push", batch) for batch in data.draw(pushes(rows))])
    assert oracle.late == []
    assert_same_results(found, evaluate(query, rows))


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_every_row_is_counted_once_and_late_rows_are_handed_over(clock: Any, data: Any) -> None:
    rows = data.draw(streams(clock, null_times=True, min_size=10, span=25))
    oracle = StreamOracle(data.draw(stream_queries(clock)))
    operate(oracle, data.draw(operations(rows)))
    counts = oracle.counts
    assert counts.rows_in == len(rows) == counts.rows_aggregated + counts.rows_late + counts.rows_rejected
    assert Counter(row["late_reason"] for row in oracle.late) == counts.late
    assert counts.rejected["no_time"] == sum(row["ts"] is None for row in rows)


@settings(max_examples=examples(40))
@given(data=st.data())
def test_without_allowance_a_window_comes_out_once(data: Any) -> None:
    query = replace(data.draw(queries(policies=False)), watermark=Duration(3, "integer"))
    found = operate(StreamOracle(query), data.draw(operations(data.draw(streams(min_size=10, span=25)))))
    kinds = {name for name, window in query.windows if window.decided_by == "data"}
    heads = [
        tuple(row.get(column) for column in (*query.by, "window", "window_start", "window_end"))
        for row in found
        if row.get("window", "") not in kinds
    ]
    assert len(heads) == len(set(heads))


@settings(max_examples=examples(40))
@given(data=st.data())
def test_sessions_that_stand_are_disjoint(data: Any) -> None:
    query = wr.query(time="ts", watermark=3, allowed_lateness=data.draw(st.integers(0, 20)))
    limit = data.draw(st.one_of(st.none(), st.integers(1, 15)))
    query = query.window(wr.Session(data.draw(st.integers(1, 8)), max_size=limit)).agg(n=wr.count())
    oracle = StreamOracle(query)
    standing: dict[tuple[int, int], int] = {}
    for result in operate(oracle, data.draw(operations(data.draw(streams(min_size=10, span=25))))):
        edges = result["window_start"], result["window_end"]
        if result.get("retracted"):
            del standing[edges]
        else:
            standing[edges] = result["n"]
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(sorted(standing)))
    assert sum(standing.values()) == oracle.counts.rows_aggregated


def test_a_finished_operator_takes_nothing() -> None:
    oracle = StreamOracle(wr.query(time="ts").window(wr.Tumbling(10)).agg(n=wr.count()))
    oracle.finish()
    with pytest.raises(ValueError, match="finished"):
        oracle.push([{"ts": 1}])


def test_a_window_that_is_not_there_cannot_be_removed() -> None:
    oracle = StreamOracle(wr.query(time="ts").window(ten=wr.Tumbling(10)).agg(n=wr.count()))
    with pytest.raises(ValueError, match="no window 'twenty'"):
        oracle.remove_window("twenty")
