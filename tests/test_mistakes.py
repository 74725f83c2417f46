"""Mistakes that a newcomer makes: each is answered by what is wrong and what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

CALLS = pa.table({"minute": [1, 2, 11], "region": ["n", "s", "n"], "length": [5, 9, 4]})
TENS = wr.query(time="minute").window(wr.Tumbling(10)).agg(n=wr.count())


def messages(raising: Any, kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        raising()
    return str(caught.value)


# -- columns -------------------------------------------------------------------------------------------------

WRONG = [
    (wr.query(time="minute").window(wr.Tumbling(10)).agg(n=wr.sum("lenght")), "lenght", "length"),
    (wr.query(time="minutes").window(wr.Tumbling(10)).agg(n=wr.count()), "minutes", "minute"),
    (wr.query(time="Minute").rolling(10).agg(n=wr.count()), "Minute", "minute"),
    (wr.query(time="minute", by="regoin").window(wr.Session(5)).agg(n=wr.count()), "regoin", "region"),
    (wr.query(time="minute", order="lenth").rolling(rows=2).agg(n=wr.count()), "lenth", "length"),
    (wr.query(time="minute").window(wr.Delta("leng", size=5)).agg(n=wr.count()), "leng", "length"),
    (wr.query(time="minute").window(wr.Punctuation("regio")).agg(n=wr.count()), "regio", "region"),
    (wr.query(time="minute").window(wr.Threshold("regio")).agg(n=wr.count()), "regio", "region"),
]


@pytest.mark.parametrize(("query", "wrong", "meant"), WRONG)
@pytest.mark.parametrize("engine", ["run", "push"])
def test_a_wrong_column_names_the_nearest_and_lists_all(
    query: Any, wrong: str, meant: str, engine: str
) -> None:
    evaluate = query.run if engine == "run" else query.open().push
    assert messages(lambda: evaluate(CALLS), KeyError) == (
        f"there is no column {wrong!r}: did you mean {meant!r}? The table has 'minute', 'region', 'length'"
    )


def test_a_column_like_no_other_lists_all() -> None:
    query = wr.query(time="minute").window(wr.Tumbling(10)).agg(n=wr.sum("zzz"))
    assert messages(lambda: query.run(CALLS), KeyError) == (
        "there is no column 'zzz'; the table has 'minute', 'region', 'length'"
    )


def test_of_very_many_columns_the_first_are_listed() -> None:
    wide = pa.table({"minute": [1], **{f"sensor_{k}": [1.0] for k in range(2_000)}})
    query = wr.query(time="minute").window(wr.Tumbling(10)).agg(n=wr.sum("zzz"))
    found = messages(lambda: query.run(wide), KeyError)
    assert found.endswith("'sensor_18' and 1,981 others")
    assert len(found) < 500


# -- tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "remedy"),
    [
        ([{"minute": 1}], "a list is not a table: make one with pyarrow.Table.from_pylist(rows)"),
        ({"minute": [1]}, "a dict is not a table: make one with pyarrow.table(data)"),
        (np.array([[1, 2]]), "a numpy.ndarray is not a table: name its columns, as in pyarrow.table({'ts'"),
        (
            "calls.parquet",
            "a str is not a table: read the file first, as in pyarrow.parquet.read_table(path)",
        ),
        (Path("calls.parquet"), "is not a table: read the file first"),
        (iter([CALLS]), "is not a table: open() the query and push() each batch"),
        (None, "a NoneType is not a table: give an Arrow, pandas, Polars, DuckDB or Spark table"),
        (pd.Series([1], name="minute"), "Series is not a table"),
        (pl.Series("minute", [1]), "Series is not a table"),
        (CALLS.column("minute"), "is not a table"),
    ],
)
@pytest.mark.parametrize("engine", ["run", "push"])
def test_what_is_not_a_table_is_named_with_the_remedy(data: Any, remedy: str, engine: str) -> None:
    evaluate = TENS.run if engine == "run" else TENS.open().push
    assert remedy in messages(lambda: evaluate(data), TypeError)


# -- windows and durations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "remedy"),
    [
        (
            lambda q: q.window(wr.Sliding),
            "Sliding is a class of windows: say how large they are, as in wr.Sliding('24h', slide='1m')",
        ),
        (lambda q: q.window(day=wr.Tumbling), "as in day=wr.Tumbling('1h')"),
        (
            lambda q: q.window("1h"),
            "'1h' is a duration: say which windows have it, as in wr.Tumbling('1h'), or use .rolling('1h')",
        ),
        (lambda q: q.window(10), "10 is a duration: say which windows have it, as in wr.Tumbling(10)"),
        (lambda q: q.window("hourly"), "give a wr.Tumbling or the like"),
        (lambda q: q.window(wr.max("v")), "max('v') is an aggregate: it goes into .agg(...)"),
        (lambda q: q.window(), "window() needs at least one window, such as wr.Tumbling('1h')"),
        (lambda q: q.rolling(wr.Tumbling("1h")), "Tumbling('1h') is a window: write .window(Tumbling('1h'))"),
        (lambda q: q.rolling(wr.Sliding), "Sliding is a window where a duration is wanted"),
        (
            lambda q: wr.Session(wr.Tumbling("1h")),
            "gap Tumbling('1h') is a window where a duration is wanted",
        ),
        (lambda q: wr.query(time="t", watermark=wr.Tumbling("1h")), "watermark Tumbling('1h') is a window"),
    ],
)
def test_a_window_and_a_duration_are_not_taken_for_each_other(build: Any, remedy: str) -> None:
    assert remedy in messages(lambda: build(wr.query(time="t")), TypeError)


def test_a_window_class_added_to_an_operator_is_refused() -> None:
    operator = wr.query(time="t").window(ten=wr.Tumbling(10)).agg(n=wr.count()).open()
    assert "as in visit=wr.Session('30m')" in messages(
        lambda: operator.add_window(visit=wr.Session), TypeError
    )


@pytest.mark.parametrize(
    "build",
    [
        lambda: wr.query(time="ts", watermark=10).window(wr.Tumbling("1h")),
        lambda: wr.query(time="ts", watermark="10m").window(wr.Tumbling(60)),
        lambda: wr.query(time="ts", allowed_lateness=10).window(wr.Session("1h")),
    ],
)
def test_a_watermark_that_counts_otherwise_than_the_windows_is_shown(build: Any) -> None:
    found = messages(build, ValueError)
    assert found.startswith(("watermark=10 is a plain", "watermark='10m' is a dur", "allowed_lateness=10 is"))
    assert "give durations such as '10m' in both for timestamps, or integers in both" in found


def test_a_watermark_in_plain_numbers_on_timestamps_is_refused() -> None:
    rows = pa.table({"ts": pa.array([0], pa.timestamp("s")), "v": [1]})
    query = wr.query(time="ts", watermark=10).rolling(rows=2).agg(n=wr.count())
    found = messages(lambda: query.open().push(rows), TypeError)
    assert "column 'ts' holds timestamps but watermark=10 is meant for integers" in found


# -- keywords of a query -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"tiem": "ts"}, "time"),
        ({"time": "ts", "waterMark": "1m"}, "watermark"),
        ({"time": "ts", "key": "k"}, "by"),
        ({"time": "ts", "group_by": "k"}, "by"),
        ({"timestamp": "ts"}, "time"),
        ({"time": "ts", "order_by": "k"}, "order"),
        ({"time": "ts", "min_periods": 3}, "min_count"),
    ],
)
def test_an_unknown_keyword_names_the_nearest(given: dict[str, Any], meant: str) -> None:
    wrong = next(name for name in given if name != "time")
    expected = f"() has no keyword {wrong!r}: did you mean {meant!r}? It takes time, by, watermark"
    assert f"query{expected}" in messages(lambda: wr.query(**given), TypeError)
    assert f"events{expected}" in messages(lambda: wr.events(CALLS, **given), TypeError)


def test_the_time_column_is_given_by_keyword() -> None:
    found = messages(lambda: wr.query("ts"), TypeError)  # type: ignore[misc]
    assert found == "query() takes keywords alone, as in wr.query(time='ts')"


# -- times of another kind, and words of other libraries -----------------------------------------------------

MOMENTS = pa.table({"ts": pa.array([1_714_554_000, 1_714_557_600], pa.timestamp("s")), "v": [1, 2]})
SECONDS = pa.table({"t": [1_714_554_000, 1_714_557_600], "v": [1, 2]})


def results(query: Any, table: Any, engine: str) -> Any:
    return query.run(table) if engine == "run" else query.open().push(table)


@pytest.mark.parametrize("engine", ["run", "push"])
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        (wr.query(time="ts").rolling(100), "rolling(100)"),
        (wr.query(time="ts").rolling(10, 100), "rolling(10, 100)"),
    ],
)
def test_rolling_over_a_number_printed_a_duration_of_integers(query: Any, shown: str, engine: str) -> None:
    found = messages(lambda: results(query.agg(n=wr.count()), MOMENTS, engine), TypeError)
    assert found == (
        f"column 'ts' holds timestamps but {shown} is meant for integers: give durations such as 10m, or "
        f"rows=100 for the last 100 rows"
    )


@pytest.mark.parametrize("engine", ["run", "push"])
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        (wr.query(time="t").rolling("1h"), "rolling('1h')"),
        (wr.query(time="t").rolling("1d", "7d"), "rolling('1d', '7d')"),
        (wr.query(time="t").window(wr.Tumbling("1h")), "Tumbling('1h')"),
    ],
)
def test_an_hour_of_epoch_seconds_printed_a_duration_of_microseconds(
    query: Any, shown: str, engine: str
) -> None:
    found = messages(lambda: results(query.agg(n=wr.count()), SECONDS, engine), TypeError)
    assert found == (
        f"column 't' holds integers but {shown} is meant for timestamps: give plain integers, as many as the "
        "column counts (for an hour 3600 if it counts seconds, 3600000 if milliseconds), or cast the "
        "column to "
        f"timestamps"
    )


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("mean", "wr.mean('column')"),
        ("sum", "wr.sum('column')"),
        ("avg", "wr.mean('column')"),
        ("p95", "wr.quantile('x', 0.95)"),
    ],
)
def test_an_aggregate_as_a_method_was_a_bare_attribute_error(name: str, write: str) -> None:
    for owner in (wr.query(time="ts").rolling("1h"), wr.events(MOMENTS, time="ts").rolling("1h")):
        found = messages(lambda owner=owner: getattr(owner, name), AttributeError)
        assert found.endswith(
            f"has no attribute {name!r}: aggregates go into .agg(...), as in .agg(x={write})"
        )
    query = wr.query(time="ts")
    assert messages(lambda: query.windows_, AttributeError).endswith("did you mean 'windows'?")  # type: ignore[attr-defined]
    assert messages(lambda: query._nothing, AttributeError) == "'Query' object has no attribute '_nothing'"  # type: ignore[attr-defined]


@pytest.mark.parametrize("engine", ["run", "push"])
def test_time_in_the_pandas_index_was_a_column_that_is_not_there(engine: str) -> None:
    query = wr.query(time="ts", by="v").window(wr.Tumbling("1h")).agg(n=wr.count())
    frame = MOMENTS.to_pandas()
    expected = query.run(frame).to_dict("list")
    assert len(expected["n"]) == 2
    for index in (["ts"], ["ts", "v"]):
        operator, table = query.open(), frame.set_index(index)
        found = query.run(table) if engine == "run" else [operator.push(table), operator.finish()][1]
        assert found.to_dict("list") == expected
    unnamed = frame.set_index("ts").rename_axis(None)
    assert messages(lambda: results(query, unnamed, engine), KeyError) == (
        "there is no column 'ts', and the index of this pandas table holds times without a name: give "
        "it with "
        ".rename_axis('ts').reset_index()"
    )
    assert len(results(query, frame.set_index("ts").reset_index(), "run")) == 2


@pytest.mark.parametrize(
    ("options", "write"),
    [
        ({"window": "1h"}, "the size as the first argument, '1h', or rows=100"),
        ({"window": 3}, "the size as the first argument, '1h', or rows=100"),
        ({"period": "1h"}, "the size as the first argument, '1h', or rows=100"),
        ({"size": "1h", "on": "ts"}, "wr.query(time=...)"),
        ({"rows": 3, "on": "ts"}, "wr.query(time=...)"),
        ({"size": "1h", "min_periods": 1}, "wr.query(min_count=...)"),
        ({"rows": 3, "min_periods": 1}, "wr.query(min_count=...)"),
        ({"size": "1h", "center": True}, "shift=, half of the size: .rolling('1h', shift='30m')"),
        ({"size": "1h", "by": "v"}, "wr.query(by=...)"),
    ],
)
def test_pandas_words_were_taken_for_names_of_sizes(options: dict[str, Any], write: str) -> None:
    (word,) = {*options} - {"size", "rows"}
    query = wr.query(time="ts")
    assert messages(lambda: query.rolling(**options), TypeError) == (
        f"rolling() has no keyword {word!r}: write {write}"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: wr.Tumbling("1d", tz="Europe/Berlin"),  # type: ignore[call-arg]
            "Tumbling() has no keyword 'tz': did you mean 'timezone'? It takes size, offset, timezone",
        ),
        (
            lambda: wr.Tumbling(every="1d"),  # type: ignore[call-arg]
            "Tumbling() has no keyword 'every': did you mean 'size'? It takes size, offset, timezone",
        ),
        (
            lambda: wr.Sliding("1d", every="1h"),  # type: ignore[call-arg]
            "Sliding() has no keyword 'every': did you mean 'slide'? It takes size, slide, offset, timezone",
        ),
        (lambda: wr.Sliding("1d"), "Sliding needs slide, as in wr.Sliding('24h', slide='1m')"),  # type: ignore[call-arg]
        (lambda: wr.Session(), "Session needs gap, as in wr.Session('30m')"),  # type: ignore[call-arg]
        (lambda: wr.Delta("km"), "Delta needs size, as in wr.Delta('km', size=10)"),  # type: ignore[call-arg]
    ],
)
def test_windows_answered_wrong_arguments_with_python_words(make: Any, message: str) -> None:
    assert messages(make, TypeError) == message


@pytest.mark.parametrize("engine", ["run", "push"])
def test_an_expression_in_the_place_of_a_column_was_no_column(engine: str) -> None:
    for aggregate in (wr.count(where="v > 1"), wr.sum("v * 2")):
        query = wr.query(time="ts").window(wr.Tumbling("1h")).agg(n=aggregate)
        found = messages(lambda query=query: results(query, MOMENTS, engine), KeyError)
        assert "and expressions are not computed: add a column of it to the table, and give that" in found


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("5T", "write '5m'"),
        ("5L", "write '5ms'"),
        ("1ME", "write '1mo'"),
        ("5u", "write '5us'"),
        ("10 minuts", "write '10m'"),
        ("5 fortnights", "use one of y, q, mo, w, d, h, m, s, ms, us, ns as in '1h30m'"),
    ],
)
def test_units_of_others_and_misspelt_ones_were_unknown(text: str, remedy: str) -> None:
    assert remedy in messages(lambda: wr.Tumbling(text), ValueError)


@pytest.mark.parametrize("engine", ["run", "push"])
def test_two_columns_of_one_name_were_a_bare_key_error(engine: str) -> None:
    twice = pa.table([MOMENTS["ts"], MOMENTS["v"], MOMENTS["v"]], names=["ts", "v", "v"])
    message = "the table has 2 columns named 'v': rename one of them, or leave it out"
    query = wr.query(time="ts").window(wr.Tumbling("1h")).agg(n=wr.sum("v"))
    assert messages(lambda: results(query, twice, engine), ValueError) == message
    assert messages(lambda: results(query, twice.to_pandas(), engine), ValueError) == message
    keyed = wr.query(time="ts", by="v").window(wr.Tumbling("1h")).agg(n=wr.count())
    assert messages(lambda: results(keyed, twice, engine), ValueError) == message
    rolling = wr.query(time="ts").rolling("1h").agg(n=wr.sum("v"))
    assert messages(lambda: results(rolling, twice, engine), ValueError) == message
    asof = wr.query(time="ts").asof("1h").agg(n=wr.sum("v"))
    assert messages(lambda: asof.run(twice, at=MOMENTS), ValueError) == message
    assert messages(lambda: asof.open().push(twice), ValueError) == message


def test_a_row_far_ahead_is_told_in_years_and_not_in_microseconds() -> None:
    operator = wr.query(time="ts", watermark="1h").window(wr.Tumbling("1h")).agg(n=wr.count()).open()
    operator.push(MOMENTS)
    with pytest.warns(wr.WatermarkJump, match="a row is 26 years ahead of all rows before"):
        operator.push(pa.table({"ts": pa.array([1_714_557_600 + 820_501_200], pa.timestamp("s")), "v": [1]}))


@pytest.mark.parametrize("other", ["_n", "my sum", "class", "_make"])
@pytest.mark.parametrize("engine", ["run", "push", "rolling", "store"])
def test_a_policy_beside_a_result_that_is_no_python_name_raised(other: str, engine: str) -> None:
    policy = wr.Policy(lambda total, old: total.n - old.n >= 1)
    aggregates = {"n": wr.count(), other: wr.sum("v")}
    query = wr.query(time="ts", watermark="0s")
    if engine in ("rolling", "store"):
        store = {"store": wr.state.MemoryStore()} if engine == "store" else {}
        found = query.rolling(policy, **store).agg(**aggregates).run(MOMENTS)
        assert found[other].to_pylist() == [1, 2]
        return
    windows = query.window(policy).agg(**aggregates)
    if engine == "run":
        assert windows.run(MOMENTS)[other].to_pylist() == [1, 2]
    else:
        operator = windows.open()
        first = operator.push(MOMENTS)
        operator = windows.restore(operator.snapshot())
        assert [*first[other].to_pylist(), *operator.finish()[other].to_pylist()] == [1, 2]
    reading = wr.Policy(lambda total, old: getattr(total, other) - getattr(old, other) >= 2)
    if other != "_make":
        assert wr.query(time="ts").window(reading).agg(**aggregates).run(MOMENTS).num_rows == 2
