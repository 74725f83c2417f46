"""The ledger: which windows came out, and as what revision."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from windrow.slicing.ledger import Ledger
from windrow.slicing.window_lists import Found

WINDOWS = st.sets(st.tuples(*[st.integers(0, 2)] * 4), max_size=8)


def found(windows: Any) -> Found:
    rows = np.array(sorted(windows), np.int64).reshape(-1, 4)
    return Found(*(np.ascontiguousarray(rows[:, k]) for k in range(4)))


def listed(windows: Found) -> list[tuple[int, ...]]:
    columns = (windows.windows, windows.keys, windows.starts, windows.ends)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(WINDOWS, st.booleans()), max_size=6))
def test_revisions_count_how_often_a_window_came_out(steps: list[Any]) -> None:
    ledger, times, final = Ledger.empty(), {}, {}
    for windows, is_final in steps:
        ledger, revisions, corrected = ledger.entered(found(windows), is_final)
        expected = [times.get(window, 0) for window in sorted(windows)]
        assert revisions.tolist() == expected
        assert corrected == sum(final.get(window, False) for window in windows)
        times |= {window: times.get(window, 0) + 1 for window in windows}
        final |= dict.fromkeys(windows, is_final)
        assert listed(ledger.found) == sorted(times)
        assert (ledger.revisions + 1).tolist() == [times[window] for window in sorted(times)]


@given(WINDOWS, WINDOWS)
def test_places_of_windows_that_came_out_and_of_others(known: Any, asked: Any) -> None:
    ledger, _, _ = Ledger.empty().entered(found(known), is_final=True)
    places = ledger.places(found(asked)).tolist()
    held = listed(ledger.found)
    assert [None if place < 0 else held[place] for place in places] == [
        window if window in known else None for window in sorted(asked)
    ]


def test_what_is_forgotten_counts_anew_and_keys_can_be_renumbered() -> None:
    windows = found({(0, 0, 0, 5), (0, 1, 0, 5), (0, 1, 5, 10)})
    ledger, _, _ = Ledger.empty().entered(windows, is_final=True)
    ledger = ledger.only(ledger.found.ends > 5).with_keys(np.array([9, 4]))
    assert listed(ledger.found) == [(0, 4, 5, 10)]
    ledger, revisions, _ = ledger.entered(found({(0, 4, 0, 5), (0, 4, 5, 10)}), is_final=True)
    assert revisions.tolist() == [0, 1]
