"""Ways to call a query: methods of frames, ``pipe``, ``with``, and results of the kind that is pushed."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
import windrow.frames

ROWS = {"t": [1, 2, 25], "k": ["a", "b", "a"], "v": [5.0, 9.0, 4.0]}
TENS = wr.query(time="t", by="k", watermark=0, late="return").window(wr.Tumbling(10)).agg(top=wr.max("v"))


@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_an_operator_returns_the_kind_of_table_that_is_pushed(kind: Any) -> None:
    operator = TENS.open()
    table = kind(ROWS)
    results = operator.push(table)
    assert type(results) is type(table)
    assert list(results["top"].to_numpy()) == [5.0, 9.0]
    assert len(operator.push(kind({"t": [3], "k": ["a"], "v": [1.0]}))) == 0
    late = operator.late_rows()
    assert type(late) is type(table)
    assert list(late["t"].to_numpy()) == [3]
    for more in (operator.push_parts([table]), operator.advance(30), operator.poll(), operator.finish()):
        assert type(more) is type(table)


def test_results_are_arrow_before_the_first_push_and_follow_the_last() -> None:
    operator = TENS.open()
    assert isinstance(operator.advance(0), pa.Table)
    assert isinstance(operator.push(pd.DataFrame(ROWS)), pd.DataFrame)
    assert isinstance(operator.push(pa.table(ROWS)), pa.Table)
    assert isinstance(operator.finish(), pa.Table)


def test_a_push_that_fails_leaves_the_kind_of_results() -> None:
    operator = TENS.open()
    operator.push(pa.table(ROWS))
    with pytest.raises(KeyError):
        operator.push(pd.DataFrame({"t": [26]}))
    with pytest.raises(KeyError):
        operator.push_parts([pd.DataFrame(ROWS), pd.DataFrame({"t": [26]})])
    assert isinstance(operator.finish(), pa.Table)


def test_tables_of_results_come_one_by_one_as_the_kind_that_was_pushed() -> None:
    found = list(TENS.open().over([pd.DataFrame(ROWS), pd.DataFrame({"t": [31], "k": ["b"], "v": [1.0]})]))
    assert [type(table) for table in found] == [pd.DataFrame] * 3
    assert [len(table) for table in found] == [2, 1, 1]


def test_an_operator_is_closed_where_with_ends_and_its_state_stays() -> None:
    store = wr.state.MemoryStore()
    with TENS.open(store=store) as operator:
        assert operator.push(pa.table(ROWS)).num_rows == 2
    for call in (lambda: operator.push(pa.table(ROWS)), operator.finish):
        with pytest.raises(RuntimeError, match="this operator is finished"):
            call()
    with TENS.open(store=store) as operator:
        assert operator.finish()["top"].to_pylist() == [4.0]


def test_with_ends_though_a_push_raises() -> None:
    with pytest.raises(KeyError), TENS.open() as operator:
        operator.push(pa.table({"t": [1]}))
    with pytest.raises(RuntimeError, match="finished"):
        operator.poll()


def test_pipe_runs_a_query() -> None:
    frame = pd.DataFrame(ROWS)
    pd.testing.assert_frame_equal(frame.pipe(TENS), TENS.run(frame))
    asof = wr.query(time="t", by="k").asof(10).agg(n=wr.count())
    labels = pd.DataFrame({"t": [3, 3], "k": ["a", "c"]})
    assert frame.pipe(asof, at=labels)["n"].tolist() == [1, 0]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_frames_have_a_method_that_starts_a_query(kind: Any) -> None:
    found = kind(ROWS).wr.query(time="t", by="k").rolling(10).agg(top=wr.max("v"))
    assert list(found["top"].to_numpy()) == [5.0, 9.0, 4.0]
    with pytest.raises(TypeError, match=r"events\(\) has no keyword 'on': did you mean 'time'"):
        kind(ROWS).wr.query(on="t")


def test_a_named_index_of_times_is_the_time_column() -> None:
    times = pd.to_datetime(["2024-05-01 12:01", "2024-05-01 12:04", "2024-05-01 13:12"])
    calls = pd.DataFrame({"len": [5, 9, 4]}, index=pd.DatetimeIndex(times, name="ts"))
    rolled = wr.events(calls, time="ts").rolling("1h").agg(top=wr.max("len"))
    assert rolled["top"].tolist() == [5, 9, 4]
    assert list(rolled["ts"]) == list(times)
    hours = wr.events(calls, time="ts").window(wr.Tumbling("1h")).agg(n=wr.count())
    assert hours["n"].tolist() == [2, 1]
    labels = pd.DataFrame({"x": [1]}, index=pd.DatetimeIndex(["2024-05-01 13:00"], name="at"))
    seen = wr.query(time="ts").asof("1d").agg(n=wr.count()).run(calls, at=labels, at_time="at")
    assert seen["n"].tolist() == [2]


def test_an_index_that_nobody_asks_for_stays_out() -> None:
    calls = pd.DataFrame(ROWS, index=pd.Index(["x", "y", "z"], name="name"))
    assert list(wr.events(calls, time="t").rolling(10).agg(n=wr.count()).columns) == ["t", "k", "v", "n"]


def test_sizes_in_names_have_no_spaces() -> None:
    query = wr.query(time="t").rolling("1 day", "1 hour 30 minutes", "7d").agg(n=wr.count())
    assert query.result_names == ["n_1d", "n_1h30m", "n_7d"]
    assert wr.query(time="t").asof("10 minutes", "1h").agg(n=wr.count()).result_names == ["n_10m", "n_1h"]
    with pytest.raises(ValueError, match="two sizes are named '1d'"):
        wr.query(time="t").rolling("1d", "1 day")


def test_completion_offers_steps_and_settings() -> None:
    names = [name for name in dir(TENS) if not name.startswith("__")]
    assert set(names) >= {
        "window",
        "rolling",
        "asof",
        "agg",
        "run",
        "open",
        "restore",
        "explain",
        "time",
        "by",
    }
    assert not set(names) & {"asof_over", "rolling_over", "corrects", "in_zone", "names_windows", "_with"}
    assert all(hasattr(TENS, name) for name in names)


def test_columns_of_max_by_are_in_the_order_of_other_systems() -> None:
    duckdb = pytest.importorskip("duckdb")
    calls = pa.table({"t": [1, 2, 3], "who": ["a", "b", "c"], "x": [2.0, 9.0, 1.0]})
    found = (
        wr.events(calls, time="t")
        .window(wr.Tumbling(10))
        .agg(most=wr.max_by("who", "x"), least=wr.min_by("who", "x"))
    )
    expected = duckdb.sql(
        "SELECT max_by(who, x) AS most, min_by(who, x) AS least FROM calls"
    ).to_arrow_table()
    assert found.select(["most", "least"]).to_pylist() == expected.to_pylist()
