"""The strategies: what they promise holds, and they reach what they are for."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.testing import StreamOracle, assert_same_results, evaluate, rows_of
from windrow.testing.strategies import (
    aggregates,
    operations,
    pushes,
    queries,
    rolling_queries,
    stream_queries,
    streams,
    table_of,
    windows,
)
from windrow.windows import Session, TimeWindow, to_us

CLOCKS = ["integer", "timestamp"]
#: what is looked for is there; the smallest of it, which takes longest, is not asked for
ANY = settings(max_examples=2_000, phases=[Phase.generate])


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(30))
@given(data=st.data())
def test_streams_arrive_within_their_disorder(clock: Any, data: st.DataObject) -> None:
    unit = 1 if clock == "integer" else 1_800_000_000
    rows = data.draw(streams(clock, disorder=4))
    times = [row["ts"] if clock == "integer" else to_us(row["ts"]) for row in rows]
    latest = -math.inf
    for time in times:
        latest = max(latest, time)
        assert latest - time <= 4 * unit


@settings(max_examples=examples(30))
@given(rows=streams(null_times=False))
def test_km_never_falls_with_time(rows: list[dict[str, Any]]) -> None:
    km = [row["km"] for row in sorted(rows, key=lambda row: row["ts"]) if row["km"] is not None]
    assert km == sorted(km)


@pytest.mark.parametrize(
    "wanted",
    [
        lambda rows: any(a["ts"] > b["ts"] for a, b in itertools.pairwise(rows)),
        lambda rows: len({row["ts"] for row in rows}) < len(rows),
        lambda rows: any(row["ts"] < 0 for row in rows),
        lambda rows: any(row["key"] is None for row in rows) and any(row["key"] for row in rows),
        lambda rows: any(row["x"] is not None and math.isnan(row["x"]) for row in rows),
        lambda rows: any(row["n"] is None for row in rows),
        lambda rows: any(row["km"] is None for row in rows),
    ],
    ids=["disorder", "duplicates", "negative", "keys", "nan", "nulls", "null km"],
)
def test_streams_reach_the_hard_cases(wanted: Any) -> None:
    find(streams(), wanted, settings=ANY)


def test_null_times_come_on_request() -> None:
    find(streams(null_times=True), lambda rows: any(row["ts"] is None for row in rows), settings=ANY)


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_windows_fit_their_clock(clock: Any, data: st.DataObject) -> None:
    window = data.draw(windows(clock))
    if isinstance(window, (TimeWindow, Session)):
        assert window.uses_integer_time == (clock == "integer")


@pytest.mark.parametrize("kind", sorted({*wr.windows.KINDS} - {"Policy"}))
@pytest.mark.parametrize("clock", CLOCKS)
def test_every_kind_of_window_is_drawn(clock: Any, kind: str) -> None:
    assert find(windows(clock), lambda window: type(window).__name__ == kind, settings=ANY)


def test_policies_and_propagating_nulls_are_drawn() -> None:
    drawn = [
        (queries(), lambda query: any(type(window).__name__ == "Policy" for _, window in query.windows)),
        (rolling_queries(), lambda query: query.rolling_over.policy is not None),
        (aggregates(), lambda aggregate: aggregate.monoid.nulls == "propagate"),
    ]
    for strategy, wanted in drawn:
        find(strategy, wanted, settings=ANY)


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_any_query_fits_any_stream(clock: Any, data: st.DataObject) -> None:
    query = data.draw(st.one_of(queries(clock), rolling_queries(clock)))
    rows = data.draw(streams(clock, max_size=12, null_times=True))
    results = evaluate(query, rows)
    assert_same_results(evaluate(query, table_of(rows, clock)), results)
    if query.rolling_over is not None:
        assert len(results) == len(rows)


@settings(max_examples=examples(30))
@given(data=st.data())
def test_pushes_are_the_rows_again(data: st.DataObject) -> None:
    rows = data.draw(streams())
    batches = data.draw(pushes(rows, max_pushes=4))
    assert [row for batch in batches for row in batch] == rows
    assert 1 <= len(batches) <= 4


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_a_table_holds_the_same_rows(clock: Any, data: st.DataObject) -> None:
    rows = data.draw(streams(clock, null_times=True))
    assert str(rows_of(table_of(rows, clock))) == str(rows)


@settings(max_examples=examples(30))
@given(data=st.data())
def test_operations_push_every_row_once_in_order(data: st.DataObject) -> None:
    rows = data.draw(streams(null_times=True, min_size=3))
    calls = data.draw(operations(rows))
    assert [row for name, batch in calls if name == "push" for row in batch] == rows


@pytest.mark.parametrize(
    "happened",
    [
        lambda oracle: oracle.late,
        lambda oracle: oracle.counts.windows_corrected,
        lambda oracle: oracle.counts.windows_retracted,
    ],
    ids=["late", "corrected", "retracted"],
)
def test_operations_reach_what_streams_are_about(happened: Any) -> None:
    @st.composite
    def operated(draw: st.DrawFn) -> StreamOracle:
        oracle = StreamOracle(draw(stream_queries(policies=False)))
        for name, argument in draw(operations(draw(streams(min_size=8, span=25)))):
            getattr(oracle, name)(argument)
        return oracle

    assert happened(find(operated(), happened, settings=ANY))
