from __future__ import annotations

import inspect
import itertools
import sys
import threading

from support.swag_windows import (
    RUNNING_EXAMPLE_RESULTS,
    TEXT,
    machine_for,
    running_example,
)
from windrow.swag.foa import FOA, Suspended
from windrow_experiments.measure import Counter

TestAgainstText = machine_for(FOA)


def test_running_example() -> None:
    assert running_example(FOA) == RUNNING_EXAMPLE_RESULTS


def suspended(window: FOA) -> Suspended | None:
    """The suspended rot of a window; nothing is forced by looking."""
    cell = window.version.front
    while cell is not None:
        if isinstance(cell.rest, Suspended):
            return cell.rest
        cell = cell.rest
    return None


def test_rotation_is_suspended_and_forced_a_step_an_operation() -> None:
    window = FOA(TEXT)
    for letter in "abcdefg":
        window.insert(letter)
    # c made front a, b, c; g makes back, d ... g, longer than front: rotation begins
    rotation = suspended(window)
    assert rotation is not None
    assert window.version.next is window.version.front
    assert rotation.L is not None
    assert (rotation.L.value, rotation.R.value, rotation.A.value) == ("b", "f", "g")
    window.insert("h")  # one step: b is done, c is next
    rotation = suspended(window)
    assert rotation is not None
    assert rotation.L is not None
    assert (rotation.L.value, rotation.R.value, rotation.A.value) == ("c", "e", "f")
    window.evict()
    window.evict()  # the last value of L and of R: nothing is suspended any more
    assert suspended(window) is None
    assert window.query() == "cdefgh"


def test_a_step_forced_by_one_version_is_done_for_all() -> None:
    window = FOA(TEXT)
    for letter in "abcdefg":
        window.insert(letter)
    before = window.snapshot()
    assert before.version == window.version
    assert before.version.next is not None
    assert isinstance(before.version.next.rest, Suspended)
    window.insert("h")
    assert window.version.next is before.version.next.rest
    twin = before.snapshot()
    twin.evict()
    assert twin.version.next is window.version.next


def test_combines_in_the_worst_case_over_all_interleavings() -> None:
    worst = {"insert": 0, "evict": 0, "query": 0}
    for steps in itertools.product((True, False), repeat=16):
        balances = list(itertools.accumulate(1 if step else -1 for step in steps))
        if min(balances) < 0:
            continue
        counter = Counter()
        window = FOA(counter.monoid)
        for step in steps:
            name = "insert" if step else "evict"
            cost = counter.cost(window.insert, 1) if step else counter.cost(window.evict)
            worst[name] = max(worst[name], cost)
            worst["query"] = max(worst["query"], counter.cost(window.query_partial))
    assert worst == {"insert": 4, "evict": 3, "query": 1}


def test_bounds_hold_for_large_windows_and_for_old_versions() -> None:
    counter = Counter()
    window = FOA(counter.monoid)
    versions = []
    for number in range(3000):
        assert counter.cost(window.insert, 1) <= 4
        if number % 3 == 2:
            assert counter.cost(window.evict) <= 3
        if number % 50 == 0:
            versions.append(window.snapshot())
    for version in versions:
        for _ in range(20):
            assert counter.cost(version.insert, 1) <= 4
            assert counter.cost(version.evict) <= 3
            assert counter.cost(version.query) <= 1


def test_every_version_goes_on_answering() -> None:
    window = FOA(TEXT)
    text = ""
    kept: list[tuple[FOA, str]] = []
    for number in range(300):
        if number % 5 in (0, 1, 3) or not text:
            letter = chr(97 + number % 26)
            window.insert(letter)
            text += letter
        else:
            window.evict()
            text = text[1:]
        kept.append((window.snapshot(), text))
    while text:
        window.evict()
        text = text[1:]
    for version, expected in kept:
        version.check_invariants()
        assert (version.query(), len(version)) == (expected, len(expected))


def test_versions_go_their_own_ways() -> None:
    root = FOA(TEXT)
    for letter in "abcdefgh":
        root.insert(letter)
    branches = [(root.snapshot(), "abcdefgh")]
    for depth in range(9):
        grown = []
        for version, text in branches:
            longer, shorter = version.snapshot(), version.snapshot()
            longer.insert(str(depth))
            shorter.evict() if text else shorter.insert("z")
            grown += [(longer, text + str(depth)), (shorter, text[1:] if text else "z")]
        branches = grown
    for version, text in branches:
        version.check_invariants()
        assert version.query() == text
    assert root.query() == "abcdefgh"


def test_a_snapshot_keeps_its_nulls_and_its_count() -> None:
    window = FOA(TEXT.with_rules(nulls="propagate"))
    for value in (None, "a", None, "b"):
        window.insert(value)
    before = window.snapshot()
    window.evict_many(3)
    assert (window.query(), len(window)) == ("b", 1)
    assert (before.query(), len(before)) == (None, 4)
    before.evict_many(3)
    window.insert(None)
    assert (before.query(), window.query()) == ("b", None)


def test_forcing_has_constant_depth() -> None:
    window = FOA(Counter().monoid)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 40)
    try:
        for _ in range(20_000):
            window.insert(1)
        for _ in range(20_000):
            window.evict()
    finally:
        sys.setrecursionlimit(limit)
    assert len(window) == 0


def test_a_long_window_is_freed_without_overflow() -> None:
    windows = [FOA(Counter().monoid)]
    for _ in range(200_000):
        windows[0].insert(1)
    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=windows.clear)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert not windows
