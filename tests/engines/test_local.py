"""The local engine: errors, odd types, shared slices; each bug has a test named after it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.swag import AggregateError

TABLE = pa.table({"ts": [1, 2, 11, 12], "key": ["a", "b", "a", "b"], "v": [4.0, 0.0, 2.0, 8.0]})


def tumbled(table: pa.Table, **aggregates: Any) -> list[dict[str, Any]]:
    return wr.events(table, time="ts").window(wr.Tumbling(10)).agg(**aggregates).to_pylist()


@pytest.mark.parametrize("compile_", [True, False])
def test_an_aggregate_that_raises_names_itself_the_row_and_the_key(compile_: bool) -> None:
    inverse = wr.monoid(
        name="inverse", lift=lambda v: 1.0 / v, combine=lambda a, b: a + b, identity=0.0, compile=compile_
    )
    with pytest.raises(
        AggregateError, match=r"'inverse' raised ZeroDivisionError at row 1 of key 'b' \(value 0\.0\)"
    ):
        wr.events(TABLE, time="ts", by="key").window(wr.Tumbling(10)).agg(x=inverse("v"))


def test_a_combine_that_raises_while_rows_are_evicted_names_the_row() -> None:
    def combine(a: str, b: str) -> str:
        if a in ("b", "c"):  # what is combined without "a" is so by its eviction
            raise ArithmeticError("no a")
        return a + b

    text = wr.monoid(name="text", lift=str, combine=combine, identity="", compile=False)
    table = pa.table({"ts": [1, 2, 3, 4], "s": ["a", "b", "c", "d"]})
    message = r"'text' raised ArithmeticError at row 3 \(value 'd'\): no a"
    with pytest.raises(AggregateError, match=message):
        wr.events(table, time="ts").rolling(rows=3).agg(x=text("s"))
    with pytest.raises(AggregateError, match=message):
        wr.swag.TwoStacksLite(text).roll(["a", "b", "c", "d"], size=3)
    with pytest.raises(AggregateError, match=message):
        wr.swag.TwoStacksLite(text).roll_time([1, 2, 3, 4], ["a", "b", "c", "d"], size=3)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda: wr.events(TABLE, time="when").window(wr.Tumbling(5)).agg(n=wr.count()),
            KeyError,
            "'when'.*'ts'",
        ),
        (lambda: wr.events(TABLE, time="ts").window(wr.Tumbling(5)).agg(n=wr.sum("w")), KeyError, "'w'"),
        (
            lambda: wr.events(TABLE, time="ts", by="k").window(wr.Tumbling(5)).agg(n=wr.count()),
            KeyError,
            "'k'",
        ),
        (
            lambda: wr.events(TABLE, time="v").window(wr.Tumbling(5)).agg(n=wr.count()),
            TypeError,
            "of type double",
        ),
        (
            lambda: wr.events(TABLE, time="ts").window(wr.Tumbling("5m")).agg(n=wr.count()),
            TypeError,
            "integers",
        ),
        (lambda: wr.events(TABLE, time="ts").rolling("5m").agg(n=wr.count()), TypeError, "integers"),
        (lambda: wr.events(TABLE, time="ts").rolling(rows=2).agg(v=wr.sum("v")), ValueError, "'v' already"),
        (
            lambda: wr.events([1, 2], time="ts").window(wr.Tumbling(5)).agg(n=wr.count()),
            TypeError,
            "not a table",
        ),
        (lambda: wr.query(time="ts").agg(n=wr.count()), TypeError, "first"),
        (lambda: wr.query(time="ts").window(wr.Tumbling(5)).agg(), TypeError, "at least one"),
        (lambda: wr.query(time="ts").window(wr.Tumbling(5)).agg(n=wr.sum), TypeError, "no column"),
        (
            lambda: wr.query(time="ts").window(wr.Tumbling(5)).agg(window_end=wr.count()),
            ValueError,
            "duplicate",
        ),
        (lambda: wr.query(time="ts").window(wr.Tumbling(5), wr.Tumbling(6)), TypeError, "names"),
        (lambda: wr.query(time="ts").window(5), TypeError, "wr.Tumbling"),  # type: ignore[arg-type]
        (lambda: wr.query(time="ts").window(wr.Tumbling(5)).window(wr.Tumbling(6)), TypeError, "already"),
        (lambda: wr.query(time="ts").rolling(), TypeError, "one of"),
        (lambda: wr.query(time="ts").rolling(rows=0), ValueError, "at least 1"),
        (lambda: wr.query(time="ts", by=["a", "a"]), ValueError, "twice"),
        (lambda: wr.query(time="ts", empty="fill"), ValueError, "'skip', 'include'"),  # type: ignore[arg-type]
        (lambda: wr.query(time="ts").window(wr.Tumbling(5)).run(TABLE), TypeError, "computes nothing"),
        (lambda: wr.sum("v", nulls="propagate", nan="ignore"), ValueError, "not supported"),
    ],
)
def test_errors_name_the_input_and_the_remedy(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_rows_without_a_time_are_left_out_with_a_warning_at_the_callers_line() -> None:
    table = pa.table({"ts": [1, None, 2], "v": [1, 2, 3]})
    with pytest.warns(wr.RejectedRows, match="1 of 3 rows") as caught:
        assert tumbled(table, s=wr.sum("v")) == [{"window_start": 0, "window_end": 10, "s": 4}]
    assert caught[0].filename == __file__


def test_many_windows_share_slices_and_agree_with_one_at_a_time() -> None:
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "ts": rng.integers(-500, 500, 2_000),
            "key": rng.integers(0, 5, 2_000),
            "v": rng.integers(0, 100, 2_000),
            "name": rng.choice(["x", "y", "z"], 2_000),
        }
    )
    windows: dict[str, Any] = {
        "a": wr.Tumbling(10),
        "b": wr.Sliding(70, slide=20),
        "c": wr.Cumulative(60, step=20),
        "d": wr.Fixed(-100, 150),
        "e": wr.Session(3),
    }
    aggregates = {
        "top": wr.max("v"),
        "who": wr.arg_max("v", value="name"),
        "mean": wr.mean("v"),
        "names": wr.concat("name"),
        "n": wr.count(),
    }
    query = wr.query(time="ts", by="key")
    together = query.window(**windows).agg(**aggregates).run(table)
    for name, window in windows.items():
        alone = query.window(**{name: window}).agg(**aggregates).run(table)
        mine = together.filter(pa.array([w == name for w in together["window"].to_pylist()]))
        assert mine.num_rows == alone.num_rows > 0
        for column in alone.column_names:
            assert mine[column].to_pylist() == pytest.approx(alone[column].to_pylist())


def test_dictionary_encoded_key_with_a_null() -> None:
    table = TABLE.set_column(1, "key", pa.array(["a", None, "a", None]).dictionary_encode())
    found = wr.events(table, time="ts", by="key").window(wr.Tumbling(100)).agg(s=wr.sum("v")).to_pylist()
    assert [(row["key"], row["s"]) for row in found] == [("a", 6.0), (None, 8.0)]


def test_string_views_as_key_and_value() -> None:
    views = pa.array(["a", "b", "a", "b"], pa.string_view())
    table = TABLE.set_column(1, "key", views)
    found = (
        wr.events(table, time="ts", by="key")
        .window(wr.Tumbling(100))
        .agg(k=wr.last("key"), c=wr.concat("key"))
    )
    assert found["k"].to_pylist() == ["a", "b"]
    assert found["c"].to_pylist() == ["aa", "bb"]


def test_largest_date_with_nulls() -> None:
    days = pa.array([None, dt.date(2024, 1, 2), dt.date(2024, 1, 1), None], pa.date32())
    table = TABLE.append_column("day", days)
    found = wr.events(table, time="ts").rolling(rows=1).agg(d=wr.max("day"))["d"]
    assert found.to_pylist() == [None, dt.date(2024, 1, 2), dt.date(2024, 1, 1), None]
    assert found.type == pa.date32()


def test_unsigned_integers_beyond_63_bits() -> None:
    table = TABLE.append_column("u", pa.array([2**63 + 5, 1, 2, 3], pa.uint64()))
    assert tumbled(table, m=wr.max("u"))[0]["m"] == 2**63 + 5


def test_integer_sums_beyond_64_bits_are_an_error_that_says_so() -> None:
    table = TABLE.append_column("big", pa.array([2**62] * 4))
    with pytest.raises(OverflowError, match="does not fit int64"):
        wr.events(table, time="ts").window(wr.Tumbling(100)).agg(s=wr.sum("big"))
    assert (
        wr.events(table, time="ts").window(wr.Tumbling(100)).agg(m=wr.mean("big"))["m"][0].as_py() == 2.0**62
    )


def test_a_row_in_year_9999_costs_no_more_than_its_own_windows() -> None:
    moments = [dt.datetime(2024, 1, 1), dt.datetime(9999, 12, 31)]
    table = pa.table({"ts": pa.array(moments, pa.timestamp("us")), "v": [1, 2]})
    windows = {"minute": wr.Tumbling("1m"), "day": wr.Tumbling("1d", timezone="Europe/Berlin")}
    found = wr.events(table, time="ts").window(**windows).agg(s=wr.sum("v"))
    assert found["s"].to_pylist() == [1, 2, 1, 2]
    with pytest.raises(ValueError, match="empty='include'"):
        wr.events(table, time="ts", empty="include").window(wr.Tumbling("1m")).agg(s=wr.sum("v"))


def test_explain_tells_what_runs() -> None:
    query = wr.query(time="ts", by="key").window(a=wr.Sliding(10, slide=2), b=wr.Policy(lambda t, o: False))
    text = query.agg(n=wr.count(), s=wr.sum("v"), c=wr.concat("v")).explain()
    assert "s = sum('v'): TwoStacksLite over rows: amortised constant time" in text
    assert "s = sum('v'): AMTA over rows: many values leave at once" in text
    assert "up to 5" in text
    assert "plain Python" in text
    shared = wr.query(time="ts").window(a=wr.Tumbling(10), b=wr.Tumbling(5)).agg(s=wr.sum("v")).explain()
    assert "cut at the edges of a, b" in shared
    late = wr.query(time="ts", by="plane").window(wr.Threshold("late")).agg(s=wr.sum("v")).explain()
    assert "Threshold('late'): each row is in at most one window" in late
    assert "Threshold('late'): the rows of windows that are not complete" in late


def test_explain_says_what_windows_by_time_are_ranges_of_and_why() -> None:
    query, two = wr.query(time="ts", empty="include"), {"a": wr.Tumbling(10), "b": wr.Sliding(9, slide=4)}
    alone = query.window(a=wr.Tumbling(10), visit=wr.Session(3)).agg(s=wr.sum("v")).explain()
    assert "ranges of rows: there is no second window" in alone
    together = query.window(**two, visit=wr.Session(3)).agg(s=wr.sum("v")).explain()
    assert "ranges of slices: rows are folded into them once, for all of these windows" in together
    unsorted = query.window(wr.Tumbling(10)).agg(s=wr.sum("v")).explain()
    assert "rows: as they come, where all aggregates compile for the data; otherwise sorted by ts" in unsorted
    assert "ranges of slices: rows are folded into them as they come, and need not be sorted" in unsorted
    neither = query.window(visit=wr.Session(3)).agg(s=wr.sum("v")).explain()
    assert "windows by time" not in neither


@pytest.mark.parametrize("empty", ["skip", "emit"])
@pytest.mark.parametrize("count", [2, 40, 120])
def test_windows_together_give_what_each_gives_alone(count: int, empty: Any) -> None:
    rng = np.random.default_rng(count)
    moments = rng.integers(-500, 3_000, 400)
    table = pa.table({"ts": moments, "key": rng.integers(0, 3, 400), "v": rng.integers(0, 99, 400)})
    chosen: dict[str, Any] = {
        f"w{k}": wr.Sliding(10 + 7 * k, slide=3 + 2 * k) if k % 2 else wr.Tumbling(5 + 3 * k, offset=k)
        for k in range(count)
    }
    chosen |= {"visit": wr.Session(4), "steps": wr.Cumulative(100, step=10), "band": wr.Fixed(50, 200)}
    asked = wr.query(time="ts", by="key", empty=empty)
    aggregates = {
        "s": wr.sum("v"),
        "n": wr.count(),
        "f": wr.first("v"),
        "all": wr.collect("v"),
        "sd": wr.stddev("v"),
    }
    together = asked.window(**chosen).agg(**aggregates).run(table)
    alone = [asked.window(**{name: window}).agg(**aggregates).run(table) for name, window in chosen.items()]
    wanted = pa.concat_tables(alone)
    assert together.drop(["sd"]).equals(wanted.drop(["sd"]))
    np.testing.assert_allclose(together["sd"].to_numpy(), wanted["sd"].to_numpy(), rtol=1e-9, atol=1e-9)
