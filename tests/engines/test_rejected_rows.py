"""Rows over which an aggregate raises are left out, handed back and counted, the same on every engine."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.packed_stream import PackedStream
from windrow.errors import AggregateError, RejectedRows
from windrow.testing import StreamOracle, assert_same_results, evaluate

#: compiled, and in plain Python
SHARES = wr.monoid(name="shares", lift=lambda v: 12 / v, combine=lambda a, b: a + b, identity=0.0)
TEXTS = wr.monoid(
    name="texts",
    lift=lambda text: (int(text),),
    combine=lambda a, b: a + b,
    lower=lambda partial: len(partial),
    identity=(),
    result_type="int64",
    compile=False,
)
SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("v", pa.int64()), ("s", pa.string())])
ROWS = st.fixed_dictionaries(
    {
        "t": st.one_of(st.none(), st.integers(0, 40)),
        "k": st.sampled_from(["a", "b"]),
        "v": st.sampled_from([0, 1, 2, None]),
        "s": st.sampled_from(["1", "x", None]),
    }
)
WINDOWS = {
    "tumbling": lambda query: query.window(wr.Tumbling(10)),
    "several": lambda query: query.window(ten=wr.Sliding(10, slide=5), visit=wr.Session(3)),
    "fixed": lambda query: query.window(wr.Fixed(5, 20)),
    "by rows": lambda query: query.window(wr.Rows(3, slide=2)),
    "rolling": lambda query: query.rolling(10),
    "rolling rows": lambda query: query.rolling(rows=2),
}


def asked(kind: str, **settings: Any) -> Any:
    query = WINDOWS[kind](wr.query(time="t", by="k", on_error="reject", **settings))
    return query.agg(shares=SHARES("v"), texts=TEXTS("s"), n=wr.count())


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.filterwarnings("ignore::windrow.RejectedRows")
@given(rows=st.lists(ROWS, max_size=12))
def test_tables_equal_the_oracle(kind: str, rows: list[dict[str, Any]]) -> None:
    query = asked(kind)
    assert_same_results(query.run(table_of(rows)), evaluate(query, rows))


@pytest.mark.parametrize("kind", WINDOWS)
@given(pushes=st.lists(st.lists(ROWS, min_size=1, max_size=6), min_size=1, max_size=4))
def test_operators_equal_the_oracle_and_their_counts_add_up(
    kind: str, pushes: list[list[dict[str, Any]]]
) -> None:
    query = asked(kind, watermark=3, late="return")
    operator, oracle = query.open(), StreamOracle(query)
    rejected, late = [], []
    for rows in pushes:
        assert_same_results(operator.push(table_of(rows)), oracle.push(rows))
        rejected += operator.rejected_rows().to_pylist()
        late += operator.late_rows().to_pylist()
        operator = query.restore(operator.snapshot())
    assert_same_results(operator.finish(), oracle.finish())
    assert_same_results(rejected, oracle.rejected)
    metrics = operator.metrics
    assert (metrics.rejected, metrics.late) == (dict(oracle.counts.rejected), dict(oracle.counts.late))
    assert metrics.rows_in == metrics.rows_aggregated + len(late) + len(rejected)


@pytest.mark.parametrize("kind", ["tumbling", "fixed", "by rows", "rolling"])
@given(pushes=st.lists(st.lists(ROWS, min_size=1, max_size=6), min_size=1, max_size=3))
def test_steps_of_a_stream_hand_back_what_the_oracle_rejects(
    kind: str, pushes: list[list[dict[str, Any]]]
) -> None:
    query = asked(kind, watermark=3, late="return")
    stream, oracle = PackedStream(query, SCHEMA), StreamOracle(query, judge="spark")
    watermark = 0
    for rows in pushes:
        expected = oracle.push(rows)
        assert_same_results(stream.batch(table_of(rows), watermark), expected)
        watermark = max([watermark, *(row["t"] - 3 for row in rows if row["t"] is not None)])
    assert_same_results(stream.rejected, oracle.rejected)
    counts = stream.counts
    assert counts["rows_rejected"] == len(stream.rejected)
    assert counts["rows_in"] == counts["rows_aggregated"] + counts["rows_late"] + counts["rows_rejected"]


def test_the_first_row_and_how_many_are_warned_of_and_all_are_given() -> None:
    query = wr.query(time="t", on_error="reject").window(wr.Tumbling(10)).agg(total=SHARES("v"))
    table = pa.table({"t": [1, 2, 3, None], "v": [3, 0, 4, 1]})
    with pytest.warns(RejectedRows) as caught:
        assert query.run(table)["total"].to_pylist() == [7.0]
    assert str(caught[1].message).startswith(
        "1 of 4 rows were rejected: of row 1, aggregate 'total' raised ZeroDivisionError"
    )
    found = query.rejected_rows(table.to_pandas())
    assert isinstance(found, pd.DataFrame)
    assert found["rejected_reason"].tolist() == ["no_time", "raised"]
    assert found["rejected_by"].tolist()[1] == "total"


def test_a_row_that_raises_still_raises_by_default() -> None:
    query = wr.query(time="t").window(wr.Tumbling(10)).agg(total=SHARES("v"))
    with pytest.raises(AggregateError, match="ZeroDivisionError at row 1"):
        query.run(pa.table({"t": [1, 2], "v": [3, 0]}))
    with pytest.raises(ValueError, match="on_error='reject'"):
        query.open().rejected_rows()


def test_what_combine_and_lower_raise_is_the_fault_of_no_row() -> None:
    roots = wr.monoid(
        name="roots",
        lift=float,
        combine=lambda a, b: a + b,
        lower=lambda total: math.sqrt(total),
        identity=0.0,
        compile=False,
    )
    query = wr.query(time="t", on_error="reject").window(wr.Tumbling(10)).agg(root=roots("v"))
    with pytest.raises(AggregateError, match="roots"):
        query.run(pa.table({"t": [1, 2], "v": [3, -4]}))


def test_a_row_that_raises_moves_the_watermark_and_is_never_late() -> None:
    query = wr.query(time="t", watermark=0, late="return", on_error="reject").window(wr.Tumbling(10))
    operator = query.agg(total=SHARES("v")).open()
    operator.push(pa.table({"t": [1], "v": [3]}))
    assert operator.push(pa.table({"t": [25], "v": [0]}))["total"].to_pylist() == [4.0]
    operator.push(pa.table({"t": [2], "v": [0]}))
    assert operator.late_rows().num_rows == 0
    assert operator.metrics.rejected == {"raised": 2}


def test_the_setting_may_change_between_runs() -> None:
    windows = wr.query(time="t").window(wr.Tumbling(10)).agg(total=SHARES("v"))
    rejecting = wr.query(time="t", on_error="reject").window(wr.Tumbling(10)).agg(total=SHARES("v"))
    operator = windows.open()
    operator.push(pa.table({"t": [1], "v": [3]}))
    operator = rejecting.restore(operator.snapshot())
    operator.push(pa.table({"t": [2], "v": [0]}))
    assert operator.finish()["total"].to_pylist() == [4.0]


def test_columns_that_rejected_rows_get_are_refused() -> None:
    query = wr.query(time="t", on_error="reject").window(wr.Tumbling(10)).agg(n=wr.count())
    with pytest.raises(ValueError, match="'rejected_by', which is added to rows"):
        query.open().push(pa.table({"t": [1], "rejected_by": ["x"]}))
    with pytest.raises(ValueError, match="on_error='rejekt': use one of 'raise', 'reject'"):
        wr.query(time="t", on_error="rejekt")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is for windows and rolling"):
        wr.query(time="t", on_error="reject").asof(5)
