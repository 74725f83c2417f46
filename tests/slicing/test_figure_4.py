"""Out-of-order rows and sessions, case by case ([Scotty] figure 4), on the slice manager and through the
operator with an aggregate that depends on order. The gap is 5.

    1.1  inside a session          a . . d        + c
    1.2  after its end, in reach   a . . d        + g
    1.3  before its start          . . c d        + a
    2    between two: they fuse    a b . . . g h  + e
    3    far from all: a new one   a . . . . . .  + z
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.partials.partials import Partials
from windrow.rows.frame import build_frame
from windrow.slicing.sessions import SessionStore
from windrow.slicing.slices import HeldSlices

GAP = 5


def letters(times: list[int]) -> list[str]:
    return [string.ascii_letters[time] for time in times]


def slices_of(times: list[int]) -> HeldSlices:
    """A slice a row: sorted, one key."""
    times = sorted(times)
    query = wr.query(time="t").window(wr.Session(GAP)).agg(n=wr.count())
    frame = build_frame(query, pa.table({"t": times}))
    edges = np.arange(len(times) + 1)
    moments = np.array(times, np.int64)
    keys = np.zeros(len(times), np.int64)
    partials = Partials.of_rows(frame, [wr.count(), wr.max("t")], edges)
    return HeldSlices(keys, moments, moments, moments + 1, None, partials)


def sessions(store: SessionStore) -> list[tuple[int, int, int]]:
    """Start, end and rows of each session."""
    spans = store.spans()
    assert store.slices is not None
    rows = store.slices.partials.row_counts(spans.fronts, spans.stops)
    return list(zip(spans.starts.tolist(), spans.ends.tolist(), rows.tolist(), strict=True))


CASES = {
    "1.1 inside": ([0, 3], [2], [(0, 8, 3)]),
    "1.1 inside, at the same time": ([0, 3], [3], [(0, 8, 3)]),
    "1.2 after the end": ([0, 3], [6], [(0, 11, 3)]),
    "1.2 exactly the gap after": ([0, 3], [8], [(0, 13, 3)]),
    "1.3 before the start": ([2, 3], [0], [(0, 8, 3)]),
    "1.3 exactly the gap before": ([7, 8], [2], [(2, 13, 3)]),
    "2 two fuse": ([0, 1, 10, 11], [5], [(0, 16, 5)]),
    "2 two fuse over exactly two gaps": ([0, 10], [5], [(0, 15, 3)]),
    "2 three fuse by two rows": ([0, 10, 20], [5, 15], [(0, 25, 5)]),
    "3 a new one before": ([10], [1], [(1, 6, 1), (10, 15, 1)]),
    "3 a new one after": ([1], [10], [(1, 6, 1), (10, 15, 1)]),
    "3 a new one between": ([0, 30], [15], [(0, 5, 1), (15, 20, 1), (30, 35, 1)]),
    "3 one beyond the gap": ([0], [6], [(0, 5, 1), (6, 11, 1)]),
}


@pytest.mark.parametrize("moments", [False, True], ids=["a slice a session", "a slice a moment"])
@pytest.mark.parametrize(("before", "late", "expected"), CASES.values(), ids=CASES)
def test_case_on_the_slice_manager(before: Any, late: Any, expected: Any, moments: bool) -> None:
    store = SessionStore(wr.Session(GAP), moments).added(slices_of(before))
    untouched = sessions(store)
    after = store.added(slices_of(late))
    assert sessions(after) == expected
    assert len(after) == (len({*before, *late}) if moments else len(expected))
    assert sessions(store) == untouched, "the store it was made from is still what it was"


@pytest.mark.parametrize(("before", "late", "expected"), CASES.values(), ids=CASES)
def test_case_with_an_aggregate_that_depends_on_order(before: Any, late: Any, expected: Any) -> None:
    query = wr.query(time="t").window(wr.Session(GAP)).agg(text=wr.concat("v"), n=wr.count())
    operator = query.open()
    for times in (before, late):
        times = sorted(times, reverse=True)
        operator.push(pa.table({"t": times, "v": letters(times)}))
    found = operator.finish().to_pylist()
    assert [(row["window_start"], row["window_end"], row["n"]) for row in found] == expected
    for row in found:
        held = [t for t in sorted([*before, *late]) if row["window_start"] <= t <= row["window_end"] - GAP]
        assert row["text"] == "".join(letters(held))


@pytest.mark.parametrize(("before", "late", "expected"), CASES.values(), ids=CASES)
def test_case_after_the_sessions_have_fired(before: Any, late: Any, expected: Any) -> None:
    """What was out and changed its edges is taken back, what stands is corrected: in the end all is right."""
    query = wr.query(time="t", allowed_lateness=100)
    operator = query.window(wr.Session(GAP)).agg(text=wr.concat("v"), n=wr.count()).open()
    operator.push(pa.table({"t": before, "v": letters(before)}))
    out = operator.advance(60).to_pylist()
    out += operator.push(pa.table({"t": late, "v": letters(late)})).to_pylist()
    standing: dict[tuple[int, int], int] = {}
    for row in out:
        edges = row["window_start"], row["window_end"]
        if row["retracted"]:
            assert row["text"] is None
            del standing[edges]
        else:
            standing[edges] = row["n"]
    assert sorted((*edges, n) for edges, n in standing.items()) == expected


def test_sessions_of_keys_do_not_touch() -> None:
    mine = slices_of([0, 3])
    others = HeldSlices(mine.keys + 1, mine.firsts + 4, mine.lasts + 4, mine.ends + 4, None, mine.partials)
    store = SessionStore(wr.Session(GAP), False).added(mine).added(others)
    assert sessions(store) == [(0, 8, 2), (4, 12, 2)]


def test_a_late_row_splits_sessions_of_a_largest_size_anew() -> None:
    store = SessionStore(wr.Session(GAP, max_size=8), True).added(slices_of([4, 8, 12, 15]))
    assert sessions(store) == [(4, 12, 2), (12, 20, 2)]
    assert sessions(store.added(slices_of([1]))) == [(1, 9, 3), (12, 20, 2)]
