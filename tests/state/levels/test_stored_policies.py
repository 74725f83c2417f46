"""Policies on windows in stores, and several aggregates that share one."""

from __future__ import annotations

from collections import namedtuple

import windrow as wr
from support.swag_windows import Algorithm, both
from windrow.monoids.own import monoid
from windrow.state import (
    Store,
)


@both
def test_the_policy_example_of_section_3_2(algorithm: Algorithm, store: Store) -> None:
    update = namedtuple("update", "sum last max")
    latest = monoid(
        name="latest",
        lift=lambda v: update(v, v, v),
        combine=lambda a, b: update(a.sum + b.sum, b.last, max(a.max, b.max)) if b.sum else a,
        lower=lambda p: p.max,
        identity=update(0, 0, 0),
    )
    window = algorithm.open(store, "w", latest, buffer=1, cache=1, block=1)
    results = []
    for value in (2, 2, 3, 3, 4):
        window.insert(value)
        evicted = window.evict_while(lambda total, old: total.sum - old.sum + old.last > 10)
        results.append((window.query(), evicted, len(window)))
    assert results == [(2, 0, 1), (2, 0, 2), (3, 0, 3), (3, 0, 4), (4, 2, 3)]


@both
def test_a_time_policy_over_irregular_arrivals(algorithm: Algorithm, store: Store) -> None:
    timed = wr.together(time=wr.max, n=wr.count, first=wr.min)
    window = algorithm.open(store, "w", timed, buffer=8, cache=4, block=2)
    kept: list[int] = []
    now = 0
    for number in range(600):
        now += number * number % 13 + (100 if number % 150 == 149 else 0)
        window.insert(now)
        kept = [time for time in [*kept, now] if now - time < 60]
        window.evict_while(lambda total, old: total.time - old.time >= 60)
        assert window.query() == {"time": now, "n": len(kept), "first": kept[0]}


@both
def test_a_max_policy_drops_what_can_never_win_again(algorithm: Algorithm, store: Store) -> None:
    """[MTA] experiment 3: of the last 50 rows, those before the largest can go, and no result changes."""
    window = algorithm.open(store, "w", wr.together(n=wr.count, top=wr.max), buffer=4, cache=2, block=2)
    values = [number * 37 % 101 + number // 2 for number in range(300)]
    sizes = []
    for number, value in enumerate(values):
        window.insert(value)
        window.evict_while(lambda total, old: total.n - old.n >= 50 or old.top < total.top)
        assert window.query()["top"] == max(values[max(0, number - 49) : number + 1])
        sizes.append(len(window))
    assert sum(sizes) / len(sizes) < 35


@both
def test_a_longest_run_policy_drops_what_can_never_win_again(algorithm: Algorithm, store: Store) -> None:
    """[MTA] experiment 3 for LIS: rows before the last run go while that is the longest."""
    window = algorithm.open(store, "w", wr.longest_run, buffer=4, cache=2, block=2)
    whole = wr.swag.TwoStacks(wr.longest_run)
    for number in range(400):
        value = number * number % (9 + number // 20)
        window.insert(value)
        whole.insert(value)
        window.evict_while(lambda total, old: total[4] == total[5] and old[0] <= total[0] - total[4])
        assert window.query() == whole.query()
    assert len(window) < 300


@both
def test_several_aggregates_share_one_window(algorithm: Algorithm, store: Store) -> None:
    """[MTA] experiment 5."""
    together = wr.together(
        n=wr.count, total=wr.sum, top=wr.max, who=wr.arg_max, mid=wr.median, spread=wr.range
    )
    window = algorithm.open(store, "w", together, buffer=8, cache=4, block=2)
    rows = [(number * 31 % 50, f"row {number}") for number in range(200)]
    for number, row in enumerate(rows):
        window.insert(*row)
        if number >= 60:
            window.evict()
        if number % 50 == 20:
            window.close()
            window = algorithm.open(store, "w", together)
    last = rows[-60:]
    oracle = wr.swag.Recalc(together)
    for row in last:
        oracle.insert(*row)
    assert window.query() == oracle.query()
    assert type(window.query_partial()) is type(together.identity)
