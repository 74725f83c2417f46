"""Combine counts are part of the contract: how often each algorithm calls combine, in the worst case and on
average."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

import windrow as wr


class Counting:
    """A monoid that counts calls of combine: text, so that order matters too."""

    def __init__(self) -> None:
        self.calls = 0
        self.monoid = wr.monoid(
            name="counting", lift=str, combine=self._combine, lower=str, identity="", compile=False
        )

    def _combine(self, a: str, b: str) -> str:
        self.calls += 1
        return (a + b)[-8:]

    def cost(self, operation: Callable[[], Any]) -> int:
        before = self.calls
        operation()
        return self.calls - before


def worst_costs(algorithm: type[wr.swag.Swag], operations: str) -> dict[str, int]:
    """The worst cost of each kind over a string of i(nsert), e(vict); a query after each."""
    counting = Counting()
    window = algorithm(counting.monoid)
    worst = {"insert": 0, "evict": 0, "query": 0}
    for number, operation in enumerate(operations):
        if operation == "i":
            cost, kind = counting.cost(lambda n=number: window.insert(n % 10)), "insert"
        elif len(window):
            cost, kind = counting.cost(window.evict), "evict"
        else:
            continue
        worst[kind] = max(worst[kind], cost)
        worst["query"] = max(worst["query"], counting.cost(window.query))
    return worst


def every_kind_of_trace() -> list[str]:
    choose = random.Random(7)
    traces = ["i" * 300 + "e" * 300, "i" * 50 + "ie" * 500, "ie" * 100, "iie" * 200 + "e" * 200]
    traces += ["".join(choose.choice("iiie" if k % 2 else "iee") for _ in range(600)) for k in range(20)]
    return traces


BOUNDS = {
    # [DABA] theorem 4.3
    wr.swag.DABA: {"insert": 4, "evict": 3, "query": 1},
    wr.swag.DABALite: {"insert": 3, "evict": 2, "query": 1},
}


@pytest.mark.parametrize("algorithm", BOUNDS)
def test_worst_case_of_daba(algorithm: type[wr.swag.Swag]) -> None:
    for trace in every_kind_of_trace():
        worst = worst_costs(algorithm, trace)
        for kind, bound in BOUNDS[algorithm].items():
            assert worst[kind] <= bound, (kind, trace[:40])


def test_worst_case_of_daba_is_reached() -> None:
    worst = [worst_costs(wr.swag.DABA, trace) for trace in every_kind_of_trace()]
    assert max(w["insert"] for w in worst) == 4
    assert max(w["evict"] for w in worst) == 3


@pytest.mark.parametrize("size", [2, 3, 10, 64, 100])
def test_average_of_daba(size: int) -> None:
    """[DABA] theorem 4.3: 2.5 combines per insert and 1.5 per evict on average, on a window that slides."""
    counting = Counting()
    window = wr.swag.DABA(counting.monoid)
    for v in range(size):
        window.insert(v)
    rounds = 40 * size
    inserting = evicting = 0
    for v in range(rounds):
        evicting += counting.cost(window.evict)
        inserting += counting.cost(lambda v=v: window.insert(v))
    assert inserting / rounds <= 2.5 + 0.01
    assert evicting / rounds <= 1.5 + 0.01


@pytest.mark.parametrize("algorithm", [wr.swag.TwoStacks, wr.swag.TwoStacksLite])
@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_two_stacks_is_constant_on_average_and_flips_in_n(algorithm: type[wr.swag.Swag], size: int) -> None:
    counting = Counting()
    window = algorithm(counting.monoid)
    for v in range(size):
        window.insert(v)
    costs = []
    for v in range(20 * size):
        costs.append(counting.cost(window.evict))
        costs.append(counting.cost(lambda v=v: window.insert(v)))
        assert counting.cost(window.query) <= 1
    assert sum(costs) <= 2 * 20 * size  # one push and one flip a value
    assert size - 1 <= max(costs) <= max(size, 1)


def test_subtract_on_evict_combines_once_an_insert() -> None:
    inverted = []
    monoid = wr.monoid(
        lift=lambda v: v,
        combine=lambda a, b: a + b,
        identity=0,
        inverse=lambda total, oldest: inverted.append(oldest) or total - oldest,
    )
    window = wr.swag.SubtractOnEvict(monoid)
    for v in range(10):
        window.insert(v)
    window.evict_many(4)
    assert inverted == [0, 1, 2, 3]
    assert window.query() == sum(range(4, 10))


@pytest.mark.parametrize("size", [8, 64, 100, 1000])
@pytest.mark.parametrize("changes", [1, 2, 5, 16, 64])
def test_flat_fat_updates(size: int, changes: int) -> None:
    """[RA] theorem 4.2: m changes to n leaves cost at most m(1 + ceil(log2(n/m))) combines."""
    if changes > size:
        return
    counting = Counting()
    window = wr.swag.FlatFAT(counting.monoid)
    for v in range(size):
        window.insert(v)
    window.query()
    for round_ in range(50):
        before = window.capacity
        for v in range(changes):
            window.evict()
            window.insert(v)
        if window.capacity != before:
            continue
        leaves = window.capacity
        m = min(2 * changes, leaves)  # an eviction and an insert change a leaf each
        bound = m * (1 + math.ceil(math.log2(leaves / m)))
        assert counting.cost(window.flush) <= bound, round_
        assert counting.cost(window.query) <= 2 * math.log2(leaves)
        window.check_invariants()


def test_flat_fat_resizes_as_its_paper_says() -> None:
    """[RA] 5.1.1: a full buffer doubles if more than 3/4 is in use, else is compacted; below 1/4 it is
    halved."""
    window = wr.swag.FlatFAT(wr.concat, capacity=8)
    for letter in "abcdefgh":
        window.insert(letter)
    assert window.capacity == 8
    window.remove(3)
    window.remove(5)  # 6 of 8 in use: the buffer is full of holes, and at most 3/4 in use
    window.insert("i")
    assert window.capacity == 8
    assert window.query() == "abceghi"
    window.insert("j")
    window.insert("k")  # now full: doubled
    assert window.capacity == 16
    assert window.query() == "abceghijk"
    window.evict_many(6)
    assert window.capacity == 8
    assert window.query() == "ijk"
    window.check_invariants()


def test_recalc_folds_the_whole_window() -> None:
    counting = Counting()
    window = wr.swag.Recalc(counting.monoid)
    for v in range(100):
        assert counting.cost(lambda v=v: window.insert(v)) == 0
    assert counting.cost(window.query) == 100
