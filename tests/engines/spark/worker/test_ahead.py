"""Rows too far ahead: rejected, counted, and without a say in what is late."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow as wr
from support.packed_stream import BUCKETS, PackedStream
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.worker.streaming.pack_task import AHEAD, pack_batches

HOUR = 3_600_000_000


def _stamps(*values: int) -> pa.Table:
    return pa.table({"ts": pa.array(values, pa.timestamp("us", "UTC"))})


def _opened(now: float, **settings: object) -> object:
    query = wr.query(time="ts", watermark="1m", max_ahead="1h", **settings)
    return query.window(wr.Tumbling("1h")).agg(n=wr.count()).open(now=lambda: now)


def test_one_row_of_the_far_future_makes_nothing_late() -> None:
    op = _opened(now=10 * 3600.0)
    assert op.push(_stamps(9 * HOUR + 1, 8_000_000 * HOUR, 9 * HOUR + 2)).num_rows == 0
    assert op.push(_stamps(9 * HOUR + 3)).num_rows == 0
    assert op.metrics.rejected == {"too_far_ahead": 1}
    assert op.metrics.late == {}
    assert op.finish()["n"].to_pylist() == [3]


def test_exactly_as_far_as_is_allowed_is_taken() -> None:
    op = _opened(now=10 * 3600.0)
    op.push(_stamps(11 * HOUR))
    op.push(_stamps(11 * HOUR + 1))
    assert op.metrics.rejected == {"too_far_ahead": 1}
    assert op.metrics.rows_aggregated == 1


def test_rows_after_a_pause_are_taken() -> None:
    seconds = 3600.0
    query = wr.query(time="ts", watermark="1m", max_ahead="1h").window(wr.Tumbling("1h")).agg(n=wr.count())
    op = query.open(now=lambda: seconds)
    op.push(_stamps(HOUR))
    seconds = 30 * 86_400.0
    op.push(_stamps(30 * 24 * HOUR))
    assert op.metrics.rejected == {}


def test_integers_are_held_against_the_largest_before() -> None:
    query = wr.query(time="t", watermark=2, max_ahead=10).window(wr.Tumbling(5)).agg(n=wr.count())
    op = query.open()
    op.push(pa.table({"t": [1, 1_000, 11, 21, 40]}))
    op.push(pa.table({"t": [32, 31, 2_000]}))
    assert op.metrics.rejected == {"too_far_ahead": 4}
    assert op.metrics.rows_aggregated == 4


def test_a_batch_of_nothing_else_changes_nothing_but_counts() -> None:
    op = _opened(now=0.0)
    assert op.push(_stamps(50 * HOUR, 60 * HOUR)).num_rows == 0
    assert op.metrics.rows_in == 2
    assert op.metrics.rejected == {"too_far_ahead": 2}
    assert op.metrics.watermark is None


def test_a_restored_operator_looks_at_the_clock_too() -> None:
    query = wr.query(time="ts", watermark="1m", max_ahead="1h").window(wr.Tumbling("1h")).agg(n=wr.count())
    op = query.open(now=lambda: 0.0)
    op.push(_stamps(1))
    again = query.restore(op.snapshot(), now=lambda: 0.0)
    again.push(_stamps(2 * HOUR))
    assert again.metrics.rejected == {"too_far_ahead": 1}


def test_time_is_counted_in_one_way() -> None:
    with pytest.raises(ValueError, match=r"max_ahead=5 and watermark='1m' count time differently"):
        wr.query(time="t", watermark="1m", max_ahead=5)
    with pytest.raises(ValueError, match="max_ahead=-1 is negative"):
        wr.query(time="t", watermark=5, max_ahead=-1)


# -- before the shuffle of Spark's streams -------------------------------------------------------------------


def _packed(query: object, table: pa.Table) -> list[dict[str, object]]:
    schema = table.drop_columns([AHEAD]).schema
    batches = pack_batches(packed(query), schema, BUCKETS, table.to_batches())
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("late", ["count", "emit"])  # as slices, and as rows
def test_rows_that_no_window_can_take_move_no_clock(late: str) -> None:
    query = wr.query(time="ts", watermark="1m", late=late, max_ahead="1h")
    query = query.window(wr.Tumbling("1h")).agg(n=wr.count())
    moments = pa.array([HOUR, None, 2**62, -(2**62), 3 * HOUR, 2 * HOUR], pa.timestamp("us", "UTC"))
    ahead = pa.array([False, None, True, False, True, False])
    rows = _packed(query, pa.table({"ts": moments, AHEAD: ahead}))
    assert {row["clock"].timestamp() for row in rows if row["clock"] is not None} == {7200.0}
    counted = [row for row in rows if row["no_time"] is not None]
    assert [(row["no_time"], row["out_of_reach"], row["too_far_ahead"]) for row in counted] == [(1, 2, 1)]


def test_integers_beyond_clocks_stay_out() -> None:
    query = wr.query(time="t", watermark=1).window(wr.Tumbling(10)).agg(n=wr.count())
    stream = PackedStream(query, pa.schema([("t", pa.int64())]))
    stream.batch(pa.table({"t": [5, 2**53, 2**62, -(2**63)]}), 0)
    assert (stream.counts["rows_in"], stream.counts["rows_rejected"]) == (4, 3)
    assert stream.batch(pa.table({"t": [7]}), 20)[0]["n"] == 2


def test_dates_far_beyond_microseconds_stay_out() -> None:
    query = wr.query(time="day", watermark="1d").window(wr.Tumbling("1d")).agg(n=wr.count())
    stream = PackedStream(query, pa.schema([("day", pa.date32())]))
    stream.batch(pa.table({"day": pa.array([3, 2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())}), 0)
    assert (stream.counts["rows_in"], stream.counts["rows_rejected"]) == (3, 2)
