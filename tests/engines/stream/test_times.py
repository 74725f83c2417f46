"""Times through the operator: local days that are short or long, far times, null times, idle sources."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import WatermarkJump
from windrow.testing import assert_same_results

HOUR = timedelta(hours=1)
#: days with a change of the clock, and what they begin with
CHANGES = {
    "Berlin, 23 hours": ("Europe/Berlin", datetime(2024, 3, 30, 23, tzinfo=UTC), 23),
    "Berlin, 25 hours": ("Europe/Berlin", datetime(2024, 10, 26, 22, tzinfo=UTC), 25),
    "Sao Paulo, midnight is skipped": ("America/Sao_Paulo", datetime(2018, 11, 4, 3, tzinfo=UTC), 23),
    "Sao Paulo, an hour comes twice": ("America/Sao_Paulo", datetime(2018, 2, 17, 2, tzinfo=UTC), 25),
}


@pytest.mark.parametrize(("zone", "start", "hours"), CHANGES.values(), ids=CHANGES)
def test_local_days_as_long_as_they_are(zone: str, start: datetime, hours: int) -> None:
    times = [start - 26 * HOUR + k * HOUR / 2 for k in range(2 * 80)]
    query = (
        wr.query(time="t", watermark="0s")
        .window(
            day=wr.Tumbling("1d", timezone=zone),
            two=wr.Sliding("2d", slide="1d", timezone=zone),
            far=wr.Cumulative("1d", step="6h", timezone=zone),
            month=wr.Tumbling("1mo", timezone=zone),
            visit=wr.Session("2h"),
        )
        .agg(n=wr.count(), first=wr.first("k"))
    )
    rows = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "k": range(len(times))})
    operator = query.open()
    tables = [operator.push(rows.slice(first, 17)) for first in range(0, len(times), 17)]
    found = pa.concat_tables([*tables, operator.finish()])
    assert_same_results(found, query.run(rows))
    day = next(r for r in found.to_pylist() if r["window"] == "day" and r["window_start"] == start)
    assert day["window_end"] - day["window_start"] == hours * HOUR
    assert day["n"] == 2 * hours


def test_far_and_negative_times() -> None:
    query = wr.query(time="t").window(a=wr.Sliding("2h", slide="1h"), b=wr.Session("1h")).agg(n=wr.count())
    times = [
        datetime(1, 1, 2),
        datetime(1969, 12, 31, 23, 30),
        datetime(1970, 1, 1),
        datetime(9999, 12, 31, 20),
    ]
    rows = pa.table({"t": pa.array(times, pa.timestamp("us"))})
    operator = query.open()
    for k in (3, 0, 2, 1):
        operator.push(rows.slice(k, 1))
    assert_same_results(operator.finish(), query.run(rows))
    assert operator.metrics.slices == 0


@pytest.mark.parametrize("time", [2**62, -(2**62), 2**62 - 5, -(2**62) + 5, 2**63 - 1, -(2**63)])
def test_integers_at_the_edge_of_64_bits_are_refused(time: int) -> None:
    for window in (wr.Tumbling(10), wr.Session(10), wr.Sliding(20, slide=3)):
        operator = wr.query(time="t", watermark=5).window(window).agg(n=wr.count()).open()
        with pytest.raises(
            OverflowError, match=f"'t' holds {time}, .*beyond 2.*62.*: scale or filter such rows"
        ):
            operator.push(pa.table({"t": [time]}))
        assert operator.metrics.rows_in == 0


def test_timestamps_that_leave_64_bits_as_microseconds_are_refused() -> None:
    operator = wr.query(time="t").window(wr.Tumbling("1h")).agg(n=wr.count()).open()
    with pytest.raises(OverflowError, match=r"'t' holds 1152921504606846976, beyond 2.*62 microseconds"):
        operator.push(pa.table({"t": pa.array([2**60], pa.timestamp("s"))}))
    with pytest.raises(OverflowError, match="unsigned integers beyond 63 bits"):
        wr.query(time="t").window(wr.Tumbling(5)).agg(n=wr.count()).open().push(
            pa.table({"t": pa.array([2**63], pa.uint64())})
        )


def test_large_times_that_are_just_in_reach() -> None:
    far = 2**62 - 100
    operator = (
        wr.query(time="t", watermark=0)
        .window(
            wr.Tumbling(10),
        )
        .agg(n=wr.count())
        .open()
    )
    operator.push(pa.table({"t": [-far, 0, far - 10]}))
    assert operator.finish().num_rows == 1
    assert operator.metrics.windows_fired == 3


def test_a_watermark_that_python_has_no_datetime_for_is_a_number() -> None:
    operator = wr.query(time="t", watermark="0s").window(wr.Tumbling("1h")).agg(n=wr.count()).open()
    operator.push(pa.table({"t": pa.array([2**60], pa.timestamp("us"))}))
    assert operator.metrics.watermark == 2**60


def test_rows_without_a_time_are_rejected_and_counted() -> None:
    query = wr.query(time="t", watermark=0).window(a=wr.Tumbling(10), r=wr.Rows(2)).agg(n=wr.count())
    operator = query.open()
    operator.push(pa.table({"t": pa.array([None, None], pa.int64())}))
    assert operator.metrics.watermark is None
    found = operator.push(pa.table({"t": [None, 3, None, 12, 13]}))
    assert [(row["window"], row["n"]) for row in found.to_pylist()] == [("a", 1), ("r", 2)]
    metrics = operator.metrics
    assert metrics.rejected == {"no_time": 4}
    assert (metrics.rows_in, metrics.rows_aggregated, metrics.rows_rejected) == (7, 3, 4)


# -- the clock and the watermark -----------------------------------------------------------------------------


def moments(*seconds: int) -> pa.Table:
    return pa.table({"t": pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us"))})


def test_an_idle_source_lets_event_time_go_on_with_the_clock() -> None:
    now = 1_000.0
    query = (
        wr.query(time="t", watermark="5s", idle_timeout="30s").window(wr.Tumbling("10s")).agg(n=wr.count())
    )
    operator = query.open(clock=lambda: now)
    assert operator.poll().num_rows == 0
    operator.push(moments(1, 12))
    now += 29.9
    assert operator.poll().num_rows == 0
    now += 0.1
    assert operator.poll()["n"].to_pylist() == [1, 1]
    assert operator.metrics.watermark == datetime(1970, 1, 1) + timedelta(seconds=12 - 5 + 30)
    now += 2
    operator.push(moments())
    assert operator.metrics.watermark == datetime(1970, 1, 1) + timedelta(seconds=12 - 5 + 32)
    operator.push(moments(38))
    assert operator.metrics.late == {} == operator.metrics.rejected
    operator.push(moments(11))
    assert operator.metrics.late == {"window_fired": 1}
    restored = query.restore(operator.snapshot(), clock=lambda: now)
    now += 29
    assert restored.poll().num_rows == 0
    now += 10
    assert restored.poll()["n"].to_pylist() == [1]


JUMPS = {
    "within a batch": ([[1, 5, 6, 7, 9, 10**9]], "of the middle of its batch"),
    "alone": ([[1], [5], [10**9]], "of all rows before"),
    "a batch of them": ([[1, 5], [10**9, 10**9 + 1]], "of all rows before"),
}


@pytest.mark.parametrize(("batches", "where"), JUMPS.values(), ids=JUMPS)
def test_a_row_far_ahead_is_told(batches: Any, where: str) -> None:
    operator = wr.query(time="t", watermark=10).window(wr.Tumbling(10)).agg(n=wr.count()).open()
    for times in batches[:-1]:
        operator.push(pa.table({"t": times}))
    with pytest.warns(WatermarkJump, match=f"ahead {where} and moved the watermark.*may all be late"):
        operator.push(pa.table({"t": batches[-1]}))


def test_the_warning_of_a_jump_points_at_the_users_line() -> None:
    operator = wr.query(time="t", watermark=10).window(wr.Tumbling(10)).agg(n=wr.count()).open()
    with pytest.warns(WatermarkJump) as caught:
        operator.push(pa.table({"t": [1, 5, 6, 7, 9, 10**9]}))
    assert caught[0].filename == __file__
    parts = wr.query(time="t", watermark=10).window(wr.Tumbling(10)).agg(n=wr.count()).open()
    with pytest.warns(WatermarkJump) as caught:
        parts.push_parts([pa.table({"t": [1, 5, 6, 7, 9, 10**9]})])
    assert caught[0].filename == __file__


def test_rows_at_their_usual_distance_are_not_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        operator = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        for time in (1, 5, 6, 100, 2_000, 9_000, 9_001, 500_000):
            operator.push(pa.table({"t": [time]}))
        hourly = wr.query(time="t", watermark="1m").window(wr.Tumbling("1h")).agg(n=wr.count()).open()
        for hour in (1, 2, 3, 60, 200, 2_000):  # a night, a week and a quarter without rows
            hourly.push(moments(hour * 3_600))
        strict = wr.query(time="t", watermark="0s").window(wr.Tumbling("1h")).agg(n=wr.count()).open()
        strict.push(moments(0, 0, 0, 1))
        strict.push(moments(6 * 3_600))
        by_hand = wr.query(time="t").window(wr.Tumbling(10)).agg(n=wr.count()).open()
        by_hand.push(pa.table({"t": [1, 2, 10**9]}))  # only advance() moves this watermark
