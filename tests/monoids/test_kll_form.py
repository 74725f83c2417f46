"""Stored KLL sketches: what DataSketches writes is accepted, what lies is refused before it is read."""

from __future__ import annotations

import copy
import struct
from typing import Any

import numpy as np
import pytest
from datasketches import kll_doubles_sketch

from windrow.errors import CorruptState
from windrow.monoids.kll_form import check_kll
from windrow.monoids.quantiles import Ranks
from windrow.state.codec import pack, unpack


def _sketch(k: int, count: int, seed: int = 0) -> Any:
    sketch = kll_doubles_sketch(k)
    sketch.update(np.round(np.random.default_rng(seed).normal(size=count), 1))
    return sketch


@pytest.mark.parametrize("k", [8, 9, 200, 65535])
@pytest.mark.parametrize("count", [65, 201, 1000, 20_000])
def test_what_datasketches_writes_is_accepted(k: int, count: int) -> None:
    sketch = _sketch(k, count)
    check_kll(bytes(sketch.serialize()))
    sketch.merge(_sketch(k, 3 * count, seed=1))
    check_kll(bytes(sketch.serialize()))
    sketch.get_quantile(0.5)  # sorts level zero
    check_kll(bytes(sketch.serialize()))
    sketch.update(np.array([np.inf, -np.inf]))
    for _ in range(8):
        sketch.merge(copy.copy(sketch))
        check_kll(bytes(sketch.serialize()))


#: place in the stored form and what is written there
LIES = {
    "family": (2, b"\x07", "header"),
    "empty": (3, b"\x01", "header"),
    "another width": (6, b"\x04", "header"),
    "k that is smaller": (4, struct.pack("<H", 8), "min_k=200"),
    "k that is larger": (4, struct.pack("<H", 400), "levels at"),
    "more values than there are": (8, struct.pack("<Q", 10**9), "levels at"),
    "values beyond 64 bits": (8, struct.pack("<Q", 2**64 - 1), "values with k"),
    "no levels": (18, b"\x00", "0 levels"),
    "many levels": (18, b"\xff", "255 levels"),
    "offset beyond the end": (20, struct.pack("<I", 2**32 - 1), "levels at"),
    "offset of the second level before the first": (24, struct.pack("<I", 0), "levels at"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_in_the_header_is_refused(lie: str) -> None:
    place, content, message = LIES[lie]
    data = bytearray(_sketch(200, 1000).serialize())
    data[place : place + len(content)] = content
    with pytest.raises(ValueError, match=message):
        check_kll(bytes(data))


@pytest.mark.parametrize("value", [np.nan, 1e9, -1e9])
def test_a_value_outside_of_least_and_largest_is_refused(value: float) -> None:
    data = bytes(_sketch(200, 1000).serialize())
    with pytest.raises(ValueError, match="values that are not from"):
        check_kll(data[:-8] + struct.pack("<d", value))


def test_a_level_that_is_not_sorted_is_refused() -> None:
    data = bytes(_sketch(200, 1000).serialize())
    with pytest.raises(ValueError, match="not sorted"):
        check_kll(data[:-16] + struct.pack("<dd", 0.5, 0.25))


def test_a_sketch_that_is_cut_short_is_refused() -> None:
    data = bytes(_sketch(200, 1000).serialize())
    for length in (0, 7, 19, 21, 60, len(data) - 1):
        with pytest.raises(ValueError, match="a KLL sketch"):
            check_kll(data[:length])


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (Ranks(-1, (1.0,)), "not numbers"),
        (Ranks(0, (2.0, 1.0)), "not sorted"),
        (Ranks(0, (float("nan"),)), "not sorted"),
    ],
)
def test_ranks_that_lie_are_corrupt(ranks: Ranks, message: str) -> None:
    with pytest.raises(CorruptState, match=message):
        unpack("test", pack("test", ranks))


def test_values_beside_a_sketch_are_corrupt() -> None:
    with pytest.raises(CorruptState, match="beside it"):
        unpack("test", pack("test", Ranks(0, (1.0,), _sketch(200, 100))))
