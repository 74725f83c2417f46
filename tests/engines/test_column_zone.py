"""Days, weeks and months of a column with a time zone are the zone's, where a window names none."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow.cli.main import main
from windrow.errors import ChangedQuery
from windrow.state import MemoryStore
from windrow.testing import StreamOracle, evaluate

NEW_YORK = "America/New_York"
#: an evening and the night after it, in New York's January; both are February in UTC
NIGHT = [datetime(2024, 1, 31, 20), datetime(2024, 2, 1, 1)]
#: the days around the changes of the clocks, every five hours
YEAR = [datetime(2024, 3, 8) + timedelta(hours=5 * k) for k in range(20)]
YEAR += [datetime(2024, 11, 1) + timedelta(hours=5 * k) for k in range(20)]
#: windows that follow the zone of the column
WINDOWS: list[Any] = [
    wr.Tumbling("1d"),
    wr.Tumbling("1 day", offset="6h"),
    wr.Tumbling("1w"),
    wr.Tumbling("1mo"),
    wr.Tumbling("1q"),
    wr.Tumbling("1y"),
    wr.Tumbling(timedelta(days=2)),
    wr.Sliding("3d", slide="1d"),
    wr.Cumulative("1d", step="6h"),
    wr.Cumulative("1mo", step="1d"),
    wr.Fixed("2024-03-10", "1d"),
]


def table(times: list[datetime], zone: str | None = NEW_YORK) -> pa.Table:
    """Rows at these readings of the zone's clock."""
    moments = [time if zone is None else time.replace(tzinfo=ZoneInfo(zone)) for time in times]
    return pa.table({"ts": pa.array(moments, pa.timestamp("us", zone)), "v": range(len(times))})


def named(window: Any, zone: str = NEW_YORK) -> Any:
    """The window with its zone written out."""
    return window.in_zone(zone)


def over(window: Any, **settings: Any) -> wr.Query:
    return wr.query(time="ts", **settings).window(window).agg(n=wr.count(), v=wr.sum("v"))


# -- tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_days_and_months_of_a_zoned_column_were_utcs(window: Any) -> None:
    rows = table(YEAR)
    found = over(window).run(rows)
    assert found.equals(over(named(window)).run(rows))
    assert found.schema.field("window_start").type == pa.timestamp("us", NEW_YORK)
    assert not found.equals(
        over(window).run(rows.set_column(0, "ts", rows["ts"].cast(pa.timestamp("us", "UTC"))))
    )
    assert found.to_pylist() == evaluate(over(window), rows)


def test_a_month_and_a_day_in_new_york_were_one_window() -> None:
    rows = table(NIGHT)
    for size in ("1mo", "1d"):
        assert over(wr.Tumbling(size)).run(rows)["n"].to_pylist() == [1, 1]
        assert over(wr.Tumbling(size, timezone="UTC")).run(rows)["n"].to_pylist() == [2]


@pytest.mark.parametrize("size", ["1d", "1mo"])
def test_days_and_months_are_those_of_pandas_and_polars(size: str) -> None:
    rows = table(YEAR)
    found = over(wr.Tumbling(size)).run(rows)
    starts, counts = found["window_start"].to_pylist(), found["n"].to_pylist()
    polars = pl.from_arrow(rows).sort("ts").group_by_dynamic("ts", every=size).agg(pl.len())  # type: ignore[union-attr]
    assert [*zip(starts, counts, strict=True)] == [*zip(polars["ts"], polars["len"], strict=True)]
    series = rows.to_pandas().set_index("ts")["v"].resample({"1d": "1D", "1mo": "MS"}[size]).count()
    kept = series[series > 0]
    assert [*zip(starts, counts, strict=True)] == [*zip(kept.index, kept, strict=True)]


def test_tables_of_every_library_have_their_zone() -> None:
    rows, query = table(NIGHT), over(wr.Tumbling("1d"))
    assert query.run(rows.to_pandas())["n"].tolist() == [1, 1]
    assert query.run(pl.from_arrow(rows))["n"].to_list() == [1, 1]
    with duckdb.connect() as connection:
        connection.execute(f"set timezone = '{NEW_YORK}'")
        assert query.run(connection.sql("select * from rows")).fetchdf()["n"].tolist() == [1, 1]
    offset = pd.DataFrame(
        {"ts": pd.to_datetime(["2024-01-31T20:00-05:00", "2024-02-01T01:00-05:00"]), "v": [1, 2]}
    )
    assert query.run(offset)["n"].tolist() == [1, 1]


def test_a_column_without_a_zone_and_one_of_utc_are_as_they_were() -> None:
    naive, utc = table(YEAR, None), table(YEAR, "UTC")
    for window in WINDOWS:
        found = over(window).run(naive)
        for rows in (utc, utc.set_column(0, "ts", utc["ts"].cast(pa.timestamp("us", "Etc/UTC")))):
            other = over(window).run(rows)
            assert other["n"].equals(found["n"])
            assert other["window_start"].cast(pa.int64()).equals(found["window_start"].cast(pa.int64()))


