"""The operator against the brute-force model: random queries on random disordered streams, cut into random
pushes with the watermark moving between them, with a snapshot and restore anywhere, and with windows added
and removed on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from windrow.testing import StreamOracle, assert_same_results
from windrow.testing.strategies import (
    operations,
    rolling_frame_queries,
    stream_queries,
    streams,
    table_of,
    windows,
)

COUNTED = (
    "rows_in",
    "rows_aggregated",
    "rows_late",
    "rows_rejected",
    "windows_fired",
    "windows_corrected",
    "windows_retracted",
)


def told(results: Any) -> list[dict[str, Any]]:
    """Results without the column that comes and goes with sessions; what was taken back has nulls instead."""
    rows = results.to_pylist() if hasattr(results, "to_pylist") else results
    return [{name: value for name, value in row.items() if name != "retracted"} for row in rows]


def check(query: Any, calls: list[Any], clock: str, restored_after: int) -> None:
    oracle, operator = StreamOracle(query), query.open()
    late: list[Any] = []
    changes = False
    for number, (name, argument) in enumerate([*calls, ("finish", None)]):
        expected: Any
        if name in ("add", "remove"):
            changes = True
            for each in (oracle, operator):
                each.add_window(**argument) if name == "add" else each.remove_window(argument)
            expected, found = [], []
        elif name == "push":
            expected, found = oracle.push(argument), operator.push(table_of(argument, clock))
        elif name == "advance":
            expected, found = oracle.advance(argument), operator.advance(argument)
        else:
            expected, found = oracle.finish(), operator.finish()
        assert_same_results(*map(told, (found, expected))) if changes else assert_same_results(
            found, expected
        )
        late += operator.late_rows().to_pylist()
        counts = {name: getattr(operator.metrics, name) for name in COUNTED}
        assert counts == {name: getattr(oracle.counts, name) for name in COUNTED}
        assert dict(operator.metrics.late) == dict(oracle.counts.late)
        assert dict(operator.metrics.late_pairs) == dict(oracle.counts.late_pairs)
        assert counts["rows_in"] == sum(counts[c] for c in COUNTED[1:4])
        if number == restored_after and name != "finish":
            operator = operator.query.restore(operator.snapshot())
    assert_same_results(late, oracle.late)
    assert operator.metrics.slices == 0
    assert operator.metrics.rows_held == 0
    assert operator.metrics.state_bytes == 0


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(150))
@given(st.data())
def test_any_query_on_any_stream(clock: Any, data: st.DataObject) -> None:
    query = data.draw(stream_queries(clock))
    rows = data.draw(streams(clock, null_times=True))
    calls = data.draw(operations(rows))
    check(query, calls, clock, data.draw(st.integers(0, 8)))


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(60))
@given(st.data())
def test_any_rolling_frames_on_any_stream(clock: Any, data: st.DataObject) -> None:
    query = data.draw(stream_queries(clock, of=rolling_frame_queries(clock)))
    calls = data.draw(operations(data.draw(streams(clock, null_times=True))))
    check(query, calls, clock, data.draw(st.integers(0, 8)))


@settings(max_examples=examples(50))
@given(st.data())
def test_windows_are_added_and_removed_on_the_way(data: st.DataObject) -> None:
    query = data.draw(stream_queries().filter(lambda query: query.names_windows))
    calls: list[Any] = data.draw(operations(data.draw(streams(null_times=True))))
    for name in ("another", "one more"):
        calls.insert(data.draw(st.integers(0, len(calls))), ("add", {name: data.draw(windows())}))
    if data.draw(st.booleans()):
        first = query.windows[0][0]
        added = next(place for place, (name, _) in enumerate(calls) if name == "add")
        calls.insert(data.draw(st.integers(added + 1, len(calls))), ("remove", first))
    check(query, calls, "integer", data.draw(st.integers(0, 8)))
