"""What an operator refuses, each with a message that names the input; and what a user's aggregate raises."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import AggregateError

QUERY = wr.query(time="t", by="k", watermark=2).window(wr.Tumbling(10)).agg(total=wr.sum("v"))
ROWS = pa.table({"t": [1], "k": ["a"], "v": [1]})
HOURLY = wr.query(time="t").window(wr.Tumbling("1h")).agg(n=wr.count())


def begun() -> Any:
    operator = QUERY.open()
    operator.push(ROWS)
    return operator


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"t": [1], "k": ["a"]}, KeyError, "no column 'v'; the table has 't', 'k'"),
        ({"t": [1], "k": ["a"], "v": ["x"]}, TypeError, "'v' was of type int64 before and is of type string"),
        ({"t": [1], "k": ["a"], "v": ["7"]}, TypeError, "cast it before it is pushed"),
        ({"t": [1], "k": ["a"], "v": [1.5]}, TypeError, "truncated"),
        ({"t": [1], "k": [7], "v": [1]}, TypeError, "'k' was of type string before and is of type int64"),
        ({"t": [datetime(2024, 1, 1)], "k": ["a"], "v": [1]}, TypeError, "'t' was of type int64"),
    ],
)
def test_a_later_table_of_other_columns_or_types(columns: Any, error: Any, message: str) -> None:
    operator = begun()
    before = operator.snapshot()
    with pytest.raises(error, match=message):
        operator.push(pa.table(columns))
    assert operator.snapshot() == before
    assert operator.metrics.rows_in == 1


def test_types_that_mean_the_same_are_cast() -> None:
    operator = begun()
    table = pa.table({"v": pa.array([2], pa.int8()), "k": pa.array(["a"]).dictionary_encode(), "t": [2.0]})
    operator.push(table)
    operator.push(pa.table({"v": pa.nulls(1), "k": pa.nulls(1), "t": [3]}))
    assert operator.finish()["total"].to_pylist() == [3, None]


@pytest.mark.parametrize("watermark", ["2024-01-01", datetime(2024, 1, 1), 2.5, None, True])
def test_a_watermark_of_the_wrong_kind(watermark: Any) -> None:
    for operator in (QUERY.open(), begun()):
        with pytest.raises(TypeError, match=r"watermark .*: column 't' asks for an integer"):
            operator.advance(watermark)


@pytest.mark.parametrize("push_first", [False, True])
def test_an_integer_is_no_watermark_of_timestamps(push_first: bool) -> None:
    operator = HOURLY.open()
    if push_first:
        operator.push(pa.table({"t": [datetime(2024, 1, 1)]}))
    with pytest.raises(TypeError, match="asks for a datetime or ISO 8601 text"):
        operator.advance(5)


def test_a_watermark_before_any_row_settles_what_times_are() -> None:
    """The windows do not say it: Rows count in any kind of time."""
    query = wr.query(time="t").window(wr.Rows(1)).agg(n=wr.count())
    operator = query.open()
    operator.advance(5)
    with pytest.raises(TypeError, match="asks for an integer"):
        operator.advance("2024-01-01")
    with pytest.raises(TypeError, match="'t' holds timestamps, unlike the watermark given before"):
        query.restore(operator.snapshot()).push(pa.table({"t": [datetime(2024, 1, 1)]}))
    operator.push(pa.table({"t": [4, 5]}))
    assert operator.metrics.late == {"order_passed": 1}


@pytest.mark.parametrize("delay", [-1, "-1s", "1mo", "1y"])
def test_a_delay_that_is_negative_or_has_no_length(delay: Any) -> None:
    with pytest.raises(ValueError, match="watermark="):
        wr.query(time="t", watermark=delay)


def test_windows_and_times_of_different_kinds() -> None:
    with pytest.raises(TypeError, match=r"'t' holds timestamps but Tumbling\(10\) is meant for integers"):
        QUERY.open().push(pa.table({"t": [datetime(2024, 1, 1, tzinfo=UTC)], "k": ["a"], "v": [1]}))
    with pytest.raises(TypeError, match=r"'t' holds integers but Tumbling\('1h'\) is meant for timestamps"):
        HOURLY.open().push(pa.table({"t": [1]}))
    with pytest.raises(TypeError, match="'t' is of type string: give timestamps, dates or integers"):
        HOURLY.open().push(pa.table({"t": ["2024-01-01"]}))


def test_after_finish_only_what_was_counted_can_be_asked() -> None:
    operator = begun()
    assert operator.finish().num_rows == 1
    calls: list[Any] = [
        lambda: operator.push(ROWS),
        lambda: operator.advance(5),
        operator.poll,
        operator.finish,
        operator.snapshot,
        lambda: operator.add_window(x=wr.Tumbling(5)),
        lambda: operator.remove_window("x"),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"this operator is finished: open\(\) another one"):
            call()
    assert operator.metrics.windows_fired == 1


@pytest.mark.parametrize("name", ["late_by", "late_reason"])
def test_a_column_that_late_rows_get_must_not_be_there(name: str) -> None:
    query = wr.query(time="t", late="return").window(wr.Tumbling(10)).agg(n=wr.count())
    with pytest.raises(ValueError, match=f"column '{name}', which is added to rows: rename it"):
        query.open().push(pa.table({"t": [1], name: [1]}))


def test_a_column_that_results_get_must_not_be_there() -> None:
    rolling = wr.query(time="t", output="update").rolling(5).agg(n=wr.count())
    with pytest.raises(ValueError, match="column 'is_final', which is added to rows: rename it"):
        rolling.open().push(pa.table({"t": [1], "is_final": [1]}))
    with pytest.raises(ValueError, match="duplicate result column 'revision'"):
        wr.query(time="t", output="update").window(wr.Tumbling(5)).agg(revision=wr.count())


def test_late_rows_are_asked_for_where_they_are_kept() -> None:
    with pytest.raises(ValueError, match="late='return'"):
        QUERY.open().late_rows()


# -- a user's aggregate --------------------------------------------------------------------------------------


class TooMuch(Exception):
    pass


def up_to_100(a: int, b: int) -> int:
    if a + b > 100:
        raise TooMuch("more than 100")
    return a + b


def lowered(v: int) -> int:
    return 1 // (v - 13)


LIMITED = {
    compiles: wr.monoid(
        name="limited",
        lift=lambda v: v,
        combine=up_to_100,
        lower=lowered,
        identity=0,
        commutative=True,
        compile=compiles,
    )
    for compiles in (False, True)
}


@pytest.mark.parametrize("compiles", [False, True])
def test_what_an_aggregate_raises_names_aggregate_key_and_rows_and_changes_nothing(compiles: bool) -> None:
    query = wr.query(time="t", by="k").window(wr.Sliding(20, slide=10)).agg(x=LIMITED[compiles]("v"))
    operator = query.open()
    operator.push(pa.table({"t": [1, 2, 12], "k": ["a", "b", "a"], "v": [60, 1, 60]}))
    before = operator.snapshot()

    def refused(call: Any, message: str) -> None:
        with pytest.raises(AggregateError, match=f"aggregate 'limited' raised {message}"):
            call()
        assert operator.snapshot() == before

    # rows of one slice of the batch; a slice of the batch and one that is there; slices of a window; lower
    same = pa.table({"t": [None, 5, 5], "k": ["c", "c", "c"], "v": [0, 70, 80]})
    refused(lambda: operator.push(same), r"TooMuch at row 5 of key 'c' \(value 80\): more than 100")
    late = pa.table({"t": [3, 4], "k": ["b", "a"], "v": [1, 70]})
    refused(lambda: operator.push(late), "TooMuch at the rows from 1 to 4 of key 'a': more than 100")
    refused(lambda: operator.advance(20), "TooMuch at the rows from 1 to 12 of key 'a'")
    refused(operator.finish, "TooMuch at the rows from 1 to 12 of key 'a'")
    assert operator.advance(10)["x"].to_pylist() == [0, -1]


@pytest.mark.parametrize(
    "window", [wr.Session(5), wr.Session(5, max_size=50), wr.Rows(2), wr.Cumulative(20, step=10)]
)
def test_an_error_in_other_windows(window: Any) -> None:
    operator = wr.query(time="t", by=["k", "j"]).window(window).agg(x=LIMITED[False]("v")).open()
    operator.push(pa.table({"t": [1], "k": ["a"], "j": [7], "v": [60]}))
    taken = [operator.snapshot()]

    def push_and_advance() -> None:
        operator.push(pa.table({"t": [4], "k": ["a"], "j": [7], "v": [70]}))
        taken.append(operator.snapshot())
        operator.advance(100)

    with pytest.raises(AggregateError, match=r"'limited' raised TooMuch at .* of key \('a', 7\)"):
        push_and_advance()
    assert operator.snapshot() == taken[-1]


def test_an_error_in_lower_names_the_key_and_a_time_as_the_column_has_it() -> None:
    query = wr.query(time="t", by="k").window(wr.Tumbling("1h")).agg(x=LIMITED[False]("v"))
    operator = query.open()
    operator.push(pa.table({"t": [datetime(2024, 5, 1, 12)], "k": ["a"], "v": [13]}))
    with pytest.raises(
        AggregateError, match="ZeroDivisionError at the rows at 2024-05-01 12:00:00 of key 'a'"
    ):
        operator.advance("2024-05-02")
