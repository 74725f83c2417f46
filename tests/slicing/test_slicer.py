"""The slicer cuts where the theory says, and nowhere else ([Scotty] section III)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.slicing import Slicer
from windrow.windows import Cumulative, Fixed, Sliding, TimeWindow, Tumbling

WINDOWS = st.lists(
    st.one_of(
        st.builds(Tumbling, st.integers(1, 12), st.integers(0, 5)),
        st.integers(2, 12).flatmap(lambda size: st.builds(Sliding, st.just(size), st.integers(1, size))),
        st.integers(1, 4).flatmap(lambda step: st.builds(Cumulative, st.just(3 * step), st.just(step))),
        st.builds(Fixed, st.integers(-20, 20), st.integers(1, 15)),
    ),
    min_size=1,
    max_size=4,
)


def cut(windows: list[TimeWindow], times: list[int], runs: list[int]) -> list[list[int]]:
    slices = Slicer(windows).slices(np.array(times, np.int64), np.array(runs, np.int64))
    assert slices.times.tolist() == [times[r] for r in slices.rows[:-1]]
    return [times[a:b] for a, b in zip(slices.rows[:-1], slices.rows[1:], strict=True)]


@given(WINDOWS, st.lists(st.integers(-40, 40), max_size=30))
def test_rows_share_a_slice_if_and_only_if_no_edge_lies_between(windows: Any, times: list[int]) -> None:
    times = sorted(times)
    slices = cut(windows, times, [0, len(times)])
    assert [t for rows in slices for t in rows] == times
    for rows in slices:
        assert not any(window.edges(rows[0] + 1, rows[-1]) for window in windows)
    for before, after in itertools.pairwise(slices):
        assert any(window.edges(before[-1] + 1, after[0]) for window in windows)


def test_each_key_has_slices_of_its_own() -> None:
    slices = Slicer([Tumbling(10)]).slices(np.array([1, 2, 3, 4, 15]), np.array([0, 2, 2, 5]))
    assert slices.rows.tolist() == [0, 2, 4, 5]
    assert slices.runs.tolist() == [0, 1, 1, 3]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([Tumbling(10)], 1),
        ([Tumbling(10), Tumbling(5)], 1),  # the edges of 10 are edges of 5
        ([Sliding(20, slide=5), Tumbling(10)], 1),
        ([Sliding(7, slide=5)], 2),  # starts and ends do not meet
        ([Tumbling(10), Tumbling(10, offset=3)], 2),
        ([Tumbling(4), Tumbling(6)], 2),
    ],
)
def test_shared_edges_count_once(windows: list[TimeWindow], expected: int) -> None:
    assert len(Slicer(windows).progressions) == expected


def test_a_thousand_windows_cut_no_more_than_their_edges() -> None:
    """Tumbling and sliding windows of 1 to 20 s: one slice a second however many windows there are."""
    second = 1_000
    windows: list[TimeWindow] = [Tumbling(second * k) for k in range(1, 21)]
    windows += [Sliding(second * k, slide=second) for k in range(1, 21)] * 49
    times = np.sort(np.random.default_rng(1).integers(0, 100 * second, 20_000))
    slices = Slicer(windows).slices(times, np.array([0, len(times)]))
    assert len(windows) == 1_000
    assert len(slices) == len(np.unique(times // second)) == 100
