"""Slices of several parts, put in order without sorting them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.engines.stream.prefolded import _in_order
from windrow.partials.partials import Partials
from windrow.rows.frame import build_frame
from windrow.slicing.slices import HeldSlices

QUERY = wr.query(time="t").window(wr.Tumbling(4)).agg(total=wr.sum("v"))
PART = st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=12)


def slices_of(part: list[tuple[int, int]], number: int) -> HeldSlices:
    """One slice a row; those of a key together and in order, keys from the last to the first."""
    rows = sorted(part, key=lambda row: (-row[0], row[1]))
    keys, times = (np.array([row[k] for row in rows], np.int64) for k in (0, 1))
    frame = build_frame(QUERY, pa.table({"t": np.arange(len(rows)), "v": np.full(len(rows), number)}))
    partials = Partials.of_rows(frame, [a for _, a in QUERY.aggregates], np.arange(len(rows) + 1))
    return HeldSlices(keys, times, times, times + 1, None, partials)


@given(parts=st.lists(PART, min_size=1, max_size=7))
def test_by_key_and_time_and_equal_ones_as_they_came(parts: list[list[tuple[int, int]]]) -> None:
    found = _in_order([slices_of(part, number) for number, part in enumerate(parts)], 5)
    each = np.arange(len(found))
    (numbers,) = found.results(each, each + 1, "disjoint")
    rows = [(key, time, number) for number, part in enumerate(parts) for key, time in part]
    got = list(zip(found.keys.tolist(), found.firsts.tolist(), numbers.to_pylist(), strict=True))
    assert got == sorted(rows)
