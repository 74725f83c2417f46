"""query.run against the oracle: times of every type, days on which clocks change, tables of every kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from support.oracle_checks import MANY, check, table
from windrow.testing import assert_same_results, evaluate

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")

# -- times ---------------------------------------------------------------------------------------------------

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MOMENTS = [NOON + timedelta(minutes=m) for m in (7, 0, -3, 61, 59, 60)] + [
    datetime(1969, 12, 31, 23, 59, tzinfo=UTC)
]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_and_zone(unit: Any, zone: str | None) -> None:
    aware = pa.array(MOMENTS, pa.timestamp("us", "UTC")).cast(pa.timestamp(unit, zone or "UTC"))
    rows = table(aware if zone else aware.cast(pa.timestamp(unit)))
    query = wr.query(time="ts").window(
        hour=wr.Tumbling("1h"),
        visit=wr.Session("30m"),
        day=wr.Tumbling("1d", timezone="Asia/Kolkata"),
        rows=wr.Rows(2),
    )
    found = check(query.agg(n=wr.count(), s=wr.concat("s")), rows)
    assert found.schema.field("window_start").type == rows.schema.field("ts").type
    check(wr.query(time="ts").rolling("1h").agg(so_far=wr.concat("s")), rows)


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_edges_finer_than_the_unit_of_the_column_are_exact(unit: Any) -> None:
    rows = table(pa.array(MOMENTS, pa.timestamp("us", "UTC")).cast(pa.timestamp(unit, "UTC")))
    check(wr.query(time="ts").window(wr.Tumbling("1s", offset="300us")).agg(n=wr.count()), rows)


@pytest.mark.parametrize("dtype", [pa.int64(), pa.int32(), pa.int16(), pa.uint32()], ids=str)
def test_integer_times_of_any_width(dtype: Any) -> None:
    rows = table(pa.array(MANY, dtype))
    check(wr.query(time="ts").window(a=wr.Sliding(10, slide=4), b=wr.Session(3)).agg(s=wr.concat("s")), rows)


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_row_in_year_9999(zone: str | None) -> None:
    moments = [datetime(9999, 12, 31, 23, 30), datetime(2024, 5, 1, 12), datetime(9999, 12, 31, 22, 59)]
    rows = table(pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("us", zone)))
    query = wr.query(time="ts").window(
        hour=wr.Tumbling("1h"),
        slide=wr.Sliding("2h", slide="30m"),
        visit=wr.Session("1h"),
        day=wr.Tumbling("1d", timezone="Europe/Berlin"),
        month=wr.Tumbling("1mo"),
    )
    check(query.agg(n=wr.count(), s=wr.concat("s")), rows)
    check(wr.query(time="ts").rolling("1h").agg(so_far=wr.concat("s")), rows)


DST = {
    "Berlin in spring": ("Europe/Berlin", datetime(2024, 3, 31)),
    "Berlin in autumn": ("Europe/Berlin", datetime(2024, 10, 27)),
    "Sao Paulo skips midnight": ("America/Sao_Paulo", datetime(2018, 11, 4)),
    "Sao Paulo repeats an hour before midnight": ("America/Sao_Paulo", datetime(2018, 2, 18)),
    "Apia skips a day": ("Pacific/Apia", datetime(2011, 12, 30)),
}


@pytest.mark.parametrize(("zone", "day"), DST.values(), ids=DST)
def test_local_days_when_the_clocks_change(zone: str, day: datetime) -> None:
    moments = [day + timedelta(minutes=30 * k) for k in range(-60, 100, 3)]
    rows = table(pa.array(moments[::-1], pa.timestamp("us", "UTC")))
    query = wr.query(time="ts", empty="include").window(
        day=wr.Tumbling("1d", timezone=zone),
        shifted=wr.Tumbling("1d", offset="6h", timezone=zone),
        two=wr.Sliding("2d", slide="1d", timezone=zone),
        week=wr.Tumbling("1w", timezone=zone),
        month=wr.Tumbling("1mo", timezone=zone),
        parts=wr.Cumulative("1d", step="6h", timezone=zone),
        fixed=wr.Fixed(day, "1d", timezone=zone),
    )
    check(query.agg(n=wr.count(), first=wr.first("n"), last=wr.last("n")), rows)


# -- kinds of tables -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (lambda rows: rows, pa.Table),
        (lambda rows: rows.to_pandas(), pd.DataFrame),
        (pl.from_arrow, pl.DataFrame),
        (duckdb.from_arrow, duckdb.DuckDBPyRelation),
    ],
    ids=["arrow", "pandas", "polars", "duckdb"],
)
def test_results_are_the_kind_of_table_that_came_in(kind: Any, wanted: type) -> None:
    moments = pa.array([*MOMENTS[:6], None], pa.timestamp("us", "UTC"))
    rows = table(moments, key=["a", "b", "a", None, "b", "a", "a"])
    window = wr.query(time="ts", by="key").window(h=wr.Tumbling("1h"), s=wr.Session("5m"))
    query = window.agg(total=wr.sum("n"), s=wr.concat("s"))
    found = query.run(kind(rows))
    assert isinstance(found, wanted)
    assert_same_results(found, evaluate(query, rows))
    rolling = wr.query(time="ts", by="key").rolling("1h").agg(total=wr.sum("n"))
    rolled = rolling.run(kind(rows))
    assert isinstance(rolled, wanted)
    assert_same_results(rolled, evaluate(rolling, rows))


def test_events_runs_at_once() -> None:
    rows = table(MANY)
    found = wr.events(rows, time="ts").window(wr.Tumbling(10)).agg(s=wr.concat("s"))
    assert_same_results(
        found, evaluate(wr.query(time="ts").window(wr.Tumbling(10)).agg(s=wr.concat("s")), rows)
    )


def test_a_sliced_table_and_one_of_many_chunks() -> None:
    rows = table(MANY, key=["a", "b"] * 4)
    query = wr.query(time="ts", by="key").window(wr.Session(6)).agg(s=wr.concat("s"), total=wr.sum("n"))
    for other in (rows.slice(2, 5), pa.concat_tables([rows.slice(0, 3), rows.slice(3, 0), rows.slice(3)])):
        check(query, other)
