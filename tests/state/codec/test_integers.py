"""Columns of integers in few bytes: every width, step and order comes back, and hostile bytes do not."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.arrays import Ints
from windrow.errors import CorruptState
from windrow.state import codec
from windrow.state.codec import pack, unpack
from windrow.state.codec.writing import Writer

DAY_US = 86_400_000_000
_MOST = 2**63 - 1


@given(
    least=st.integers(-(2**63), _MOST),
    step=st.sampled_from([1, 7, 1_000_000, DAY_US]),
    bits=st.integers(0, 63),
    climbs=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(16, 60),
)
def test_columns_of_every_width_and_step(
    least: int, step: int, bits: int, climbs: bool, seed: int, count: int
) -> None:
    parts = np.random.default_rng(seed).integers(0, 2**bits - 1, count, endpoint=True)
    wide = [int(part) * step for part in parts]
    column = np.array([min(least + v, _MOST) for v in (accumulate(wide) if climbs else wide)], np.int64)
    found = unpack("test", pack("test", column))
    assert found.dtype == np.int64
    assert found.tolist() == column.tolist()


@pytest.mark.parametrize(
    ("column", "nbytes"),
    [
        (np.repeat(np.arange(50_000), 3), 1 / 8),
        (np.ones(150_000, np.int64), 1 / 8),
        (np.tile(np.arange(3) * DAY_US, 50_000), 1),
        (np.random.default_rng(1).integers(0, DAY_US, 150_000), 5),
    ],
    ids=["keys of slices", "the same", "ends that are days apart", "times of a day"],
)
def test_columns_take_what_they_need(column: Ints, nbytes: float) -> None:
    assert len(pack("test", column)) <= len(column) * nbytes + 60


@pytest.mark.parametrize(
    ("least", "step", "climbs", "width", "count", "data"),
    [
        (2**63 - 2, 1, False, 1, 2, b"\x00\x02"),
        (2**63 - 3, 1, True, 1, 2, b"\x01\x02"),
        (0, 2**62, False, 1, 2, b"\x00\x02"),
        (0, 1, False, 2, 2, b"\x00\x00\x00"),
        (0, 1, False, 7, 1, bytes(7)),
        (0, 1, False, 0, 2**40, b"\xff"),
        (0, 0, False, 1, 2, b"\x00\x02"),
        (-(2**63) - 1, 1, False, 1, 2, b"\x00\x02"),
    ],
)
def test_hostile_columns(least: int, step: int, climbs: bool, width: int, count: int, data: bytes) -> None:
    writer = Writer({}, ())
    writer.out += b"P"
    for value in (least, step, climbs):
        writer.write(value)
    writer.length(width)
    writer.length(count)
    writer.blob(b"b", data)
    with pytest.raises(CorruptState):
        unpack("test", codec.frame("test", bytes(writer.out)))
