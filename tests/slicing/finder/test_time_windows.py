"""Which windows are due, hold a row or lie between rows: the kernels against brute force, for all kinds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.slicing import Slicer
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.slices import HeldSlices
from windrow.slicing.window_lists import Found
from windrow.windows import Cumulative, Fixed, Sliding, TimeWindow, Tumbling

INTEGERS = st.one_of(
    st.builds(Tumbling, st.integers(1, 12), st.integers(-5, 5)),
    st.integers(2, 12).flatmap(lambda size: st.builds(Sliding, st.just(size), st.integers(1, size))),
    st.integers(1, 4).flatmap(lambda step: st.builds(Cumulative, st.just(3 * step), st.just(step))),
    st.builds(Fixed, st.integers(-20, 20), st.integers(1, 15)),
)
DAY = 86_400_000_000
#: around both changes of the clock in Berlin in 2024, and across the end of a year
DAYS = [19_812, 20_023, 20_088]
CALENDAR = st.sampled_from(
    [
        Tumbling("1d", timezone="Europe/Berlin"),
        Sliding("2d", slide="1d", timezone="Europe/Berlin"),
        Tumbling("1mo"),
        Cumulative("1mo", step="10d", timezone="America/Sao_Paulo"),
        Cumulative("1d", step="6h", timezone="Europe/Berlin"),
        Sliding("3mo", slide="1mo"),
        Tumbling("1w", timezone="Europe/Berlin"),
        Fixed("2024-03-31", "36h"),
    ]
)
PLAIN_TIMES = st.lists(st.integers(-40, 40), min_size=1, max_size=12)
CALENDAR_TIMES = st.lists(
    st.builds(lambda day, hour: day * DAY + hour * DAY // 24, st.sampled_from(DAYS), st.integers(-60, 60)),
    min_size=1,
    max_size=8,
)
KINDS = {
    "integers": (st.lists(INTEGERS, min_size=1, max_size=3), PLAIN_TIMES, 60),
    "calendar": (st.lists(CALENDAR, min_size=1, max_size=2), CALENDAR_TIMES, 40 * DAY),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def drawn(data: Any, kind: str) -> tuple[list[TimeWindow], list[list[int]], int, int]:
    """Windows, the times of each of two keys, and a stretch (low, high]."""
    windows, times, far = KINDS[kind]
    keys = [sorted(data.draw(times)), sorted(data.draw(times))]
    middle = keys[0][0]
    low = middle + data.draw(st.integers(-far, far))
    return data.draw(windows), keys, low, low + data.draw(st.integers(0, far))


def listed(found: Found) -> list[tuple[int, ...]]:
    columns = (found.windows, found.keys, found.starts, found.ends)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def held_by(windows: list[TimeWindow], keys: list[list[int]], low: int, high: int) -> list[Any]:
    """The windows that hold a row and end in (low, high], from the definition."""
    held = {
        (number, key, *window)
        for number, kind in enumerate(windows)
        for key, times in enumerate(keys)
        for time in times
        for window in kind.assign(time)
        if low < window[1] <= high
    }
    return sorted(held)


def slices_of(windows: list[TimeWindow], keys: list[list[int]]) -> HeldSlices:
    times = np.array([time for each in keys for time in each], np.int64)
    runs = np.cumsum([0, *map(len, keys)])
    cut = Slicer(windows).slices(times, runs)
    numbers = np.repeat(np.arange(len(keys)), np.diff(cut.runs))
    return HeldSlices(numbers, cut.times, times[cut.rows[1:] - 1], cut.ends, None, None)


def columns_of(keys: list[list[int]]) -> tuple[Any, Any]:
    numbers = np.repeat(np.arange(len(keys)), [len(times) for times in keys])
    return numbers, np.array([time for times in keys for time in times], np.int64)


@each_kind
@settings(max_examples=examples(60))
@given(data=st.data())
def test_due_windows_and_their_slices(kind: str, data: st.DataObject) -> None:
    windows, keys, low, high = drawn(data, kind)
    every = TimeWindows(list(enumerate(windows)))
    slices = slices_of(windows, keys)
    due = every.due(every.kinds(slices.firsts), slices, low, high)
    assert sorted(listed(due.found)) == held_by(windows, keys, low, high)
    fronts, stops = TimeWindows.ranges(due.found, slices)
    assert due.fronts.tolist() == fronts.tolist()
    assert due.stops.tolist() == stops.tolist()
    for (_, key, start, end), front, stop in zip(listed(due.found), fronts, stops, strict=True):
        inside = [k for k in range(len(slices)) if slices.keys[k] == key and start <= slices.firsts[k] < end]
        assert inside == list(range(front, stop))


def between(windows: list[TimeWindow], keys: list[list[int]]) -> list[Any]:
    """The windows from each key's first row to its last, with rows or not, from the definition."""
    found = held_by(windows, keys, START_OF_TIME, END_OF_TIME)
    for number, kind in enumerate(windows):
        for key, times in enumerate(keys):
            for start, end in kind.windows_ending_in(times[0], END_OF_TIME) if kind.repeats else ():
                if start > times[-1]:
                    break
                found.append((number, key, start, end))
    return sorted(set(found))


