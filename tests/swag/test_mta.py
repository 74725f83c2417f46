from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swag_windows import (
    MAX,
    RUNNING_EXAMPLE_RESULTS,
    SUM,
    TEXT,
    check_that_a_raising_combine_changes_nothing,
    machine_for,
    running_example,
)
from windrow.monoids.base import Monoid, monoid
from windrow.papers.measure import Counter
from windrow.state import MemoryLevels
from windrow.swag.amta import AMTA
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import EMPTY, MonoidTree

both = pytest.mark.parametrize("algorithm", [LogMTA, AMTA])
Algorithm = Callable[[Monoid], Any]

TestLogMTAAgainstText = machine_for(LogMTA)
TestAMTAAgainstText = machine_for(AMTA)


def filled(algorithm: Algorithm, aggregate: Monoid, values: Any) -> Any:
    window = algorithm(aggregate)
    for value in values:
        window.insert(value)
    return window


def ceil_log2(number: int) -> int:
    return (number - 1).bit_length()


# -- the paper's traces ------------------------------------------------------------------------------------


@both
def test_running_example(algorithm: Algorithm) -> None:
    assert running_example(algorithm) == RUNNING_EXAMPLE_RESULTS


def test_figure_1() -> None:
    window = filled(LogMTA, SUM, [1, 2, 1, 2, 1, 2])
    assert window.levels() == [[(1, 2), (1, 2), (1, 2)], [(3, 3), (3, EMPTY)], [(6, 3)]]


def test_figure_2() -> None:
    """Timestamps, of which those of the last 4 units stay."""
    window = LogMTA(MAX)
    sizes = []
    for time in (1, 2, 3, 4, 8):
        window.insert(time)
        window.evict_while(lambda total, old: total - old >= 4)
        sizes.append(len(window))
    assert sizes == [1, 2, 3, 4, 1]
    assert window.levels() == [[(8, EMPTY)]]


def test_figure_4() -> None:
    window = filled(AMTA, SUM, [1, 2, 1, 2, 1, 2, 1, 2])
    assert window.levels() == [
        [(1, 2), (1, 2), (1, 2), (1, 2)],
        [(3, 3), (3, EMPTY)],
        [(6, EMPTY)],
    ]
    assert window.result_pair == (6, 6)
    assert window.stack == (3, 5)  # 5 on top
    window.insert(1)
    assert window.result_pair == (6, 7)
    window.evict()
    assert window.result_pair == (5, 7)


def test_figure_5() -> None:
    window = filled(AMTA, SUM, [1, 3, 2, 1, 2, 1, 1, 0, 3, 1])
    assert window.levels() == [
        [(1, 3), (2, 1), (2, 1), (1, 0), (3, 1)],
        [(4, 3), (3, 1)],
        [(7, EMPTY)],
    ]
    assert (window.query(), window.result_pair, window.stack) == (15, (7, 8), (3, 6))
    window.evict()
    assert (window.query(), window.result_pair, window.stack) == (14, (6, 8), (3,))
    assert window.levels()[0][0] == (EMPTY, 3)
    window.evict()
    assert (window.query(), window.result_pair, window.stack) == (11, (3, 8), (1,))
    assert window.levels()[0][0] == (2, 1)
    assert window.levels()[1][0] == (EMPTY, 3)


def test_figure_5_goes_on_where_algorithm_6_pops_an_empty_stack() -> None:
    window = filled(AMTA, SUM, [1, 3, 2, 1, 2, 1, 1, 0, 3, 1])
    window.evict_many(3)
    assert (window.result_pair, window.stack) == ((1, 8), ())
    window.evict()  # the leftmost tree goes; the pair (3, 1) of level 1 is the next
    window.check_invariants()
    assert (window.query(), window.result_pair, window.stack) == (8, (4, 4), (1, 2))
    assert window.levels() == [[(2, 1), (1, 0), (3, 1)], [(3, 1)]]


@both
def test_policy_example_of_section_3_2(algorithm: Algorithm) -> None:
    """Updates that add up to at most 10 stay: a prefix goes while its last update and all after exceed 10."""
    sum_last_max = monoid(
        lift=lambda v: (v, v, v),
        combine=lambda a, b: (a[0] + b[0], b[1], max(a[2], b[2])) if b[0] else a,
        lower=lambda p: p[2],
        identity=(0, 0, 0),
    )

    def policy(total: tuple[int, ...], old: tuple[int, ...]) -> bool:
        return total[0] - old[0] + old[1] > 10

    window = algorithm(sum_last_max)
    results = []
    for update in (2, 2, 3, 3, 4):
        window.insert(update)
        evicted = window.evict_while(policy)
        results.append((window.query(), evicted, len(window)))
    assert results == [(2, 0, 1), (2, 0, 2), (3, 0, 3), (3, 0, 4), (4, 2, 3)]
    assert [window._node(0, p) for p in range(2, 5)] == [(3, 3, 3), (3, 3, 3), (4, 4, 4)]


@both
def test_listing_3_keeps_a_constant_size(algorithm: Algorithm) -> None:
    count = monoid(lift=lambda v: 1, combine=lambda a, b: a + b, identity=0)
    window = algorithm(count)
    for number in range(100):
        window.insert(number)
        window.evict_while(lambda total, old: total - old >= 7)
        assert window.query() == min(number + 1, 7)


