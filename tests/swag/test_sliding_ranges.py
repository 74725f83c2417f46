"""Windows over ranges: the native and the plain loop against the definition, where fronts and stops fall,
jump ahead or stand still, and in any cut into batches."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.compile import pieces
from windrow.compile.columns import native_columns
from windrow.errors import Raised
from windrow.partials.over_ranges import native_results
from windrow.partials.ranges import LastRows, RowRanges
from windrow.swag.plain_ranges import PlainRanges

COUNT = 40
VALUES = np.random.default_rng(5).integers(-50, 50, COUNT)
COLUMNS = native_columns((pa.array(VALUES),), wr.sum)


@st.composite
def ranges(draw: st.DrawFn, falls: bool) -> tuple[list[int], list[int]]:
    """Runs of ranges that do not fall inside a run; with ``falls`` there are several runs."""
    fronts: list[int] = []
    stops: list[int] = []
    for _ in range(draw(st.integers(1, 3 if falls else 1))):
        edges = draw(st.lists(st.tuples(*[st.integers(0, COUNT)] * 2), min_size=1, max_size=30))
        firsts, lasts = sorted(min(e) for e in edges), sorted(max(e) for e in edges)
        fronts, stops = fronts + firsts, stops + lasts
    return fronts, stops


def folded(fronts: Any, stops: Any) -> list[int]:
    return [int(VALUES[front:stop].sum()) for front, stop in zip(fronts, stops, strict=True)]


@given(ranges(falls=True), st.sampled_from([1, 7, 1 << 10]))
def test_native_windows_over_ranges_equal_the_definition(
    found: tuple[list[int], list[int]], units: int
) -> None:
    fronts, stops = map(np.array, found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "FIRST", units)
        patch.setattr(pieces, "_adapted", lambda units, seconds: units)
        out, _ = native_results(wr.sum, COLUMNS, None, RowRanges(fronts, stops))
    assert out.tolist() == folded(fronts, stops)


@given(st.integers(1, 9), st.lists(st.integers(0, COUNT), max_size=4), st.sampled_from([1, 7, 1 << 10]))
def test_native_windows_over_the_last_rows_of_runs_equal_the_definition(
    size: int, edges: list[int], units: int
) -> None:
    over = LastRows(np.array([0, *sorted(edges), COUNT]), size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "FIRST", units)
        patch.setattr(pieces, "_adapted", lambda units, seconds: units)
        out, _ = native_results(wr.sum, COLUMNS, None, over)
    rows = over.as_ranges()
    assert out.tolist() == folded(rows.fronts, rows.stops)


@given(ranges(falls=True))
def test_plain_windows_over_ranges_equal_the_definition(found: tuple[list[int], list[int]]) -> None:
    fronts, stops = map(np.array, found)
    rows = [(int(value),) for value in VALUES]
    totals = PlainRanges(wr.sum).results(rows, fronts, stops)
    expected = zip(folded(fronts, stops), (stops > fronts).tolist(), strict=True)
    assert totals == [total if some else wr.sum.empty_result() for total, some in expected]


@given(st.integers(1, 9), st.lists(st.integers(0, COUNT), max_size=3))
def test_plain_windows_go_on_from_batch_to_batch(size: int, cuts: list[int]) -> None:
    stops = np.arange(1, COUNT + 1)
    fronts = np.maximum(stops - size, 0)
    window, totals = PlainRanges(wr.sum), []
    edges = [0, *sorted(cuts), COUNT]
    for first, stop in pairwise(edges):
        rows = [(int(value),) for value in VALUES[first:stop]]
        totals += window.results(rows, fronts[first:stop], stops[first:stop], first)
    assert totals == folded(fronts, stops)


@pytest.mark.parametrize("bad", [0, 3, 5])
def test_a_plain_window_names_the_row_that_raises(bad: int) -> None:
    def lift(value: int) -> int:
        if value == 13:
            raise ValueError("unlucky")
        return value

    monoid = wr.monoid(
        name="lucky", lift=lift, combine=lambda a, b: a + b, lower=lambda a: a, identity=0, compile=False
    )
    rows = [(13 if place == bad else 1,) for place in range(6)]
    with pytest.raises(Raised) as caught:
        PlainRanges(monoid).results(rows, np.array([0, 2]), np.array([4, 6]))
    assert (caught.value.front, caught.value.values) == (bad, (13,))
