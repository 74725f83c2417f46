"""How many slices an operator holds, against the theory ([Scotty] section III): no more than windows need.

In order, edges that have passed need not be kept apart unless a window starts there: after the watermark has
passed, at most one slice a window start, and one more for each block of time that the store cuts at. Out of
order every start and every end cuts, shared edges once. Sessions: one slice an open session.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.slicing import Slicer
from windrow.windows import Session, TimeWindow


def opened(*windows: Any, **options: Any) -> Any:
    named = {f"w{number}": window for number, window in enumerate(windows)}
    return wr.query(time="t", **options).window(**named).agg(n=wr.count()).open()


def edges_between(windows: list[TimeWindow], first: int, last: int) -> int:
    return len({edge for window in windows for edge in window.edges(first + 1, last)})


SHIFTED = [wr.Sliding(6_401, slide=2)]  # starts are even, ends are odd
MIXED = [wr.Sliding(1_000, slide=70), wr.Tumbling(300)]


@pytest.mark.parametrize("windows", [SHIFTED, MIXED, [wr.Sliding(700, slide=200)], [wr.Tumbling(500)]])
def test_in_order_at_most_a_slice_a_window_start_and_one_a_block(windows: list[Any]) -> None:
    operator = opened(*windows, watermark=0)
    for first in range(0, 10_000, 250):
        operator.push(pa.table({"t": np.arange(first, first + 250)}))
    part = operator._state.time
    store, watermark = part.store, 9_999
    passed = [number for number in store.blocks if (number + 1) * store.span <= watermark]
    held = sum(len(store.blocks[number].slices) for number in passed)
    first = part.windows.horizon(watermark)
    starts = {start for window in windows for start, _ in window.windows_ending_in(watermark, 2 * watermark)}
    starts |= {first}
    assert held <= len(starts) + len(passed)
    if windows is SHIFTED:  # so that the bound says something: half of the edges are ends
        assert held < 0.55 * edges_between(windows, first, watermark)


@pytest.mark.parametrize("windows", [MIXED, [wr.Sliding(700, slide=200)], [wr.Cumulative(100, step=20)]])
def test_out_of_order_starts_and_ends_cut_and_shared_edges_cut_once(windows: list[Any]) -> None:
    operator = opened(*windows)
    times = np.random.default_rng(1).permutation(4_000)
    for part in np.array_split(times, 7):
        operator.push(pa.table({"t": part}))
    assert operator.metrics.slices == edges_between(windows, 0, 3_999) + 1


def test_one_window_and_a_thousand_with_the_same_edges_hold_the_same_slices() -> None:
    one = [wr.Sliding(20_000, slide=1_000)]
    thousand = [wr.Sliding(1_000 * (1 + k % 20), slide=1_000) for k in range(999)] + one
    times = np.random.default_rng(2).integers(0, 60_000, 5_000)
    counts = []
    for windows in (one, thousand):
        operator = opened(*windows)
        operator.push(pa.table({"t": times}))
        counts.append(operator.metrics.slices)
    assert counts == [60, 60]


def test_every_key_has_slices_of_its_own_and_only_those_that_hold_a_row() -> None:
    operator = opened(wr.Tumbling(10), by="k")
    operator.push(pa.table({"t": [1, 5, 95, 3], "k": ["a", "a", "a", "b"]}))
    assert operator.metrics.slices == 3


def test_one_slice_an_open_session() -> None:
    operator = opened(wr.Session(gap=5), by="k")
    operator.push(pa.table({"t": [*range(100), 200, 204], "k": ["a"] * 102}))
    operator.push(pa.table({"t": [50, 202, 7], "k": ["a", "a", "b"]}))
    assert operator.metrics.slices == 3
    operator.advance(104)
    assert operator.metrics.slices == 1
    operator.finish()
    assert operator.metrics.slices == 0


@pytest.mark.parametrize("others", [[], [50], [50, 9, 200, 6]])
def test_only_the_smallest_gap_cuts_a_batch(others: list[int]) -> None:
    operator = opened(wr.Session(gap=5), *(Session(gap) for gap in others))
    assert operator._plan.slicer.gap == 5
    times, runs = np.array([0, 5, 11, 17, 100, 104]), np.array([0, 6])
    assert operator._plan.slicer.slices(times, runs).rows.tolist() == [0, 2, 3, 4, 6]


def test_sessions_of_every_gap_hold_a_slice_a_session() -> None:
    operator = opened(wr.Session(gap=5), wr.Session(gap=50))
    operator.push(pa.table({"t": [0, 5, 20, 200, 204, 400]}))
    assert operator.metrics.slices == 4 + 3


def test_a_session_beside_time_windows_cuts_no_slice_that_stays() -> None:
    """Silence cuts a batch, but in the store of time windows only edges keep slices apart."""
    times = [0, 30, 31, 60, 99]
    alone, beside = opened(wr.Tumbling(100)), opened(wr.Tumbling(100), wr.Session(gap=5))
    for operator in (alone, beside):
        operator.push(pa.table({"t": times}))
    assert len(alone._state.time.store) == len(beside._state.time.store) == 1


def test_aggregates_that_depend_on_order_have_a_slice_a_moment_and_no_more() -> None:
    query = wr.query(time="t").window(wr.Tumbling(10)).agg(text=wr.concat("v"))
    operator = query.open()
    for _ in range(3):
        operator.push(pa.table({"t": [5, 1, 1, 12], "v": ["a", "b", "c", "d"]}))
    assert operator.metrics.slices == 3


def test_aggregates_that_pick_a_row_remember_its_time_and_need_no_moments() -> None:
    query = (
        wr.query(time="t").window(wr.Tumbling(10)).agg(first=wr.first("v"), top=wr.arg_max("x", value="v"))
    )
    operator = query.open()
    operator.push(pa.table({"t": [5, 1, 3], "v": ["a", "b", "c"], "x": [1, 1, 0]}))
    operator.push(pa.table({"t": [0], "v": ["z"], "x": [1]}))
    assert operator.metrics.slices == 1
    assert operator.finish().to_pylist() == [{"window_start": 0, "window_end": 10, "first": "z", "top": "z"}]


def test_the_slicer_cuts_late_rows_at_every_moment_only_where_it_is_told() -> None:
    slicer = Slicer([wr.Tumbling(100)])
    times, runs = np.array([1, 2, 2, 50, 60]), np.array([0, 5])
    assert slicer.slices(times, runs, cut_before=3).rows.tolist() == [0, 1, 3, 5]
