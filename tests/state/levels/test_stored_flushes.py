"""Flushes of windows in stores: together or not at all, repeated after a failure, nothing left over."""

from __future__ import annotations

import random
from typing import Any

import pytest

import windrow as wr
from support.stored_windows import Flaky, copied
from support.swag_windows import TEXT, Algorithm, both, filled
from windrow.state import (
    MemoryStore,
    StoreUnavailable,
)
from windrow.state.levels.stored import DELETED_AT_ONCE
from windrow.swag.mta_stored import flush_together


def test_windows_are_flushed_together_or_not_at_all() -> None:
    store = MemoryStore()
    keys = [
        wr.swag.AMTA.open(store, f"key {number}", TEXT, durability="flush", buffer=4, block=2)
        for number in range(5)
    ]
    for window in keys:
        filled(window, "abcdefghijklmn")
    flush_together(keys, [(b"offset", b"14")])
    for window in keys:
        filled(window, "opqrstuvwxyz")
    lost = copied(store)
    assert lost.get(b"offset") == b"14"
    for number in range(5):
        again = wr.swag.AMTA.open(lost, f"key {number}", TEXT, durability="flush")
        assert again.query() == "abcdefghijklmn"
        filled(again, "OPQ").close()
        assert wr.swag.AMTA.open(lost, f"key {number}", TEXT).query() == "abcdefghijklmnOPQ"
    with pytest.raises(ValueError, match="different stores"):
        flush_together([keys[0], wr.swag.AMTA.open(lost, "key 0", TEXT)])


def test_windows_that_did_not_change_are_not_written_again() -> None:
    store = Flaky()
    keys = [filled(wr.swag.AMTA.open(store, f"key {n}", TEXT, durability="flush"), "abc") for n in range(5)]
    flush_together(keys, sync=False)
    flush_together(keys, sync=True)
    keys[2].insert("d")
    before = [window.metrics.checkpoints for window in keys]
    flush_together(keys)
    flush_together(keys, [(b"offset", b"4")])
    assert [window.metrics.checkpoints - b for window, b in zip(keys, before, strict=True)] == [0, 0, 1, 0, 0]
    assert store.get(b"offset") == b"4"
    assert wr.swag.AMTA.open(store, "key 2", TEXT).query() == "abcd"
    store.is_away = True
    with pytest.raises(StoreUnavailable):
        flush_together(keys, [(b"offset", b"5")])


def test_what_changed_since_the_last_flush_leaves_no_trace_of_a_killed_window() -> None:
    store = MemoryStore()
    window = filled(wr.swag.AMTA.open(store, "w", wr.sum, durability="flush", buffer=4, block=2), range(10))
    window.flush()
    stored = dict(store.values)
    filled(window, range(500))
    window.evict_many(300)
    assert store.values == stored
    again = wr.swag.AMTA.open(copied(store), "w", wr.sum, durability="flush", block=2)
    assert again.query() == sum(range(10))
    again.check_invariants()


@both
def test_a_checkpoint_deletes_the_blocks_before_the_head(algorithm: Algorithm) -> None:
    """A few at a time between operations, so that no slide waits for a bulk eviction's; all in a flush."""
    store = MemoryStore()
    window = filled(algorithm.open(store, "w", wr.sum, buffer=4, block=1), range(20_000))
    window.flush()
    stored = len(store)
    window.evict_many(19_000)
    filled(window, range(8))
    assert stored - 3 * DELETED_AT_ONCE < len(store) < stored - DELETED_AT_ONCE // 2
    window.flush()
    assert len(store) < 2_500
    again = algorithm.open(copied(store), "w", wr.sum)
    assert again.query() == sum(range(19_000, 20_000)) + sum(range(8))


@both
def test_garbage_that_a_killed_window_left_is_deleted_by_the_next(algorithm: Algorithm) -> None:
    store = MemoryStore()
    window = filled(algorithm.open(store, "w", wr.sum, buffer=4, block=1), range(20_000))
    window.evict_many(19_000)
    filled(window, range(8))
    again = algorithm.open(copied(store), "w", wr.sum, buffer=4)
    assert len(again._levels.store) > 10_000
    again.insert(1)
    again.close()
    assert len(again._levels.store) < 2_500


# -- a store that fails ------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 2, 2), (9, 3, 3)])
def test_an_operation_that_fails_has_changed_nothing_and_can_be_repeated(
    algorithm: Algorithm, sizes: Any
) -> None:
    store = Flaky()
    buffer, cache, block = sizes
    window = algorithm.open(store, "w", TEXT, buffer=buffer, cache=cache, block=block)
    text = ""
    failures = 0

    def insist(operation: Any) -> Any:
        nonlocal failures
        for attempt in range(100):
            try:
                return operation()
            except StoreUnavailable:
                failures += 1
                window_is = len(window)
                assert window_is == len(text)
                if attempt % 3 == 2:
                    store.is_away = False
        raise AssertionError("the store is back, and the window is not")

    for number in range(400):
        store.is_away = number % 11 == 5
        letter = chr(97 + number % 26)
        insist(lambda: window.insert(letter))  # noqa: B023
        text += letter
        if number % 5:
            insist(window.evict) if text else None
            text = text[1:]
        assert insist(window.query) == text
    store.is_away = False
    window.flush()
    again = algorithm.open(copied(store), "w", TEXT)
    assert again.query() == text
    again.check_invariants()
    assert failures >= 3


@both
@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 2, 2), (9, 3, 3)])
def test_evicting_many_and_past_nulls_from_a_store_that_fails_evicts_all_or_nothing(
    algorithm: Algorithm, sizes: Any
) -> None:
    store, rng = Flaky(), random.Random(5)
    buffer, cache, block = sizes
    window = algorithm.open(store, "w", TEXT, buffer=buffer, cache=cache, block=block)
    values: list[str | None] = []

    def insist(operation: Any, argument: Any) -> int:
        """How often it fails until the store stays."""
        for failures in range(1000):
            try:
                operation(argument)
            except StoreUnavailable:
                assert len(window) == len(values)
                store.is_away = rng.random() < 0.7
            else:
                return failures
        raise AssertionError("the store is back, and the window is not")

    failures = 0
    for number in range(300):
        for _ in range(rng.randrange(40)):
            values.append(rng.choice("abc") if rng.random() < 0.5 else None)
            held, values = values, values[:-1]
            insist(window.insert, held[-1])
            values = held
        store.is_away = rng.random() < 0.7
        count = rng.randrange(min(12, len(values) + 1)) if number % 10 else len(values)
        failures += insist(window.evict_many, count)
        store.is_away = False
        values = values[count:]
        assert window.query() == "".join(filter(None, values))
        assert len(window._null_positions) == values.count(None)
    window.check_invariants()
    assert failures >= 3


def test_a_failed_flush_can_be_repeated_and_loses_nothing_confirmed() -> None:
    store = Flaky()
    window = filled(wr.swag.AMTA.open(store, "w", TEXT, buffer=4, block=2), "abcdefgh")
    window.flush()
    store.is_away = True
    window.insert("i")
    with pytest.raises(StoreUnavailable, match="away"):
        window.flush()
    assert wr.swag.AMTA.open(copied(store), "w", TEXT).query() == "abcdefgh"
    store.is_away = False
    window.flush()
    assert wr.swag.AMTA.open(copied(store), "w", TEXT).query() == "abcdefghi"
