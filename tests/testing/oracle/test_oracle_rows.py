"""The oracle by hand: windows that data decide, rolling, keys, nulls, order."""

from __future__ import annotations

import math
from typing import Any

import pytest

import windrow as wr
from windrow.testing import evaluate
from windrow.testing.strategies import CONCATENATION

Row = dict[str, Any]


def values(query: wr.Query, rows: list[Row]) -> list[tuple[Any, ...]]:
    return [tuple(result.values()) for result in evaluate(query, rows)]


def lettered(*times: int | None, **columns: list[Any]) -> list[Row]:
    rows = [{"ts": time, "s": "abcdefgh"[i]} for i, time in enumerate(times)]
    return [row | {name: column[i] for name, column in columns.items()} for i, row in enumerate(rows)]


def test_rows_gives_complete_windows_in_time_order() -> None:
    # arrival  a  b  c  d  e  f       time 5  1  2  2  9  7
    # in time order      1b 2c 2d 5a 7f 9e
    # Rows(3, slide=2)   |------|
    #                          |------|        and 7f 9e - : not complete
    query = wr.query(time="ts").window(wr.Rows(3, slide=2)).agg(s=wr.concat("s"))
    assert values(query, lettered(5, 1, 2, 2, 9, 7)) == [(1, 2, "bcd"), (2, 7, "daf")]


def test_delta_goes_by_the_value_and_reports_times() -> None:
    # km   0.5  3  9 | 11  null  14 | 31
    query = wr.query(time="ts").window(wr.Delta("km", size=10)).agg(s=wr.concat("s"))
    rows = lettered(1, 2, 3, 4, 5, 6, 7, km=[0.5, 3, 9, 11, None, 14, 31])
    assert values(query, rows) == [(1, 3, "abc"), (4, 6, "df"), (7, 7, "g")]


def test_delta_windows_overlap() -> None:
    # km 12 is in [5, 15) and in [10, 20)
    query = wr.query(time="ts").window(wr.Delta("km", size=10, slide=5)).agg(s=wr.concat("s"))
    assert values(query, lettered(1, 2, km=[12, 16])) == [(1, 1, "a"), (1, 2, "ab"), (2, 2, "b")]


def test_punctuation_closes_windows_and_the_last_stays_open() -> None:
    # done  .  .  T  null  T  .
    #      |-------|-------|--- (open)
    query = wr.query(time="ts").window(wr.Punctuation("done")).agg(s=wr.concat("s"))
    rows = lettered(1, 2, 3, 4, 5, 6, done=[False, False, True, None, True, False])
    assert values(query, rows) == [(1, 3, "abc"), (4, 5, "de")]


def test_threshold_gives_runs_that_have_ended() -> None:
    # late  T  T  .  null  T  .  T
    #      |----|         |-|   |-- (open)
    query = wr.query(time="ts").window(wr.Threshold("late")).agg(s=wr.concat("s"))
    rows = lettered(1, 2, 3, 4, 5, 6, 7, late=[True, True, False, None, True, False, True])
    assert values(query, rows) == [(1, 2, "ab"), (5, 5, "e")]


def test_policy_gives_a_result_a_row() -> None:
    # weight     4  3  5  1     keep the fewest rows that weigh at least 6
    # window     4
    #            4  3
    #               3  5       (4 evicted: 12 - 4 >= 6)
    #                  5  1    (3 evicted: 9 - 3 >= 6)
    policy = wr.Policy(lambda total, old: total.weight - old.weight >= 6)
    query = wr.query(time="ts").window(policy).agg(weight=wr.sum("w"), s=wr.concat("s"))
    rows = lettered(1, 2, 3, 4, w=[4, 3, 5, 1])
    assert values(query, rows) == [(1, 1, 4, "a"), (1, 2, 7, "ab"), (2, 3, 8, "bc"), (3, 4, 6, "cd")]
    rolling = wr.query(time="ts").rolling(policy).agg(weight=wr.sum("w"), all=wr.concat("s"))
    assert [r["all"] for r in evaluate(rolling, rows)] == ["a", "ab", "bc", "cd"]


def test_a_policy_evicts_many_rows_at_once() -> None:
    # weight     1  1  1  9     keep at least 6: the 9 alone does
    policy = wr.Policy(lambda total, old: total.weight - old.weight >= 6)
    query = wr.query(time="ts").window(policy).agg(weight=wr.sum("w"))
    assert values(query, lettered(1, 2, 3, 4, w=[1, 1, 1, 9]))[-1] == (4, 4, 9)


def test_rolling_by_time_sees_peers_and_leaves_out_what_is_a_size_old() -> None:
    # arrival   a  b  c  d      time 4  1  4  7
    # (t-3, t]  1: b   4: a c (1 is 3 old)   7: d (4 is 3 old)
    query = wr.query(time="ts").rolling(3).agg(seen=wr.concat("s"))
    assert [r["seen"] for r in evaluate(query, lettered(4, 1, 4, 7))] == ["ac", "b", "ac", "d"]


