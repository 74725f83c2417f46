"""What the monoid tree aggregators cost: traffic with their store, memory, combines."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.swag_windows import SUM, TEXT, Algorithm, both, filled
from windrow.state import MemoryLevels
from windrow.swag.amta import AMTA
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import MonoidTree
from windrow_experiments.measure import Counter


def ceil_log2(number: int) -> int:
    return (number - 1).bit_length()


# -- the store ---------------------------------------------------------------------------------------------


class StrictLevels:
    """A store of the plainest kind, which checks what it is asked and counts round trips."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[int, int], tuple[Any, Any]] = {}
        self.heads: dict[int, int] = {}
        self.calls = 0

    def get(self, level: int, position: int) -> tuple[Any, Any]:
        return self.get_many([(level, position)])[0]

    def get_many(self, keys: Any) -> list[tuple[Any, Any]]:
        keys = list(keys)
        self.calls += bool(keys)
        return [self.pairs[key] for key in keys]

    def put(self, level: int, position: int, pair: tuple[Any, Any]) -> None:
        self.put_many([((level, position), pair)])

    def put_many(self, items: Any) -> None:
        items = list(items)
        self.calls += bool(items)
        for (level, position), pair in items:
            assert type(pair) is tuple
            assert len(pair) == 2
            assert (level, position) not in self.pairs, "written twice"
            assert position >= self.heads.get(level, 0), "written after it was dropped"
            last = max((p for at, p in self.pairs if at == level), default=-1)
            assert position > last, "written out of order"
            self.pairs[level, position] = pair

    def drop(self, level: int, before: int) -> None:
        assert before >= self.heads.get(level, 0)
        self.heads[level] = before
        for key in [key for key in self.pairs if key[0] == level and key[1] < before]:
            del self.pairs[key]


@both
def test_pairs_are_written_once_and_in_order_and_dropped_when_they_leave(algorithm: Algorithm) -> None:
    store = StrictLevels()
    window = algorithm(TEXT, store)
    text = ""
    for number in range(400):
        window.insert(chr(97 + number % 26))
        text += chr(97 + number % 26)
        count = {3: 1, 5: 2, 17: 12, 101: 30, 200: len(text)}.get(number % 211, 0)
        window.evict_many(count)
        text = text[count:]
        if number % 3 == 0:
            assert window.query() == text
        window.check_invariants()
        leaves = [key for key in store.pairs if key[0] == 0]
        assert len(leaves) <= len(text) // 2 + 1
        assert len(store.pairs) <= len(text) + 2 * ceil_log2(len(text) + 2)
    window.evict_many(len(text))
    assert store.pairs == {}


@both
def test_a_bulk_eviction_makes_one_round_trip(algorithm: Algorithm) -> None:
    store = StrictLevels()
    window = filled(algorithm(SUM, store), range(700))
    window.query()
    store.calls = 0
    window.evict_many(333)
    window.query()
    assert store.calls == 1


def held_locally(window: MonoidTree) -> int:
    kept = sum(len(pair) for pair in window._tails)
    return kept + len(getattr(window, "_heads", ())) + len(getattr(window, "_stack", ()))


@both
@pytest.mark.parametrize("size", [10, 100, 1_000, 10_000])
def test_local_memory_is_logarithmic(algorithm: Algorithm, size: int) -> None:
    window = filled(algorithm(SUM), range(size))
    window.query()
    assert held_locally(window) <= 3 * ceil_log2(size) + 3


@both
def test_memory_does_not_grow_over_many_rounds(algorithm: Algorithm) -> None:
    store = MemoryLevels()
    window = filled(algorithm(SUM, store), range(1_000))
    rooms = []
    for number in range(20_000):
        window.evict()
        window.insert(number)
        rooms.append(store.capacity)
    assert max(rooms) < 1_000 + 2 * 64 * 2 * ceil_log2(1_000)
    assert window.query() == sum(range(19_000, 20_000))


