"""Keys are in the same bucket wherever and however they come."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from support.packed_stream import PackedStream
from windrow.engines.spark.worker.streaming import step as step_module
from windrow.engines.spark.worker.streaming.buckets import places_of
from windrow.errors import ChangedQuery

#: many, so that codes that differ hardly ever meet
MANY = 1 << 61

COLUMNS = [
    pa.array([1, -2, None, 1]),
    pa.array([1, 100, None, 1], pa.int8()),
    pa.array([1, 1 << 40, None, 1]),
    pa.array([0.5, -1e300, None, 0.5]),
    pa.array([0.5, 2.0, None, 0.5], pa.float32()),
    pa.array([True, False, None, True]),
    pa.array(["a", "", None, "a"]),
    pa.array(["ä", "long " * 99, None, "ä"], pa.large_string()),
    pa.array(["a", "twelve bytes or more", None, "a"], pa.string_view()),
    pa.array(["a", "b", None, "a"]).dictionary_encode(),
    pa.array([b"\0", b"\0\0", None, b"\0"]),
    pa.array([b"ab", b"cd", None, b"ab"], pa.binary(2)),
    pa.array([Decimal("1.50"), Decimal("-1.50"), None, Decimal("1.50")]),
    pa.array([date(2024, 1, 1), date(1969, 1, 1), None, date(2024, 1, 1)]),
    pa.array([datetime(2024, 1, 1), datetime(1960, 1, 1), None, datetime(2024, 1, 1)]),
    pa.array([time(1), time(2), None, time(1)]),
    pa.array([timedelta(1), timedelta(2), None, timedelta(1)]),
    pa.array([{"a": 1}, {"a": 2}, None, {"a": 1}]),
    pa.array([[1, 2], [12], None, [1, 2]]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_equal_keys_and_only_those_are_together(column: Any) -> None:
    first, other, null, again = places_of(pa.table({"key": column}), MANY).tolist()
    assert first == again
    assert len({first, other, null}) == 3


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_where_a_key_lies_does_not_matter(column: Any) -> None:
    whole = places_of(pa.table({"key": column}), MANY)
    for row in range(len(column)):
        one = pa.table({"key": column}).slice(row, 1)
        assert places_of(one, MANY).tolist() == [whole[row]]
    chunks = pa.table({"key": pa.chunked_array([column[2:], column[:0], column[:2]])})
    assert places_of(chunks, MANY).tolist() == [*whole[2:], *whole[:2]]


def test_zeros_are_one_key_and_so_is_what_is_no_number() -> None:
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    odd = pa.table({"key": np.concatenate([[0.0, -0.0], bits])})
    zero, minus_zero, nan, other_nan = places_of(odd, MANY).tolist()
    assert zero == minus_zero != nan == other_nan


def test_columns_are_told_apart() -> None:
    swapped = pa.table({"a": ["x", "y", "xy", ""], "b": ["y", "x", "", "xy"]})
    assert len(set(places_of(swapped, MANY).tolist())) == 4


def test_places_never_change() -> None:
    """State is where these numbers say: if they change, so must the version."""
    keys = pa.table({"a": [0, 1, -1, None], "b": ["", "windrow", "ü", None], "c": [0.0, 1.5, -1.5, None]})
    assert places_of(keys, 1000).tolist() == [665, 505, 402, 966]
    assert step_module.SPREAD == 1


@given(st.integers(1, 9))
def test_keys_spread_evenly(count: int) -> None:
    for column in (pa.array(range(5000)), pa.array([f"user-{k}" for k in range(5000)])):
        held = np.bincount(places_of(pa.table({"key": column}), count), minlength=count)
        assert len(held) == count
        assert held.min() > 0.8 * 5000 / count


def test_keys_spread_in_another_way_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    query = wr.query(time="t", by="key", watermark=1).window(wr.Tumbling(10)).agg(n=wr.count())
    stream = PackedStream(query, pa.schema([("t", pa.int64()), ("key", pa.int64())]))
    stream.batch(pa.table({"t": [1], "key": [1]}), 0)
    monkeypatch.setattr(step_module, "SPREAD", 2)
    with pytest.raises(ChangedQuery, match="windrow's way to spread keys was 1, is 2"):
        stream.batch(pa.table({"t": [2], "key": [1]}), 0)