# -- evicting many -----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("size", [*range(1, 20), 31, 32, 33, 63, 64, 65])
@pytest.mark.parametrize("start", [0, 1, 2, 3, 7, 8, 13])
def test_every_number_from_every_window(algorithm: Algorithm, size: int, start: int) -> None:
    letters = [chr(256 + number) for number in range(size)]
    for count in range(size + 1):
        for by_policy in (False, True):
            window = filled(algorithm, TEXT, "x" * start)
            window.evict_many(start)
            for letter in letters:
                window.insert(letter)
            if by_policy:
                assert window.evict_while(lambda total, old: len(old) <= count) == count  # noqa: B023
            else:
                window.evict_many(count)
            window.check_invariants()
            assert window.query() == "".join(letters[count:])
            window.insert("+")
            window.check_invariants()
            assert window.query() == "".join(letters[count:]) + "+"


@both
def test_windows_that_empty_and_refill(algorithm: Algorithm) -> None:
    window = algorithm(TEXT)
    for size in (1, 1, 2, 3, 1, 5, 8, 1, 16, 7):
        text = "abcdefghijklmnop"[:size]
        for letter in text:
            window.insert(letter)
        assert window.query() == text
        for left in range(size - 1, -1, -1):
            window.evict()
            window.check_invariants()
            assert window.query() == text[size - left :]
        assert window.query_partial() == ""
        assert window.levels() == []


@both
def test_policies_at_the_edges(algorithm: Algorithm) -> None:
    window = algorithm(TEXT)
    assert window.evict_while(lambda total, old: 1 / 0) == 0  # nothing to ask about
    for letter in "abcde":
        window.insert(letter)
    assert window.evict_while(lambda total, old: False) == 0
    assert window.evict_while(lambda total, old: True) == 5
    window.check_invariants()
    assert (window.query(), len(window)) == ("", 0)


@both
def test_a_policy_that_raises_evicts_nothing(algorithm: Algorithm) -> None:
    window = filled(algorithm, TEXT, "abcdefgh")
    with pytest.raises(ZeroDivisionError):
        window.evict_while(lambda total, old: len(old) < 3 or 1 / 0)
    window.check_invariants()
    assert window.query() == "abcdefgh"


@both
def test_nulls_take_places(algorithm: Algorithm) -> None:
    window = filled(algorithm, TEXT, ["a", None, "b", None, None, "c", None])
    assert window.evict_while(lambda total, old: len(old) <= 2) == 5
    assert (window.query(), len(window)) == ("c", 2)
    window.evict()
    assert (window.query(), len(window)) == ("", 1)
    window.insert("d")
    window.evict_many(1)
    assert window.query() == "d"


@both
def test_a_raising_combine_changes_nothing(algorithm: Algorithm) -> None:
    check_that_a_raising_combine_changes_nothing(algorithm)


@both
@given(
    gaps=st.lists(st.integers(0, 30), min_size=1, max_size=80),
    size=st.integers(1, 60),
)
def test_a_time_policy_over_irregular_arrivals(algorithm: Algorithm, gaps: list[int], size: int) -> None:
    """[MTA] listing 1, on pairs of the latest time and the times themselves."""
    times = monoid(
        lift=lambda time: (time, (time,)),
        combine=lambda a, b: (max(a[0], b[0]), a[1] + b[1]),
        identity=(-1, ()),
    )
    window = algorithm(times)
    now = 0
    expected: tuple[int, ...] = ()
    for gap in gaps:
        now += gap
        window.insert(now)
        expected = tuple(time for time in (*expected, now) if now - time < size)
        window.evict_while(lambda total, old: total[0] - old[0] >= size)
        window.check_invariants()
        assert window.query() == (now, expected)


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
def test_pairs_are_written_once_and_in_order_and_dropped_when_they_leave(algorithm: Any) -> None:
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
def test_a_bulk_eviction_makes_one_round_trip(algorithm: Any) -> None:
    store = StrictLevels()
    window = filled(lambda aggregate: algorithm(aggregate, store), SUM, range(700))
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
    window = filled(algorithm, SUM, range(size))
    window.query()
    assert held_locally(window) <= 3 * ceil_log2(size) + 3


@both
def test_memory_does_not_grow_over_many_rounds(algorithm: Any) -> None:
    store = MemoryLevels()
    window = filled(lambda aggregate: algorithm(aggregate, store), SUM, range(1_000))
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
    window = filled(LogMTA, counter.monoid, range(start))
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
    window = filled(LogMTA, counter.monoid, range(2**13 + 2))
    window.evict_many(2**13 - 2)
    assert [len(level) for level in window.levels()] == [2, 2]
    assert counter.cost(window.insert, 1) <= 2


@pytest.mark.parametrize("size", [1, 2, 3, 10, 64, 100, 1023, 1024])
def test_amta_rounds_cost_four_combines_on_average(size: int) -> None:
    counter = Counter()
    window = filled(AMTA, counter.monoid, range(size))
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
    window = filled(AMTA, counter.monoid, range(1_000))
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
    return counter, {kind: filled(kind, counter.monoid, (1 for _ in range(2**17))) for kind in (LogMTA, AMTA)}


@both
@pytest.mark.parametrize("bits", range(17))
def test_bulk_eviction_is_logarithmic(
    algorithm: Any, bits: int, bulk_windows: tuple[Counter, dict[type, Any]]
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
    window = filled(AMTA, SUM, range(1, 1_000))
    asked = []
    window.evict_while(lambda total, old: asked.append(old))
    assert asked == [1]


def test_amta_asks_a_policy_the_less_the_fewer_go() -> None:
    window = filled(AMTA, SUM, [1] * 4096)
    for count in (1, 3, 10, 100, 900):
        asked = []
        window.evict_while(lambda total, old: asked.append(old) or old <= count)  # noqa: B023
        assert len(asked) <= 2 * math.log2(count) + 5
