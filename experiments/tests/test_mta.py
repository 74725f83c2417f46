"""Experiments of [MTA]: windows agree with each other, and combines grow as the paper says."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import islice, repeat

import numpy as np
import pytest

import windrow as wr
from windrow_experiments.growth import growth_of
from windrow_experiments.mta import experiment2
from windrow_experiments.mta.operations import OPERATIONS, largest, rising
from windrow_experiments.mta.readings import DAY, DAYS, day, days
from windrow_experiments.mta.sized import sized, too_large
from windrow_experiments.mta.stores import Places, ended, places
from windrow_experiments.mta.windows import HeadedDABA, Make, Naive, in_memory, kinds, measured


@pytest.fixture(scope="module")
def where() -> Iterator[Places]:
    with places() as found:
        yield found


def slid(make: Make, n: int, slides: int) -> float:
    """Combines per update in a window of constant size."""
    return measured(make, sized, too_large, repeat((n,), n), repeat((n,), slides)).combines


@pytest.mark.parametrize(
    ("name", "wanted"), [("LMTA", "logarithmic"), ("AMTA", "constant"), ("DABA", "constant")]
)
def test_combines_of_an_update_by_the_size_of_the_window(name: str, wanted: str) -> None:
    """Experiment 1; windows slide once through."""
    points = [(n, slid(in_memory()[name], n, n)) for n in (16, 64, 256, 1024, 4096)]
    fitted = growth_of(points)
    assert fitted.growth == wanted, fitted


def test_naive_combines_the_whole_window_for_an_update() -> None:
    fitted = growth_of([(n, slid(Naive, n, 8)) for n in (16, 64, 256, 1024)])
    assert fitted.growth == "linear"
    assert fitted.slope == pytest.approx(1)


def test_amta_takes_about_seven_combines_at_most_at_any_size() -> None:
    for n in (1, 2, 3, 10, 100, 1000, 10_000):
        assert slid(in_memory()["AMTA"], n, max(n, 64)) <= 7.01


def test_bulk_evictions_of_trees_are_logarithmic_and_of_daba_linear() -> None:
    """Experiment 2."""
    most = experiment2.most_combines([64, 256, 1024, 4096])
    assert growth_of(list(most["DABA"].items())).growth == "linear"
    for name in ("LMTA", "AMTA"):
        assert growth_of(list(most[name].items())).growth == "logarithmic", most[name]
        for n, combines in most[name].items():
            assert combines <= 2 * (3 * math.ceil(math.log2(n)) + 1)


def test_bulk_evictions_of_trees_do_not_depend_on_how_many_go() -> None:
    n = 4096
    for name in ("LMTA", "AMTA"):
        found = experiment2.evictions(in_memory()[name], n, [64, 256, 1024, n - 1], repeats=1)
        few = found[64].combines
        assert few < 64
        # at most two combines more each time that twice as many go
        assert all(bulk.combines <= few + 2 * math.log2(m / 64) for m, bulk in found.items())


def test_naive_combines_each_value_once_for_a_bulk_eviction() -> None:
    found = experiment2.evictions(Naive, 512, [1, 100, 511], repeats=1)
    assert all(512 <= bulk.combines <= 516 for bulk in found.values())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_windows_give_the_same_results_and_evict_as_many(operation: str, where: Places) -> None:
    """Experiment 3, beside a list that is folded anew."""
    what = OPERATIONS[operation]
    policy = what.policy(60)
    rows = [(t, float(v)) for t, v in enumerate(np.round(day(0, seed=3)[:400], 1))]
    for name, make in kinds(where).items():
        window, held = make(what.monoid), list[tuple[int, float]]()
        for row in rows:
            held.append(row)
            window.insert(*row)
            evicted = window.evict_while(policy)
            assert evicted == goes(what.monoid, policy, held), name
            held = held[evicted:]
            assert window.query() == pytest.approx(what.monoid.lower(folded(what.monoid, held))), name
        ended(window)


def folded(monoid: wr.monoids.base.Monoid, rows: list[tuple[int, float]]) -> object:
    total = monoid.identity
    for row in rows:
        total = monoid.combine(total, monoid.lift(*row))
    return total


def goes(monoid: wr.monoids.base.Monoid, policy: object, rows: list[tuple[int, float]]) -> int:
    """The longest prefix that a policy lets go, tried one row at a time."""
    total = folded(monoid, rows)
    count = 0
    while count < len(rows) and policy(total, folded(monoid, rows[: count + 1])):  # type: ignore[operator]
        count += 1
    return count


def test_a_policy_by_the_maximum_keeps_the_maximum_first() -> None:
    window = wr.swag.AMTA(largest)
    policy = OPERATIONS["Max"].policy(1000)
    choose = random.Random(5)
    values: list[float] = []
    for time in range(500):
        values.append(choose.random())
        window.insert(time, values[-1])
        window.evict_while(policy)
        assert len(window) == len(values) - values.index(max(values))


def test_the_longest_rise_is_found_with_its_times() -> None:
    window = HeadedDABA(rising)
    for time, value in enumerate([5, 1, 2, 3, 0, 7, 8, 9, 4]):
        window.insert(time, value)
    # 1 2 3 and 0 7 8 9: start, end, interval, rows
    assert window.query() == (4, 7, 3, 4)
    window.evict_many(6)
    assert window.query() == (6, 7, 1, 2)


@pytest.mark.parametrize("monoid", [sized, largest, rising])
def test_aggregates_of_the_experiments_are_monoids(monoid: wr.monoids.base.Monoid) -> None:
    choose = random.Random(2)

    def partial(start: int) -> object:
        total = monoid.identity
        for time in range(start, start + choose.randrange(4)):
            row = (1 + choose.randrange(5),) if monoid is sized else (time, choose.randrange(3))
            total = monoid.combine(total, monoid.lift(*row))
        return total

    for _ in range(300):
        a, b, c = partial(0), partial(10), partial(20)
        assert monoid.combine(monoid.combine(a, b), c) == monoid.combine(a, monoid.combine(b, c))
        assert monoid.combine(a, monoid.identity) == a == monoid.combine(monoid.identity, a)


def test_readings_are_two_years_of_seconds_and_any_day_can_be_made_alone() -> None:
    assert DAY * DAYS == 62_208_000
    assert np.array_equal(list(days(3, 2, seed=1))[1], day(4, seed=1))
    assert not np.array_equal(day(4, seed=1), day(4, seed=2))
    assert abs(day(0, seed=1)[-1] - day(1, seed=1)[0]) < 5  # days go on where the last one ended


def test_the_naive_window_keeps_its_result_until_something_goes() -> None:
    from windrow_experiments.measure import Counter

    counter = Counter(wr.max)
    window = Naive(counter.monoid)
    for value in range(10):
        assert counter.cost(window.insert, value) == 1
        assert counter.cost(window.query) == 0
    window.evict()
    assert counter.cost(window.query) == 9
    assert counter.cost(window.query) == 0


def test_redis_is_left_out_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with places() as found:
        assert "Redis" not in found.kinds()
        assert "Redis" in found.remark
        assert set(kinds(found)) >= {"AMTA", "AMTA on RocksDB"}


def test_windows_on_stores_combine_as_in_memory(where: Places) -> None:
    found = {name: slid(make, 100, 150) for name, make in islice(kinds(where).items(), 2, None)}
    assert len(found) >= 4
    for name, combines in found.items():
        assert combines == found[name.partition(" on ")[0]]
