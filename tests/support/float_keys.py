"""Rows whose float keys differ in bits and not in value: zeros of both signs, NaN of different bits, null."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

_NANS = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF8000000000000], np.uint64).view(np.float64)

#: -0.0 and a NaN with a payload come first, so that the values of keys are not those of their first rows
KEYS = [-0.0, _NANS[0], 0.0, _NANS[1], None, 1.5, -0.0, _NANS[2], None]
#: how many rows each key has; a NaN is shown as text
COUNTS = {"0.0": 3, "nan": 3, "None": 2, "1.5": 1}


def float_rows() -> pa.Table:
    """A row a second, rows of a key between those of others; keys plain, in structs and in lists."""
    mask = np.array([key is None for key in KEYS])
    keys = pa.array(np.array([0.0 if key is None else key for key in KEYS]), mask=mask)
    # Arrow keeps the bits of a NaN that goes through a child array, and not of one that goes through Python
    structs = pa.StructArray.from_arrays([keys], ["x"])
    lists = pa.ListArray.from_arrays(pa.array(range(len(KEYS) + 1), pa.int32()), keys)
    times = pa.array([second * 10**6 for second in range(len(KEYS))], pa.timestamp("us", "UTC"))
    return pa.table({"t": times, "k": keys, "s": structs, "l": lists, "v": range(len(KEYS))})


def shown(key: Any) -> str:
    """A key as text: zeros with their signs."""
    if isinstance(key, dict):
        key = key["x"]
    elif isinstance(key, (list, np.ndarray)):
        key = key[0]
    return "nan" if isinstance(key, float) and math.isnan(key) else str(key)


def counted(keys: Iterable[Any], counts: Iterable[int]) -> dict[str, int]:
    """The largest count of each key, as text: those of a policy grow row by row."""
    found: dict[str, int] = {}
    for key, count in zip(keys, counts, strict=True):
        found[shown(key)] = max(count, found.get(shown(key), 0))
    return found
