"""Rows in any order are cut into the slices that sorted rows are cut into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow.slicing.slicer
from windrow import threads
from windrow.partials.cells import Pieces, Scattered
from windrow.slicing import Slicer, any_order
from windrow.slicing.any_order import cut_in_any_order
from windrow.slicing.grid import Uniform
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
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(-40, 40)), min_size=1, max_size=30)


@pytest.mark.parametrize("few", [1 << 20, -(1 << 40)], ids=["scattered", "gathered"])
@given(windows=WINDOWS, rows=ROWS, rise=st.booleans(), piece=st.sampled_from([2, threads.PIECE]))
def test_slices_are_those_of_sorted_rows(
    few: int, windows: list[TimeWindow], rows: Any, rise: bool, piece: int
) -> None:
    if rise:
        rows = sorted(rows, key=lambda row: row[1])
    numbers = {key: number for number, key in enumerate(dict(rows))}
    keys, times = (np.array(column) for column in zip(*[(numbers[k], t) for k, t in rows], strict=True))
    order = np.lexsort([times, keys])
    runs = np.concatenate([[0], np.cumsum(np.bincount(keys))])
    slicer = Slicer(windows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(any_order, "_FEW_PLACES", few)
        patch.setattr(any_order, "_CELLS_A_PIECE", piece)
        patch.setattr(threads, "PIECE", piece)
        patch.setattr(windrow.slicing.slicer, "_ASKED_FOR", 1_000)
        found = cut_in_any_order(slicer, times, keys, len(numbers))
    wanted = slicer.slices(times[order], runs)
    assert found is not None
    assert found.cells is not None
    assert found.rows.tolist() == wanted.rows.tolist()
    assert found.runs.tolist() == wanted.runs.tolist()
    assert found.ends.tolist() == wanted.ends.tolist()
    assert slicer.edges_after(found.times).tolist() == slicer.edges_after(wanted.times).tolist()
    firsts, lasts = found.cells.extremes(times)
    assert firsts.tolist() == wanted.times.tolist()
    assert lasts.tolist() == times[order][wanted.rows[1:] - 1].tolist()
    chosen = np.arange(len(found)) % 2 == 0
    inside = np.empty(len(times), np.bool_)
    inside[order] = np.repeat(chosen, np.diff(wanted.rows))
    assert found.cells.rows_in(chosen).tolist() == inside.tolist()
    assert found.cells.counts(inside).tolist() == np.where(chosen, np.diff(wanted.rows), 0).tolist()


def test_rows_in_order_of_time_are_shared_in_pieces_without_a_slice_in_common(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "PIECE", 3)
    times = np.array([0, 1, 2, 3, 4, 5, 10, 11, 20, 21, 30, 31])
    found = cut_in_any_order(Slicer([Tumbling(10)]), times, np.arange(12, dtype=np.int32) % 2, 2)
    assert found is not None
    assert isinstance(found.cells, Scattered)
    assert found.cells.pieces == Pieces([slice(0, 6), slice(6, 8), slice(8, 12)], are_apart=True)
    mixed = cut_in_any_order(Slicer([Tumbling(10)]), times[::-1].copy(), np.zeros(12, np.int32), 1)
    assert mixed is not None
    assert isinstance(mixed.cells, Scattered)
    assert not mixed.cells.pieces.are_apart


@given(
    st.integers(-(2**61), 2**61),
    st.integers(1, 2**40),
    st.lists(st.integers(0, 2**50), min_size=1, max_size=9),
)
def test_slices_of_one_length_are_numbered_exactly(start: int, period: int, steps: list[int]) -> None:
    times = np.array([start + step for step in steps])
    base = int(times.min()) - int(times.min()) % period
    if (int(times.max()) - base) // period < 2**31:
        count = (int(times.max()) - base) // period + 1
        found, rise = Uniform(base, period, count).numbers(times)
        assert found.tolist() == [(int(t) - base) // period for t in times]
        assert rise == (found.tolist() == sorted(found))


@pytest.mark.parametrize("slicer", [Slicer([Tumbling(5)], gap=3), Slicer([Tumbling(5)], moments=True)])
def test_where_more_than_edges_cuts_rows_must_be_sorted(slicer: Slicer) -> None:
    assert cut_in_any_order(slicer, np.array([3, 1]), np.zeros(2, np.int32), 1) is None


def test_more_edges_than_rows_can_use_are_not_listed() -> None:
    times, keys = np.array([2**60, 0]), np.zeros(2, np.int32)
    assert cut_in_any_order(Slicer([Sliding(10, slide=3)]), times, keys, 1) is None
    assert cut_in_any_order(Slicer([Tumbling(10)]), times, keys, 1) is None
