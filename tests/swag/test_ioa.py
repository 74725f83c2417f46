from __future__ import annotations

import gc
import itertools
import threading
import tracemalloc

from support.swag_windows import (
    RUNNING_EXAMPLE_RESULTS,
    TEXT,
    machine_for,
    running_example,
)
from windrow.monoids.own import monoid
from windrow.swag.ioa import IOA, Cell
from windrow_experiments.measure import Counter

TestAgainstText = machine_for(IOA)


def test_running_example() -> None:
    assert running_example(IOA) == RUNNING_EXAMPLE_RESULTS


def delayed(window: IOA) -> list[Cell]:
    found = []
    cell = window._front
    while cell is not None:
        if cell.is_delayed:
            found.append(cell)
            break
        cell = cell.tail
    return found


def test_a_delayed_cell_holds_the_rotation_and_is_forced_in_place() -> None:
    window = IOA(TEXT)
    for letter in "abcdefg":
        window.insert(letter)
    (cell,) = delayed(window)
    assert (cell.value.value, cell.agg.value, cell.tail.value) == ("b", "f", "g")  # L, R and A
    window.evict()
    assert (cell.is_delayed, cell.value, cell.agg) == (False, "b", "bcdefg")
    assert window._front is cell
    (following,) = delayed(window)
    assert following is cell.tail
    window.evict()
    window.evict()
    assert delayed(window) == []
    assert window.query() == "defg"


def test_combines_in_the_worst_case_over_all_interleavings() -> None:
    worst = {"insert": 0, "evict": 0, "query": 0}
    for steps in itertools.product((True, False), repeat=16):
        balances = list(itertools.accumulate(1 if step else -1 for step in steps))
        if min(balances) < 0:
            continue
        counter = Counter()
        window = IOA(counter.monoid)
        for step in steps:
            name = "insert" if step else "evict"
            cost = counter.cost(window.insert, 1) if step else counter.cost(window.evict)
            worst[name] = max(worst[name], cost)
            worst["query"] = max(worst["query"], counter.cost(window.query_partial))
    assert worst == {"insert": 4, "evict": 3, "query": 1}


def test_bounds_hold_for_large_windows() -> None:
    counter = Counter()
    window = IOA(counter.monoid)
    for number in range(20_000):
        assert counter.cost(window.insert, 1) <= 4
        if number % 3 == 2:
            assert counter.cost(window.evict) <= 3
    while len(window):
        assert counter.cost(window.evict) <= 3
        assert counter.cost(window.query_partial) <= 1


class Box:
    """A number that knows how many of its kind there are."""

    alive = 0

    def __init__(self, number: int) -> None:
        self.number = number
        Box.alive += 1

    def __del__(self) -> None:
        Box.alive -= 1


def test_partials_are_freed_as_their_cells_leave() -> None:
    boxes = monoid(lift=Box, combine=lambda a, b: Box(a.number + b.number), identity=Box(0), compile=False)
    window = IOA(boxes)
    gc.disable()  # by reference counts alone
    try:
        for _ in range(100):
            window.insert(1)
        before = Box.alive
        most = 0
        for _ in range(1_000):
            window.evict()
            window.insert(1)
            most = max(most, Box.alive)
        assert window.query().number == 100
        assert most < before + 4 * 100  # of a value: itself, and one sum in each of the lists of a rotation
        window.evict_many(100)
        assert Box.alive == 1
    finally:
        gc.enable()


def test_memory_does_not_grow_over_many_rounds() -> None:
    window = IOA(Counter().monoid)
    for _ in range(100):
        window.insert(1)
    tracemalloc.start()
    try:
        sizes = []
        for number in range(100_000):
            window.evict()
            window.insert(1)
            if number % 10_000 == 5_000:
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert max(sizes[1:]) - min(sizes[1:]) < 30_000
    assert sizes[-1] < 60_000


def test_a_window_of_a_million_cells_is_freed_without_overflow() -> None:
    windows = [IOA(Counter().monoid)]
    for _ in range(1_000_000):
        windows[0].insert(1)
    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=windows.clear)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert not windows
