"""The operator against the brute-force model: random queries on random disordered streams, cut into random
pushes with the watermark moving between them, with a snapshot and restore anywhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.testing import StreamOracle, assert_same_results
from windrow.testing.strategies import operations, stream_queries, streams, table_of

COUNTED = (
    "rows_in",
    "rows_aggregated",
    "rows_late",
    "rows_rejected",
    "windows_fired",
    "windows_corrected",
    "windows_retracted",
)


def check(query: Any, calls: list[Any], clock: str, restored_after: int) -> None:
    oracle, operator = StreamOracle(query), query.open()
    late: list[Any] = []
    for number, (name, argument) in enumerate([*calls, ("finish", None)]):
        expected: Any
        if name == "push":
            expected, found = oracle.push(argument), operator.push(table_of(argument, clock))
        elif name == "advance":
            expected, found = oracle.advance(argument), operator.advance(argument)
        else:
            expected, found = oracle.finish(), operator.finish()
        assert_same_results(found, expected)
        late += operator.late_rows().to_pylist()
        counts = {name: getattr(operator.metrics, name) for name in COUNTED}
        assert counts == {name: getattr(oracle.counts, name) for name in COUNTED}
        assert dict(operator.metrics.late) == dict(oracle.counts.late)
        assert counts["rows_in"] == sum(counts[c] for c in COUNTED[1:4])
        if number == restored_after and name != "finish":
            operator = query.restore(operator.snapshot())
    assert_same_results(late, oracle.late)
    assert operator.metrics.slices == 0
    assert operator.metrics.rows_held == 0
    assert operator.metrics.state_bytes == 0


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=150)
@given(st.data())
def test_any_query_on_any_stream(clock: Any, data: st.DataObject) -> None:
    query = data.draw(stream_queries(clock))
    rows = data.draw(streams(clock, null_times=True))
    calls = data.draw(operations(rows))
    check(query, calls, clock, data.draw(st.integers(0, 8)))
