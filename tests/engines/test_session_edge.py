"""A row exactly at the end of a session: it joins until the session has fired, on every engine."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamOracle, evaluate

SESSIONS = wr.query(time="t").window(wr.Session(5)).agg(n=wr.count())
WHOLE, CUT = [(0, 10, 2)], [(0, 5, 1), (5, 10, 1)]


def spans(results: Any) -> list[tuple[int, int, int]]:
    rows = results if isinstance(results, list) else results.to_pylist()
    return [(row["window_start"], row["window_end"], row["n"]) for row in rows]


def test_in_a_table_rows_exactly_a_gap_apart_are_one_session() -> None:
    rows = pa.table({"t": [5, 0]})
    assert spans(SESSIONS.run(rows)) == WHOLE == spans(evaluate(SESSIONS, rows))


@pytest.mark.parametrize(("watermark", "expected"), [(None, WHOLE), (4, WHOLE), (5, CUT)])
@pytest.mark.parametrize("late_by", ["session", "row"])
@pytest.mark.parametrize("other", [None, wr.Tumbling(3)])
def test_an_edge_differed_from_the_tables_without_a_rule(
    watermark: int | None, expected: list[Any], late_by: Any, other: Any
) -> None:
    windows = {"visit": wr.Session(5, late_by=late_by)} | ({} if other is None else {"three": other})
    query = wr.query(time="t", late="return").window(**windows).agg(n=wr.count())
    operator, oracle = query.open(), StreamOracle(query)
    found, told = [], []
    for step in ([0], watermark, [5]):
        if isinstance(step, list):
            found += operator.push(pa.table({"t": step})).to_pylist()
            told += oracle.push([{"t": time} for time in step])
        elif step is not None:
            found += operator.advance(step).to_pylist()
            told += oracle.advance(step)
            operator = query.restore(operator.snapshot())
    found += operator.finish().to_pylist()
    told += oracle.finish()
    assert spans([row for row in found if row["window"] == "visit"]) == expected
    assert spans([row for row in told if row["window"] == "visit"]) == expected
    assert operator.metrics.rows_late == 0 == len(oracle.late)


def test_an_allowance_lets_a_row_at_the_edge_join_as_in_the_table() -> None:
    operator = wr.query(time="t", allowed_lateness=1).window(wr.Session(5)).agg(n=wr.count()).open()
    operator.push(pa.table({"t": [0]}))
    assert spans(operator.advance(5)) == [(0, 5, 1)]
    operator.push(pa.table({"t": [5]}))
    assert spans(operator.finish()) == WHOLE


@pytest.mark.parametrize("judge", ["push", "spark"])
def test_a_watermark_behind_the_rows_keeps_the_edge_of_the_table(judge: Any) -> None:
    query = wr.query(time="t", by="k", watermark=1).window(wr.Session(5)).agg(n=wr.count())
    operator = query.open(lateness=judge)
    rows = [(0, "a"), (5, "b"), (5, "a"), (10, "c"), (10, "a")]
    found = []
    for time, key in rows:
        found += operator.push(pa.table({"t": [time], "k": [key]})).to_pylist()
    found += operator.finish().to_pylist()
    table = pa.table({"t": [time for time, _ in rows], "k": [key for _, key in rows]})
    assert sorted(map(str, found)) == sorted(map(str, query.run(table).to_pylist()))