@each_kind
@pytest.mark.parametrize("fill", [False, True])
@settings(max_examples=40)
@given(data=st.data())
def test_windows_over_the_rows_of_a_table(kind: str, fill: bool, data: st.DataObject) -> None:
    windows, keys, _, _ = drawn(data, kind)
    _, times = columns_of(keys)
    # a key without rows has no windows
    runs = np.cumsum([0, len(keys[0]), 0, len(keys[1])])
    ranges = TimeWindows(list(enumerate(windows))).over(times, runs, fill)
    numbered = replace(ranges, windows=np.zeros(len(ranges), np.int64)) if len(windows) == 1 else ranges
    expected = between(windows, keys) if fill else held_by(windows, keys, START_OF_TIME, END_OF_TIME)
    assert listed(numbered.found) == [(number, 2 * key, *edges) for number, key, *edges in expected]
    rows = zip(ranges.keys, ranges.starts, ranges.ends, ranges.fronts, ranges.stops, strict=True)
    for key, start, end, front, stop in rows:
        inside = [k for k in range(runs[key], runs[key + 1]) if start <= times[k] < end]
        assert inside == list(range(front, stop))


def test_slices_of_one_cell_may_be_in_any_order_of_their_times() -> None:
    """Layers of one cell are sorted by layer, whatever the times of their rows."""
    windows, times, runs = (
        TimeWindows([(0, Sliding(10, 5))]),
        np.array([1, 9, 6, 14, 11, 12]),
        np.array([0, 6]),
    )
    due = windows.due_in_runs(windows.kinds(times), np.array([7]), runs, times, START_OF_TIME, END_OF_TIME)
    assert due.starts.tolist() == [-5, 0, 5, 10]
    assert list(zip(due.fronts.tolist(), due.stops.tolist(), strict=True)) == [(0, 1), (0, 3), (1, 6), (3, 6)]


@each_kind
@settings(max_examples=examples(60))
@given(data=st.data())
def test_windows_that_hold_rows(kind: str, data: st.DataObject) -> None:
    windows, keys, low, high = drawn(data, kind)
    every = TimeWindows(list(enumerate(windows)))
    numbers, times = columns_of(keys)
    found = every.holding(every.kinds(times), numbers, times, low, high)
    assert sorted(listed(found)) == held_by(windows, keys, low, high)


@each_kind
@settings(max_examples=examples(60))
@given(data=st.data())
def test_the_latest_end_of_the_windows_that_hold_a_row(kind: str, data: st.DataObject) -> None:
    windows, keys, enough, _ = drawn(data, kind)
    every = TimeWindows(list(enumerate(windows)))
    _, times = columns_of(keys)
    expected = [
        max((end for window in windows for _, end in window.assign(time)), default=START_OF_TIME)
        for time in times.tolist()
    ]
    assert every.latest_ends(every.kinds(times), times).tolist() == expected
    some = every.latest_ends(every.kinds(times), times, enough).tolist()
    for end, latest in zip(some, expected, strict=True):
        assert end == latest or enough < end <= latest


@each_kind
@settings(max_examples=examples(60))
@given(data=st.data())
def test_windows_between_the_first_and_the_last_row(kind: str, data: st.DataObject) -> None:
    windows, keys, low, high = drawn(data, kind)
    every = TimeWindows(list(enumerate(windows)))
    firsts, lasts = (np.array([times[place] for times in keys]) for place in (0, -1))
    known = [data.draw(known_stretches(times)) for times in keys]
    lists = every.kinds_between(firsts, lasts)
    begun, seen = (np.array([each[place] for each in known]) for place in (0, 1))
    found = every.filling(lists, np.arange(2), (firsts, lasts), (begun, seen), low, high)
    expected = {
        (number, key, start, end)
        for number, window in enumerate(windows)
        for key, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True))
        for start, end in window.windows_ending_in(first, max(high, first))
        if start <= last and (low < end <= high or is_new(start, end, first, known[key], min(low, high)))
    }
    assert sorted(listed(found)) == sorted(expected)


def known_stretches(times: list[int]) -> st.SearchStrategy[tuple[int, int]]:
    """Nothing was known of a key, or rows from a time to another."""
    some = st.lists(st.sampled_from(times), min_size=2, max_size=2).map(lambda pair: (min(pair), max(pair)))
    return st.one_of(st.just((END_OF_TIME, START_OF_TIME)), some)


def is_new(start: int, end: int, first: int, known: tuple[int, int], low: int) -> bool:
    """Whether a window that has fired lies between rows only now: before what was known, or after it."""
    begun, seen = known
    return end <= low and ((first < start and end <= begun) or START_OF_TIME < seen < start)


@each_kind
@settings(max_examples=examples(60))
@given(data=st.data())
def test_the_horizon_is_the_earliest_start_that_is_still_needed(kind: str, data: st.DataObject) -> None:
    windows, _, time, _ = drawn(data, kind)
    far = 400 * (DAY if kind == "calendar" else 1)
    starts = [start for w in windows for start, _ in w.windows_ending_in(time, time + far)]
    horizon = TimeWindows(list(enumerate(windows))).horizon(time)
    assert horizon == min(starts) if starts else horizon > time


@each_kind
@settings(max_examples=examples(60))
@given(data=st.data())
def test_the_first_start_of_the_windows_that_are_due(kind: str, data: st.DataObject) -> None:
    windows, _, low, high = drawn(data, kind)
    starts = [start for w in windows for start, _ in w.windows_ending_in(low, high)]
    assert TimeWindows(list(enumerate(windows))).first_start(low, high) == min(starts, default=None)
