from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.state import LevelStore, MemoryLevels


def test_memory_is_a_level_store() -> None:
    store: LevelStore = MemoryLevels()
    store.put_many([((0, 0), ("a", "b")), ((3, 7), ("c", "d"))])
    assert store.get_many([(3, 7), (0, 0)]) == [("c", "d"), ("a", "b")]
    assert store.get_many([]) == []


@pytest.mark.parametrize("key", [(0, 1), (1, 0), (5, 0), (0, 1000)])
def test_what_is_not_there_is_an_error(key: tuple[int, int]) -> None:
    store = MemoryLevels()
    store.put(0, 0, (1, 2))
    store.put(2, 0, (3, 4))
    with pytest.raises(KeyError, match=f"level {key[0]}, position {key[1]}"):
        store.get(*key)


def test_the_last_pair_may_be_written_again() -> None:
    store = MemoryLevels()
    store.put(0, 5, (1, 0))
    store.put(0, 5, (1, 2))
    assert store.get(0, 5) == (1, 2)


def test_dropping_far_moves_the_head_and_frees_little_at_a_time() -> None:
    store = MemoryLevels()
    for position in range(2**14):
        store.put(0, position, (position, position))
    full = store.capacity
    store.drop(0, before=2**14 - 1)
    assert full - store.capacity <= 128
    with pytest.raises(KeyError):
        store.get(0, 2**14 - 2)
    assert store.get(0, 2**14 - 1) == (2**14 - 1, 2**14 - 1)
    for position in range(2**14, 2**14 + 2**13 + 1024):  # half as much again, and all of it is gone
        store.put(0, position, (0, 0))
    assert store.capacity <= 2**13 + 1024 + 128


def test_sweep_frees_all_that_was_dropped() -> None:
    store = MemoryLevels()
    for position in range(10_000):
        store.put(1, position, (0, 0))
    store.drop(1, before=20_000)
    store.sweep()
    assert store.capacity == 0
    store.put(1, 30_000, (1, 1))  # positions may be left out
    assert store.get(1, 30_000) == (1, 1)


def test_dropping_backwards_or_where_nothing_is_changes_nothing() -> None:
    store = MemoryLevels()
    store.drop(4, before=10)
    store.put(0, 3, (1, 1))
    store.drop(0, before=3)
    store.drop(0, before=1)
    assert store.get(0, 3) == (1, 1)
    with pytest.raises(KeyError):
        store.get(0, 2)


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 2), st.integers(0, 200)),
            st.tuples(st.just("drop"), st.integers(0, 2), st.integers(0, 300)),
        ),
        max_size=60,
    )
)
def test_against_a_dict(steps: list[tuple[str, int, int]]) -> None:
    store = MemoryLevels()
    expected: dict[tuple[int, int], tuple[int, int]] = {}
    ends = [0, 0, 0]
    heads = [0, 0, 0]
    for number, (step, level, amount) in enumerate(steps):
        if step == "put":
            position = max(ends[level] + amount, heads[level])
            ends[level] = position + 1
            store.put(level, position, (number, number))
            expected[level, position] = (number, number)
        else:
            heads[level] += amount
            store.drop(level, heads[level])
            expected = {key: pair for key, pair in expected.items() if key[1] >= heads[key[0]]}
    assert store.get_many(expected) == list(expected.values())
    for level in range(3):
        for position in range(ends[level]):
            if (level, position) not in expected:
                with pytest.raises(KeyError):
                    store.get(level, position)