def test_rolling_by_rows_counts_in_time_and_order() -> None:
    # in (time, seq) order: b1 c4(1) a4(2) d7
    query = wr.query(time="ts", order="seq").rolling(rows=2).agg(seen=wr.concat("s"))
    results = evaluate(query, lettered(4, 1, 4, 7, seq=[2, 0, 1, 0]))
    assert [r["seen"] for r in results] == ["ca", "b", "bc", "ad"]
    assert list(results[0]) == ["ts", "s", "seq", "seen"]


def test_rows_without_a_time_are_left_out_and_come_back_from_rolling_with_nulls() -> None:
    rows = lettered(1, None, 2)
    assert values(wr.query(time="ts").window(wr.Tumbling(10)).agg(n=wr.count()), rows) == [(0, 10, 2)]
    results = evaluate(wr.query(time="ts").rolling(10).agg(n=wr.count()), rows)
    assert [r["n"] for r in results] == [1, None, 2]
    assert results[1]["s"] == "b"


def test_null_is_a_key_and_so_is_nan() -> None:
    rows = lettered(1, 2, 3, 4, 5, key=[None, "k", None, "k", "m"], part=[1, 1, 1, 2, math.nan])
    query = wr.query(time="ts", by=["key"]).window(wr.Tumbling(10)).agg(s=wr.concat("s"))
    assert values(query, rows) == [(None, 0, 10, "ac"), ("k", 0, 10, "bd"), ("m", 0, 10, "e")]
    both = wr.query(time="ts", by=["key", "part"]).window(wr.Tumbling(10)).agg(n=wr.count())
    assert [row[:2] + row[4:] for row in values(both, rows)[:3]] == [(None, 1, 2), ("k", 1, 1), ("k", 2, 1)]
    nan = wr.query(time="ts", by="part").window(wr.Tumbling(10)).agg(n=wr.count())
    assert len(values(nan, [*rows, {**rows[-1], "part": float("nan")}])) == 3


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (wr.count(), 4),
        (wr.count("v"), 3),
        (wr.sum("v"), 6),
        (wr.sum("v", nulls="propagate"), None),
        (wr.mean("v"), 2.0),
        (wr.arg_max("v", value="s"), "d"),
        (wr.first("v"), 1),
        (CONCATENATION("s"), "abcd"),
    ],
    ids=repr,
)
def test_nulls_are_skipped_unless_they_propagate(aggregate: Any, expected: Any) -> None:
    rows = lettered(1, 2, 3, 4, v=[1, None, 2, 3])
    ((_, _, result),) = values(wr.query(time="ts").window(wr.Tumbling(10)).agg(r=aggregate), rows)
    assert result == expected


def test_nan_propagates_unless_it_is_ignored() -> None:
    rows = lettered(1, 2, v=[1.5, math.nan])
    query = wr.query(time="ts").window(wr.Tumbling(10))
    ((_, _, kept, ignored),) = values(query.agg(a=wr.sum("v"), b=wr.sum("v", nan="ignore")), rows)
    assert math.isnan(kept)
    assert ignored == 1.5


def test_fewer_values_than_min_count_give_null() -> None:
    rows = lettered(1, 2, 11, v=[1, None, 3])
    query = wr.query(time="ts", min_count=2).window(wr.Tumbling(10)).agg(n=wr.count(), total=wr.sum("v"))
    assert values(query, rows) == [(0, 10, 2, None), (10, 20, None, None)]


def test_results_are_sorted_by_window_end_start_and_first_appearance() -> None:
    rows = [{"ts": t, "key": k} for t, k in ((12, "z"), (3, "a"), (4, "z"))]
    query = (
        wr.query(time="ts", by="key").window(long=wr.Tumbling(20), short=wr.Tumbling(10)).agg(n=wr.count())
    )
    found = [(r["window"], r["window_end"], r["key"]) for r in evaluate(query, rows)]
    assert found == [
        ("long", 20, "z"),
        ("long", 20, "a"),
        ("short", 10, "z"),
        ("short", 10, "a"),
        ("short", 20, "z"),
    ]
    assert list(evaluate(query, rows)[0]) == ["key", "window", "window_start", "window_end", "n"]


def test_mistakes_are_named() -> None:
    query = wr.query(time="ts").window(wr.Tumbling(10))
    with pytest.raises(TypeError, match="computes nothing yet"):
        evaluate(query, [])
    with pytest.raises(ValueError, match="row 1 has no column 'v'"):
        evaluate(query.agg(total=wr.sum("v")), [{"ts": 1, "v": 2}, {"ts": 1}])
    with pytest.raises(TypeError, match="is not a table"):
        evaluate(query.agg(n=wr.count()), 7)
    assert evaluate(query.agg(n=wr.count()), []) == []