@pytest.mark.parametrize(
    "window", [wr.Tumbling("24h"), wr.Sliding("36h", slide="1h"), wr.Session("1d")], ids=repr
)
def test_hours_stay_where_they_are(window: Any) -> None:
    rows = table(YEAR)
    assert not window.follows_zone
    plain = over(window).run(rows.set_column(0, "ts", rows["ts"].cast(pa.timestamp("us", "UTC"))))
    found = over(window).run(rows)
    assert found["window_start"].cast(pa.int64()).equals(plain["window_start"].cast(pa.int64()))


def test_a_zone_that_is_named_is_taken() -> None:
    rows = table(NIGHT)
    found = over(wr.Tumbling("1d", timezone="Asia/Tokyo")).run(rows)
    assert found["n"].to_pylist() == [2]
    assert found["window_start"].to_pylist() == [datetime(2024, 2, 1, tzinfo=ZoneInfo("Asia/Tokyo"))]


def test_days_beside_hours_have_no_meaning_in_a_zone() -> None:
    query = over(wr.Sliding("1d", slide="1h"))
    assert query.run(table(NIGHT, None)).num_rows == 29
    message = (
        f"column 'ts' is in the time zone '{NEW_YORK}', and size '1d' counts local days and slide '1h' "
        "counts "
        f"clock time: write both in months, both in days, or both in hours or below"
    )
    with pytest.raises(ValueError, match=message):
        query.run(table(NIGHT))


# -- rolling and as-of ---------------------------------------------------------------------------------------


def test_rolling_sizes_of_days_and_months_were_utcs() -> None:
    # on the day of 23 hours, the same reading of the day before is 23 hours ago
    rows = table([datetime(2024, 3, 9, 12), datetime(2024, 3, 9, 12, 30), datetime(2024, 3, 10, 12, 15)])
    for sizes in ({"size": "1d"}, {"day": "1d", "month": "1mo"}):
        query = wr.query(time="ts").rolling(**sizes).agg(n=wr.count())  # type: ignore[arg-type]
        explicit = wr.query(time="ts").rolling(**sizes, timezone=NEW_YORK).agg(n=wr.count())  # type: ignore[arg-type]
        assert query.run(rows).equals(explicit.run(rows))
        assert query.run(rows).to_pylist() == evaluate(query, rows)
        operator = query.open()
        operator.push(rows)
        assert operator.finish().equals(query.run(rows))
    days = wr.query(time="ts").rolling("1d").agg(n=wr.count()).run(rows)
    hours = wr.query(time="ts").rolling("24h").agg(n=wr.count()).run(rows)
    assert days["n"].to_pylist() == [1, 2, 2]
    assert hours["n"].to_pylist() == [1, 2, 3]


def test_labels_see_days_of_the_zone_of_the_events() -> None:
    events = table([datetime(2024, 3, 9, 12, 30), datetime(2024, 3, 9, 11, 30), datetime(2024, 3, 10, 9)])
    labels = pa.table({"ts": table([datetime(2024, 3, 10, 12)])["ts"]})
    query = wr.query(time="ts").asof("1d", lag="1d").agg(n=wr.count())
    explicit = wr.query(time="ts").asof("1d", lag="1d", timezone=NEW_YORK).agg(n=wr.count())
    assert query.run(events, at=labels).equals(explicit.run(events, at=labels))
    one = wr.query(time="ts").asof("1d").agg(n=wr.count())
    assert one.run(events, at=labels)["n"].to_pylist() == [2]
    wr.testing.no_leak(one, events, labels)
    for store in (None, MemoryStore()):
        operator = one.open() if store is None else one.open(store=store)
        operator.push(events)
        assert operator.at(labels)["n"].to_pylist() == [2]
        restored = one.restore(operator.snapshot()) if store is None else one.open(store=store)
        assert restored.at(labels)["n"].to_pylist() == [2]


def test_an_asof_operator_keeps_events_for_the_whole_of_a_day_of_25_hours() -> None:
    query = wr.query(time="ts", watermark=0).asof("1d").agg(n=wr.count())
    # 25 hours before the label, by the clock at the same time
    events = table([datetime(2024, 11, 2, 12), datetime(2024, 11, 2, 18)])
    labels = pa.table({"ts": table([datetime(2024, 11, 3, 12)])["ts"]})
    for store in (None, MemoryStore()):
        operator = query.open() if store is None else query.open(store=store)
        operator.push(events)
        operator.push(table([datetime(2024, 11, 3, 12)]))
        assert operator.at(labels)["n"].to_pylist() == [2] == query.run(events, at=labels)["n"].to_pylist()