# -- combines ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 1, 3, 21, 64])
def test_log_mta_bounds(start: int) -> None:
    counter = Counter()
    window = filled(LogMTA(counter.monoid), range(start))
    window.evict_many(start)
    for size in range(1, 300):
        height = ceil_log2(size)
        assert counter.cost(window.insert, 1) <= max(0, height - 1)
        assert counter.cost(window.query_partial) <= 1
        for _ in range(2 * size if size < 40 else 1):
            assert counter.cost(window.evict) <= max(0, height - 2)
            assert counter.cost(window.insert, 1) <= max(0, height - 1)
        calls = 0

        def policy(total: int, old: int) -> bool:
            nonlocal calls
            calls += 1
            return old <= size // 3  # noqa: B023

        assert counter.cost(window._find, policy) <= height + 2
        assert calls <= height + 2


def test_log_mta_stays_low_wherever_the_window_is() -> None:
    """Across a high power of two, where a single root pair would be as high up as the stream is long."""
    counter = Counter()
    window = filled(LogMTA(counter.monoid), range(2**13 + 2))
    window.evict_many(2**13 - 2)
    assert [len(level) for level in window.levels()] == [2, 2]
    assert counter.cost(window.insert, 1) <= 2


@pytest.mark.parametrize("size", [1, 2, 3, 10, 64, 100, 1023, 1024])
def test_amta_rounds_cost_four_combines_on_average(size: int) -> None:
    counter = Counter()
    window = filled(AMTA(counter.monoid), range(size))
    window.query()
    counter.combines = 0
    rounds = 100_000
    worst = 0
    for _ in range(rounds):
        before = counter.combines
        window.evict()
        window.insert(1)
        window.query_partial()
        worst = max(worst, counter.combines - before)
    assert counter.combines <= 4 * rounds
    assert worst <= 5 * ceil_log2(size) + 5


def test_amta_evicts_few_one_by_one() -> None:
    """What a window of fixed size does to it when it is fed by batches."""
    counter = Counter()
    window = filled(AMTA(counter.monoid), range(1_000))
    window.query()
    counter.combines = 0
    for _ in range(10_000):
        window.evict_many(1)
        window.insert(1)
        window.query_partial()
    assert counter.combines <= 4 * 10_000


@given(steps=st.lists(st.sampled_from("iiieeq"), max_size=400))
def test_amta_is_amortised_whatever_the_operations(steps: list[str]) -> None:
    counter = Counter()
    window = AMTA(counter.monoid)
    operations = 0
    for step in steps:
        operations += 1
        if step == "i":
            window.insert(1)
        elif step == "q":
            window.query_partial()
        elif len(window):
            window.evict()
    assert counter.combines <= 4 * operations


@pytest.fixture(scope="module")
def bulk_windows() -> tuple[Counter, dict[type, Any]]:
    counter = Counter()
    return counter, {kind: filled(kind(counter.monoid), (1 for _ in range(2**17))) for kind in (LogMTA, AMTA)}


@both
@pytest.mark.parametrize("bits", range(17))
def test_bulk_eviction_is_logarithmic(
    algorithm: Algorithm, bits: int, bulk_windows: tuple[Counter, dict[type, Any]]
) -> None:
    counter, windows = bulk_windows
    window = windows[algorithm]
    count = 2**bits
    while len(window) < 2**17:
        window.insert(1)
    window.query()
    assert counter.cost(lambda: (window.evict_many(count), window.query_partial())) <= 3 * 17 + 2
    assert window.query() == 2**17 - count
    left = len(window)
    assert counter.cost(window.evict_while, lambda total, old: total - old >= left - count // 2) <= 6 * 17
    assert window.query() == left - count // 2


def test_amta_asks_a_policy_once_where_nothing_goes() -> None:
    window = filled(AMTA(SUM), range(1, 1_000))
    asked = []
    window.evict_while(lambda total, old: asked.append(old))
    assert asked == [1]


def test_amta_asks_a_policy_the_less_the_fewer_go() -> None:
    window = filled(AMTA(SUM), [1] * 4096)
    for count in (1, 3, 10, 100, 900):
        asked = []
        window.evict_while(lambda total, old: asked.append(old) or old <= count)  # noqa: B023
        assert len(asked) <= 2 * math.log2(count) + 5
