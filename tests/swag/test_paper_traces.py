"""The traces printed in the papers, step by step."""

from __future__ import annotations

import pytest

import windrow as wr
from support.aggregates import ALGORITHMS

#: [DABA] figure 4: the maximum after each step
STEPS = ["start", "evict", 1, "evict", 4, "evict", 2, "evict", 7]
MAXIMA = [6, 6, 6, 5, 5, 5, 5, 4, 7]
#: [DABA] figure 11 and the slides: which case of fixup each step takes; a flip goes on to a shrink
CASES = ["shrink", "shift", "shift", "shift", "flip, shrink", "shrink", "shift", "shift"]


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if not a.needs_inverse] + [wr.swag.Recalc])
def test_running_example(algorithm: type[wr.swag.Swag]) -> None:
    window = algorithm(wr.max)
    for value in (2, 6, 3, 5, 3):
        window.insert(value)
    found = [window.query()]
    for step in STEPS[1:]:
        if step == "evict":
            window.evict()
        else:
            window.insert(step)
        window.check_invariants()
        found.append(window.query())
    assert found == MAXIMA


def fixup_case(before: dict[str, int], after: dict[str, int], evicted: bool) -> str:
    """Which case of fixup was taken, read off the pointers counted from the front."""
    shift = 1 if evicted else 0
    moved = {name: after[name] - (before[name] - shift) for name in "LRA"}
    flipped = after["B"] != before["B"] - shift
    if moved == {"L": 1, "R": 1, "A": 1}:
        return "shift"
    shrunk = "shrink" if after["L"] == 1 or moved["L"] == 1 else "?"
    return f"flip, {shrunk}" if flipped else shrunk


def test_daba_takes_the_cases_of_figure_11() -> None:
    window = _histories_that_reach_state_a()[0]
    assert window.pointers == {"F": 0, "L": 1, "R": 2, "A": 3, "B": 5, "E": 5}
    taken = []
    for step in STEPS[1:]:
        before = window.pointers
        if step == "evict":
            window.evict()
        else:
            window.insert(step)
        taken.append(fixup_case(before, window.pointers, step == "evict"))
        window.check_invariants()
    assert taken == CASES
    # state i: 3 1 4 2 7 would flip next
    assert window.pointers["L"] == window.pointers["B"]


def _histories_that_reach_state_a() -> list[wr.swag.DABA]:
    """State a of the figure: 2 6 3 5 3 with L, R, A at 1, 2, 3. Five inserts alone leave the pointers
    elsewhere, so windows with up to 8 earlier values, evicted at some point, are tried."""
    found = []
    for earlier in range(9):
        for at in range(6):
            window = wr.swag.DABA(wr.max)
            values = [9] * earlier + [2, 6, 3, 5, 3]
            for number, value in enumerate(values):
                if number == earlier + at:
                    window.evict_many(min(earlier, len(window)))
                window.insert(value)
            window.evict_many(len(window) - 5)
            if window.pointers == {"F": 0, "L": 1, "R": 2, "A": 3, "B": 5, "E": 5}:
                found.append(window)
    return found


def test_flat_fat_of_figure_5() -> None:
    """[RA] figure 5: 4 7 3 2 arrive, 4 leaves, 9 arrives in the slot that 4 left: the buffer is inverted."""
    window = wr.swag.FlatFAT(wr.collect, capacity=4)
    leaves = []
    for value in (4, 7, 3, 2):
        window.insert(value)
        window.query()
        leaves.append(_slots(window))
    window.evict()
    leaves.append(_slots(window))
    window.insert(9)
    leaves.append(_slots(window))
    assert leaves == [
        [4, None, None, None],
        [4, 7, None, None],
        [4, 7, 3, None],
        [4, 7, 3, 2],
        [None, 7, 3, 2],
        [9, 7, 3, 2],
    ]
    assert window.query() == [7, 3, 2, 9]
    assert window.capacity == 4


def _slots(window: wr.swag.FlatFAT) -> list[int | None]:
    leaves = window._tree[window.capacity :]
    return [leaf[0] if isinstance(leaf, tuple) else None for leaf in leaves]
