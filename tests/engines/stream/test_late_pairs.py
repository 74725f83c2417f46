"""Rows that are late for some of their windows: the pairs of a row and a window that lacks it are counted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr


def rows(*times: int) -> pa.Table:
    return pa.table({"t": times, "k": ["a"] * len(times)})


def counted(query: Any, *pushes: tuple[int, ...]) -> Any:
    operator = query.open()
    for times in pushes:
        operator.push(rows(*times))
    return operator


def test_rows_late_for_some_of_their_windows_are_counted_as_pairs() -> None:
    query = wr.query(time="t", watermark=0).window(wr.Sliding(60, slide=1)).agg(n=wr.count())
    operator = counted(query, (100,), (90, 70, 90))
    # a row at t is in the windows that end at t + 1 ... t + 60, and those up to 100 have fired
    assert operator.metrics.rows_late == 0
    assert operator.metrics.late_pairs == {"window_fired": 10 + 30 + 10}


def test_pairs_are_what_windows_lack() -> None:
    """On the same rows, all windows together hold fewer rows than those of the whole table, by the pairs."""
    query = wr.query(time="t", by="k", watermark=3).window(wr.Sliding(20, slide=4)).agg(n=wr.count())
    pushes = [(5, 17, 2), (30, 11, 1, 29), (12, 12, 44), (9, 40, 3)]
    operator = query.open()
    held = 0
    for times in pushes:
        held += sum(operator.push(rows(*times))["n"].to_pylist())
    held += sum(operator.finish()["n"].to_pylist())
    whole = sum(query.run(rows(*(t for times in pushes for t in times)))["n"].to_pylist())
    assert whole - held == sum(operator.metrics.late_pairs.values()) > operator.metrics.rows_late > 0


def test_a_late_row_counts_all_its_pairs() -> None:
    query = wr.query(time="t", watermark=0).window(wr.Sliding(10, slide=5)).agg(n=wr.count())
    operator = counted(query, (50,), (3,))
    assert operator.metrics.late == {"window_fired": 1}
    assert operator.metrics.late_pairs == {"window_fired": 2}


def test_within_the_allowance_no_pair_is_late() -> None:
    query = wr.query(time="t", watermark=0, allowed_lateness=10).window(wr.Sliding(10, slide=5))
    operator = counted(query.agg(n=wr.count()), (50,), (40, 39))
    assert operator.metrics.late_pairs == {"window_fired": 2}


def test_each_window_of_a_query_counts_by_its_reason() -> None:
    query = wr.query(time="t", watermark=0).window(
        tens=wr.Tumbling(10), month=wr.Cumulative(100, step=50), visit=wr.Session(5), three=wr.Rows(3)
    )
    operator = counted(query.agg(n=wr.count()), (60,), (7,))
    assert operator.metrics.rows_late == 0  # [0, 100) takes it
    assert operator.metrics.late_pairs == {"window_fired": 2, "session_closed": 1, "order_passed": 1}


def test_calendar_windows_count_pairs_too() -> None:
    query = wr.query(time="t", watermark="0s").window(wr.Sliding("2mo", slide="1mo")).agg(n=wr.count())
    operator = query.open()
    for day in ("2024-05-10", "2024-04-20", "2024-03-31"):
        operator.push(pa.table({"t": pa.array([day]).cast(pa.timestamp("s"))}))
    # April is in [March, May) and [April, June); March in [February, April) and [March, May)
    assert operator.metrics.rows_late == 1
    assert operator.metrics.late_pairs == {"window_fired": 1 + 2}


def test_pairs_go_on_over_snapshots() -> None:
    query = wr.query(time="t", watermark=0).window(wr.Sliding(10, slide=5)).agg(n=wr.count())
    operator = query.restore(counted(query, (50,), (49,), (44,)).snapshot())
    assert operator.metrics.late_pairs == {"window_fired": 1 + 2}
    operator.push(rows(43))
    assert operator.metrics.late_pairs == {"window_fired": 5}


@pytest.mark.parametrize(
    "window", [wr.Tumbling(10), wr.Sliding(10, slide=5), wr.Session(3), wr.Rows(2)], ids=repr
)
def test_dropped_rows_are_counted_as_others_are(window: Any) -> None:
    given = [pa.table({"t": times, "v": times}) for times in ([1, 12, 25], [3, 26], [4, 60], [2, 61])]

    def operator(late: Any) -> Any:
        query = wr.query(time="t", watermark=5, late=late).window(window)
        return query.agg(n=wr.count(), top=wr.max("v"))

    dropping, counting = operator("drop").open(), operator("count").open()
    for table in given:
        assert dropping.push(table).equals(counting.push(table))
        dropping = operator("count" if table is given[1] else "drop").restore(dropping.snapshot())
    for name in ("rows_in", "rows_aggregated", "rows_late", "late", "late_pairs", "rejected"):
        assert getattr(dropping.metrics, name) == getattr(counting.metrics, name), name
    assert counting.metrics.rows_late >= 2
    table = pa.concat_tables(given)
    assert operator("drop").run(table).equals(operator("count").run(table))
