"""The oracle against libraries that have the same feature and share no code with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.testing import assert_same_results, evaluate

Row = dict[str, Any]

ORIGIN = datetime(2024, 3, 30, tzinfo=UTC)
VALUES = st.one_of(st.none(), st.integers(-50, 50))


def rows(
    times: st.SearchStrategy[Any], *, unique: bool = False, min_size: int = 1
) -> st.SearchStrategy[list[Row]]:
    row = st.fixed_dictionaries({"ts": times, "key": st.sampled_from(["a", "b"]), "v": VALUES})
    return st.lists(
        row, min_size=min_size, max_size=25, unique_by=(lambda row: row["ts"]) if unique else None
    )


MINUTES = st.integers(-300, 300).map(lambda minutes: ORIGIN + timedelta(minutes=minutes))


def polars_of(data: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(data, schema={"ts": pl.Datetime("us", "UTC"), "key": pl.String, "v": pl.Int64}).sort(
        "ts"
    )


@settings(max_examples=examples(60))
@given(
    data=rows(MINUTES),
    minutes=st.integers(1, 90).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size))),
)
def test_sliding_windows_of_polars(data: list[Row], minutes: tuple[int, int]) -> None:
    size, slide = minutes
    query = wr.query(time="ts", by="key").window(wr.Sliding(f"{size}m", slide=f"{slide}m"))
    expected = (
        polars_of(data)
        .group_by_dynamic("ts", every=f"{slide}m", period=f"{size}m", group_by="key", include_boundaries=True)
        .agg(n=pl.col("v").count(), largest=pl.col("v").max())
        .select("key", window_start="_lower_boundary", window_end="_upper_boundary", n="n", largest="largest")
    )
    found = evaluate(query.agg(n=wr.count("v"), largest=wr.max("v")), data)
    # The first window of Polars is the last that holds a key's first row: it leaves out those before
    first = {key: min(row["ts"] for row in data if row["key"] == key) for key in {row["key"] for row in data}}
    step = timedelta(minutes=slide)
    assert_same_results([row for row in found if row["window_start"] > first[row["key"]] - step], expected)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@settings(max_examples=examples(30))
@given(data=rows(st.integers(-2000, 6000).map(lambda hours: ORIGIN + timedelta(hours=hours))))
def test_local_days_weeks_and_months_of_polars(zone: str, data: list[Row]) -> None:
    frame = polars_of(data).with_columns(pl.col("ts").dt.convert_time_zone(zone))
    for size in ("1d", "1w", "1mo"):
        query = wr.query(time="ts", by="key").window(wr.Tumbling(size, timezone=zone)).agg(n=wr.count())
        expected = (
            frame.group_by_dynamic("ts", every=size, group_by="key", include_boundaries=True)
            .agg(n=pl.len().cast(pl.Int64))
            .select("key", window_start="_lower_boundary", window_end="_upper_boundary", n="n")
        )
        assert_same_results(evaluate(query, data), expected)


@settings(max_examples=examples(60))
@given(data=rows(MINUTES, unique=True), minutes=st.integers(1, 200))
def test_rolling_by_time_of_pandas(data: list[Row], minutes: int) -> None:
    query = wr.query(time="ts").rolling(f"{minutes}m").agg(n=wr.count("v"), total=wr.sum("v"))
    frame = pd.DataFrame(data).astype({"v": float}).sort_values("ts").set_index("ts")
    rolling = frame["v"].rolling(f"{minutes}min", min_periods=1)
    expected = pd.DataFrame({"ts": frame.index, "total": rolling.sum().to_numpy()})
    found = [{"ts": row["ts"], "total": row["total"]} for row in evaluate(query, data)]
    assert_same_results(found, expected)


@settings(max_examples=examples(60))
@given(data=rows(MINUTES, unique=True), count=st.integers(1, 8))
def test_rolling_by_rows_of_pandas(data: list[Row], count: int) -> None:
    query = wr.query(time="ts", min_count=2).rolling(rows=count).agg(largest=wr.max("v"))
    frame = pd.DataFrame(data).astype({"v": float}).sort_values("ts")
    expected = pd.DataFrame(
        {"ts": frame["ts"], "largest": frame["v"].rolling(count, min_periods=min(2, count)).max()}
    )
    found = [{"ts": row["ts"], "largest": row["largest"]} for row in evaluate(query, data)]
    if count >= 2:
        assert_same_results(found, expected)
    else:
        assert all(row["largest"] is None for row in found)


@settings(max_examples=examples(40))
@given(data=rows(MINUTES), minutes=st.sampled_from([5, 7, 60]))
def test_filled_gaps_of_pandas(data: list[Row], minutes: int) -> None:
    query = wr.query(time="ts", empty="include").window(wr.Tumbling(f"{minutes}m")).agg(n=wr.count())
    counted = pd.Series(1, index=[row["ts"] for row in data]).sort_index()
    counted = counted.resample(f"{minutes}min", origin="epoch").sum()
    found = [{"window_start": row["window_start"], "n": row["n"]} for row in evaluate(query, data)]
    assert_same_results(found, pd.DataFrame({"window_start": counted.index, "n": counted.to_numpy()}))


@settings(max_examples=examples(40))
@given(data=rows(st.integers(-30, 30)), size=st.integers(1, 20))
def test_peers_of_range_frames_in_duckdb(data: list[Row], size: int) -> None:
    query = wr.query(time="ts", by="key").rolling(size).agg(n=wr.count(), total=wr.sum("v"))
    table = pl.DataFrame(data, schema={"ts": pl.Int64, "key": pl.String, "v": pl.Int64}).to_arrow()
    expected = duckdb.from_arrow(table).query(
        "events",
        f"""SELECT ts, key, v, count(*) OVER w AS n, (sum(v) OVER w)::BIGINT AS total FROM events
        WINDOW w AS (PARTITION BY key ORDER BY ts RANGE BETWEEN {size - 1} PRECEDING AND CURRENT ROW)""",
    )
    assert_same_results(evaluate(query, data), expected.to_arrow_table())


@settings(max_examples=examples(40))
@given(data=rows(st.integers(-60, 60)), gap=st.integers(1, 15))
def test_sessions_by_sql_in_duckdb(data: list[Row], gap: int) -> None:
    query = wr.query(time="ts", by="key").window(wr.Session(gap)).agg(n=wr.count())
    table = pl.DataFrame(data, schema={"ts": pl.Int64, "key": pl.String, "v": pl.Int64})
    expected = duckdb.from_arrow(table.with_row_index("i").to_arrow()).query(
        "events",
        f"""WITH steps AS (
            SELECT *, ts - lag(ts) OVER (PARTITION BY key ORDER BY ts, i) > {gap} AS is_new FROM events
        ), numbered AS (
            SELECT *, count(*) FILTER (is_new) OVER (
                PARTITION BY key ORDER BY ts, i ROWS UNBOUNDED PRECEDING
            ) AS number FROM steps
        )
        SELECT key, min(ts) AS window_start, max(ts) + {gap} AS window_end, count(*) AS n
        FROM numbered GROUP BY key, number""",
    )
    assert_same_results(evaluate(query, data), expected.to_arrow_table())