# -- operators -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_an_operator_takes_the_zone_of_its_first_rows(window: Any) -> None:
    query, rows = over(window, watermark="1h"), table(YEAR)
    operator, oracle = query.open(), StreamOracle(query)
    found, expected = [], []
    for part in (rows.slice(0, 15), rows.slice(15)):
        found += operator.push(part).to_pylist()
        expected += oracle.push(part)
        operator = query.restore(operator.snapshot())
    found += operator.finish().to_pylist()
    expected += oracle.finish()
    assert found == expected
    assert sorted(map(str, found)) == sorted(map(str, query.run(rows).to_pylist()))
    assert repr(operator.query.windows[0][1]) == repr(named(window))


def test_rows_of_another_zone_are_refused_where_days_are_counted() -> None:
    berlin = table(NIGHT, "Europe/Berlin")
    query = over(wr.Tumbling("1d"))
    message = (
        f"column 'ts' was in the time zone '{NEW_YORK}' before, whose days and months are counted, and is in "
        f"'Europe/Berlin' in this table: convert it before it is pushed, or name the zone of windows with "
        f"timezone="
    )
    operator = query.open()
    operator.push(table(NIGHT))
    for held in (operator, query.restore(operator.snapshot())):
        with pytest.raises(TypeError, match=message):
            held.push(berlin)
        held.push(table(NIGHT))
        assert held.finish()["n"].to_pylist() == [2, 2]
    of_utc = query.open()
    of_utc.push(table(NIGHT, "UTC"))
    with pytest.raises(TypeError, match="was in the time zone 'UTC' before"):
        of_utc.push(berlin)
    for window in (wr.Tumbling("1h"), wr.Tumbling("1d", timezone="UTC")):
        either = over(window).open()
        either.push(table(NIGHT))
        either.push(berlin)
        assert either.finish().schema.field("window_start").type.tz == NEW_YORK


def test_a_window_that_is_added_to_an_operator_takes_its_zone() -> None:
    operator = wr.query(time="ts").window(hour=wr.Tumbling("1h")).agg(n=wr.count()).open()
    operator.push(table(NIGHT[:1]))
    snapshot = operator.snapshot()
    operator.add_window(day=wr.Tumbling("1d"))
    assert operator.query.windows[1][1] == wr.Tumbling("1d", timezone=NEW_YORK)
    query = wr.query(time="ts").window(hour=wr.Tumbling("1h"), day=wr.Tumbling("1d")).agg(n=wr.count())
    restored = query.restore(snapshot)
    for each in (operator, restored):
        each.push(table([datetime(2024, 2, 1, 20), datetime(2024, 2, 2, 1)]))
        found = [row for row in each.finish().to_pylist() if row["window"] == "day"]
        assert [row["window_start"].day for row in found] == [1, 2]


def test_a_snapshot_of_another_zone_is_of_another_query() -> None:
    operator = over(wr.Tumbling("1d")).open()
    operator.push(table(NIGHT))
    over(wr.Tumbling("1d", timezone=NEW_YORK)).restore(operator.snapshot())
    with pytest.raises(ChangedQuery, match=f"was .*timezone='{NEW_YORK}'.*, is .*timezone='Europe/Berlin'"):
        over(wr.Tumbling("1d", timezone="Europe/Berlin")).restore(operator.snapshot())


def test_an_operator_in_a_store_and_one_with_history_have_their_zone() -> None:
    store, query = MemoryStore(), over(wr.Tumbling("1d"), watermark="1h")
    query.open(store=store).push(table(NIGHT))
    again = query.open(store=store)
    assert again.query.windows[0][1].timezone == NEW_YORK
    with pytest.raises(TypeError, match="was in the time zone"):
        again.push(table(NIGHT, "Europe/Berlin"))
    assert again.finish()["n"].to_pylist() == [1]
    begun = query.open(history=table(NIGHT))
    assert begun.finish()["n"].to_pylist() == [1]


def test_explain_shows_the_zone() -> None:
    query = over(wr.Tumbling("1d"))
    assert (
        "days, weeks and months: those of the time zone of 'ts', and of UTC where it has none"
        in query.explain()
    )
    assert f"Tumbling('1d', timezone='{NEW_YORK}')" in query.explain(table(NIGHT))
    assert "days, weeks and months: those of UTC" in query.explain(table(NIGHT, None))
    assert "weeks" not in over(wr.Tumbling("1h")).explain()
    rolling = wr.query(time="ts").rolling("1d").agg(n=wr.count())
    assert f"(t - 1d, t] on the calendar of {NEW_YORK}" in rolling.explain(table(NIGHT))


# -- jobs --------------------------------------------------------------------------------------------------


def test_a_job_on_the_local_engine_takes_the_zone_of_its_file(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table(NIGHT), tmp_path / "rows.parquet")
    job = tmp_path / "days.toml"
    job.write_text(
        '[source]\nformat = "parquet"\npath = "rows.parquet"\n[events]\ntime = "ts"\n'
        '[[window]]\nkind = "tumbling"\nsize = "1mo"\n[agg]\nn = "count()"\n'
        '[sink]\nformat = "parquet"\npath = "out"\n'
    )
    assert main(["run", str(job), "--engine", "local"]) == 0
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [1, 1]
