"""The oracle by hand: windows that time and silence decide. A timeline stands above each expectation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import windrow as wr
from windrow.testing import evaluate


def rows_at(*times: Any) -> list[dict[str, Any]]:
    """Rows that carry a letter each, in order of arrival: a, b, c..."""
    return [{"ts": time, "s": chr(ord("a") + number)} for number, time in enumerate(times)]


def found(window: Any, rows: list[dict[str, Any]], **options: Any) -> list[tuple[Any, ...]]:
    """(start, end, letters in order) of each window."""
    query = wr.query(time="ts", **options).window(window).agg(letters=wr.concat("s"))
    return [tuple(result.values()) for result in evaluate(query, rows)]


def test_tumbling_takes_each_row_once_whatever_the_order() -> None:
    # time      -5    0    5    10   15   20
    #            b    |  c a     |d       |
    #           [-10,0)|---------|--------|
    assert found(wr.Tumbling(10), rows_at(7, -3, 4, 10)) == [(-10, 0, "b"), (0, 10, "ca"), (10, 20, "d")]


def test_tumbling_with_an_offset() -> None:
    # time     -7        3         13
    #           |   a    |b      c |
    assert found(wr.Tumbling(10, offset=3), rows_at(2, 3, 12)) == [(-7, 3, "a"), (3, 13, "bc")]


def test_sliding_with_a_slide_that_does_not_divide_the_size() -> None:
    # time     -8  -4   0   4   8   12  16  20
    # rows              |       b a |
    # [0,10)            |---------|
    # [4,14)                |---------|
    # [8,18)                    |---------|
    expected = [(0, 10, "ba"), (4, 14, "ba"), (8, 18, "ba")]
    assert found(wr.Sliding(10, slide=4), rows_at(9, 8)) == expected


def test_cumulative_grows_by_steps_and_starts_again() -> None:
    # time      0         10        20        30        40
    #           |           a       |         |b        |
    # [0,20)    |-------------------|
    # [0,30)    |-----------------------------|
    # [30,40) ...                             |---------|
    expected = [(0, 20, "a"), (0, 30, "a"), (30, 40, "b"), (30, 50, "b"), (30, 60, "b")]
    assert found(wr.Cumulative(30, step=10), rows_at(12, 30)) == expected


def test_fixed_takes_what_is_in_its_band() -> None:
    # time     99 100            149 150
    #           a |b              c|  d
    assert found(wr.Fixed(100, 50), rows_at(99, 100, 149, 150)) == [(100, 150, "bc")]
    assert found(wr.Fixed(100, 50), rows_at(99)) == []


def test_rows_exactly_a_gap_apart_are_one_session() -> None:
    # time      0  3    8         14   19
    #           a--b----c----|    d----|
    assert found(wr.Session(5), rows_at(14, 8, 0, 3)) == [(0, 13, "cdb"), (14, 19, "a")]


def test_a_session_ends_at_its_longest() -> None:
    # time      0   4   8 10  12  16    21
    #           a---b---c-|   d---e-----|
    assert found(wr.Session(5, max_size=10), rows_at(0, 4, 8, 12, 16)) == [(0, 10, "abc"), (12, 21, "de")]


def test_one_row_bridges_sessions() -> None:
    #           0    5    10   15
    # without   a----|    b----|
    # with      a----c----b----|
    assert found(wr.Session(5), rows_at(0, 10)) == [(0, 5, "a"), (10, 15, "b")]
    assert found(wr.Session(5), rows_at(0, 10, 5)) == [(0, 15, "acb")]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        # rows at 1 and 31; empty windows lie strictly between the first and the last with rows
        (wr.Tumbling(10), [(0, 10), (10, 20), (20, 30), (30, 40)]),
        (wr.Sliding(10, slide=5), [(s, s + 10) for s in range(-5, 35, 5)]),
        (wr.Cumulative(20, step=10), [(0, 10), (0, 20), (20, 30), (20, 40)]),
        (wr.Session(5), [(1, 6), (31, 36)]),
        (wr.Fixed(0, 5), [(0, 5)]),
    ],
    ids=repr,
)
def test_empty_windows_are_filled_in_between(window: Any, expected: list[tuple[int, int]]) -> None:
    results = found(window, rows_at(1, 31), empty="include")
    assert [result[:2] for result in results] == expected


def test_empty_windows_hold_nothing_and_count_zero() -> None:
    query = wr.query(time="ts", empty="include").window(wr.Tumbling(10))
    results = evaluate(query.agg(n=wr.count(), total=wr.sum("v")), [{"ts": t, "v": 2} for t in (1, 21)])
    assert [(r["n"], r["total"]) for r in results] == [(1, 2), (0, None), (1, 2)]


def test_gaps_are_filled_for_each_key_by_itself() -> None:
    rows = [{"ts": t, "key": k} for t, k in ((1, "a"), (21, "a"), (11, "b"))]
    query = wr.query(time="ts", by="key", empty="include").window(wr.Tumbling(10)).agg(n=wr.count())
    found = [(r["key"], r["window_start"], r["n"]) for r in evaluate(query, rows)]
    assert found == [("a", 0, 1), ("a", 10, 0), ("b", 10, 1), ("a", 20, 1)]


def test_local_days_are_23_and_25_hours_long() -> None:
    # Berlin 2024-03-31 and 2024-10-27: the clocks change
    spring, autumn = datetime(2024, 3, 31, 12, tzinfo=UTC), datetime(2024, 10, 27, 12, tzinfo=UTC)
    days = found(wr.Tumbling("1d", timezone="Europe/Berlin"), rows_at(autumn, spring))
    assert [(start.hour, end.hour, (end - start).total_seconds() / 3600) for start, end, _ in days] == [
        (23, 22, 23.0),
        (22, 23, 25.0),
    ]


def test_times_come_back_as_they_came_in() -> None:
    naive = datetime(2024, 5, 1, 12, 30)
    assert found(wr.Tumbling("1h"), rows_at(naive)) == [
        (datetime(2024, 5, 1, 12), datetime(2024, 5, 1, 13), "a")
    ]
    (result,) = found(wr.Tumbling("1h"), rows_at(naive.replace(tzinfo=UTC)))
    assert result[0] == datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_an_end_after_year_9999_is_text() -> None:
    (result,) = found(wr.Tumbling("1d"), rows_at(datetime(9999, 12, 31, 23)))
    assert result == (datetime(9999, 12, 31), "+10000-01-01T00:00:00Z", "a")


def test_windows_for_another_kind_of_time_are_refused() -> None:
    with pytest.raises(ValueError, match="does not count time as the rows do"):
        found(wr.Tumbling("1h"), rows_at(3))
    with pytest.raises(TypeError, match="another kind"):
        found(wr.Tumbling(10), rows_at(3, datetime(2024, 1, 1)))
