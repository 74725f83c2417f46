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
