from __future__ import annotations

import pytest

from support.swag_windows import (
    RUNNING_EXAMPLE_RESULTS,
    TEXT,
    machine_for,
    running_example,
)
from windrow.swag.b_int import BInt
from windrow_experiments.measure import Counter

TestAgainstText = machine_for(BInt)


def log2(number: int) -> int:
    """The logarithm, rounded down."""
    return number.bit_length() - 1


def test_running_example() -> None:
    assert running_example(BInt) == RUNNING_EXAMPLE_RESULTS


def test_a_window_is_split_into_base_intervals() -> None:
    window = BInt(TEXT)
    for letter in "abcdefghijklmno":
        window.insert(letter)
    window.evict()
    # positions 1 ... 14:  b | cd | efgh | ijkl | mn | o
    places = [(0, 1), (1, 1), (2, 1), (2, 2), (1, 6), (0, 14)]  # level and position, in a ring of 2 * 16
    found = [window._ring[(16 >> level) + position % (16 >> level)] for level, position in places]
    assert found == ["b", "cd", "efgh", "ijkl", "mn", "o"]
    assert window.query() == "bcdefghijklmno"


@pytest.mark.parametrize("start", [0, 1, 5, 31, 64])
def test_combines(start: int) -> None:
    counter = Counter()
    window = BInt(counter.monoid)
    for _ in range(start):
        window.insert(1)
        window.evict()
    for size in range(1, 200):
        assert counter.cost(window.insert, 1) <= log2(size)
        for _ in range(3 * size if size < 40 else 1):
            assert counter.cost(window.query) <= max(0, 2 * log2(size) - 1)
            assert counter.cost(window.evict) == 0
            assert counter.cost(window.insert, 1) <= log2(size)


@pytest.mark.parametrize("bits", [2, 3, 5, 8])
def test_the_bound_of_a_query_is_reached(bits: int) -> None:
    # positions 1 ... 2^k - 2 split into two intervals of each size below 2^(k - 1)
    counter = Counter()
    window = BInt(counter.monoid)
    for _ in range(2**bits - 1):
        window.insert(1)
    window.evict()
    assert counter.cost(window.query) == 2 * log2(len(window)) - 1 == 2 * (bits - 1) - 1


def test_inserting_costs_one_combine_on_average() -> None:
    counter = Counter()
    window = BInt(counter.monoid)
    for _ in range(10_000):
        window.insert(1)
        if len(window) > 100:
            window.evict()
    assert counter.combines < 10_000


def test_buffers_follow_the_window() -> None:
    window = BInt(TEXT)
    for number in range(1_000):
        window.insert(str(number % 10))
    assert window._capacity == 1024
    window.evict_many(990)
    assert window._capacity <= 32
    assert window.query() == "0123456789"
    for number in range(10_000):  # at a fixed size nothing is resized
        window.insert(str(number % 10))
        window.evict()
    assert window._capacity <= 32
    assert window.query() == "0123456789"


def test_evicted_partials_are_given_up() -> None:
    window = BInt(TEXT)
    for letter in "abcdefgh":
        window.insert(letter)
    window.evict_many(8)
    assert all(slot is None for slot in window._ring)
