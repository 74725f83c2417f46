"""Stable codes of values."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windrow.monoids.hashing import encode, encode_array

numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.decimals(allow_nan=False))
hashable = st.recursive(
    st.one_of(numbers, st.text(), st.binary(), st.none()),
    lambda members: st.tuples(members, members),
    max_leaves=4,
)


@given(hashable)
def test_codes_are_unsigned_64_bit_integers(value):
    assert 0 <= encode(value) < 2**64


def _holds_nan(value):
    return any(map(_holds_nan, value)) if isinstance(value, tuple) else value != value


@given(hashable, hashable)
def test_values_have_equal_codes_exactly_if_they_are_equal(a, b):
    if _holds_nan(a) or _holds_nan(b):
        return
    assert (encode(a) == encode(b)) == (a == b and (isinstance(a, str) == isinstance(b, str)))


@given(numbers)
@example(2**63)
@example(-(2**63))
@example(2**64 + 1)
@example(10**400)
@example(Decimal("0.1"))
def test_equal_numbers_of_different_types_have_equal_codes(value):
    for kind in (int, float, Decimal):
        try:
            other = kind(value)
        except (OverflowError, ValueError, ArithmeticError):
            continue
        if other == value:
            assert encode(other) == encode(value)


def test_codes_that_must_never_change():
    assert encode(0) == 16294208416658607535
    assert encode(-1) == 16490336266968443936
    assert encode(1.5) == 4561301626491793838
    assert encode("windrow") == 2487038066065795457
    assert encode(b"windrow") == 10633336657544189392
    assert encode(("a", 1)) == 17096022687104737336


def test_another_process_gives_the_same_codes():
    values = [7, -2.5, "text", b"bytes", ("a", 1)]
    program = f"from windrow.monoids.hashing import encode; print([encode(v) for v in {values!r}])"
    environment = {"PYTHONHASHSEED": "4711", "PYTHONPATH": ":".join(sys.path)}
    output = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == repr([encode(value) for value in values])


def test_zeros_and_nans():
    odd_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
    assert encode(0.0) == encode(-0.0) == encode(0) == encode(False)
    assert encode(math.nan) == encode(odd_nan) == encode(np.float32("nan"))
    assert len({encode(v) for v in (math.inf, -math.inf, math.nan, 0.0)}) == 4


def test_text_bytes_and_numbers_are_told_apart():
    assert len({encode(v) for v in ("1", b"1", 1, "1.0", ("1",), None, "")}) == 7


def test_moments_are_the_integers_that_arrow_stores():
    moment = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    assert encode(moment) == encode(int(moment.timestamp()) * 10**6)
    assert (
        encode(moment)
        == encode(moment.replace(tzinfo=None))
        == encode(np.datetime64("2024-02-29T12:30", "us"))
    )
    assert encode(moment) == encode(moment.astimezone(timezone(timedelta(hours=5))))
    assert encode(date(1970, 1, 11)) == encode(10)
    assert encode(timedelta(seconds=1)) == encode(time(0, 0, 1)) == encode(10**6)


def test_what_has_no_stable_code_is_refused_with_a_remedy():
    with pytest.raises(TypeError, match=r"list has no code.*tuple"):
        encode([1])


@given(st.lists(st.one_of(st.floats(), st.integers(-(2**53), 2**53).map(float))))
@example([0.0, -0.0, math.nan, math.inf, -math.inf, 2.0**63, -(2.0**63), 2.0**64, 1e300, 0.5, 5e-324])
def test_arrays_of_floats(values):
    assert encode_array(np.array(values, "f8")).tolist() == [encode(v) for v in values]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_arrays_of_integers(values):
    assert encode_array(np.array(values, "i8")).tolist() == [encode(v) for v in values]


@pytest.mark.parametrize(
    "array",
    [
        np.array([True, False]),
        np.array([1, 255], "u1"),
        np.array([1, 2**63 - 1], "u8"),
        np.array([1, 2**64 - 1], "u8"),
        np.array([1.5, 0.1], "f4"),
        np.array(["a", "bc"]),
        np.array(["a", 1, None], object),
        np.array(["2024-01-01", "1969-01-01"], "M8[s]"),
        np.array([], "f8"),
        np.array([], "u8"),
    ],
    ids=lambda array: array.dtype.str,
)
def test_other_arrays(array):
    codes = encode_array(array)
    assert codes.dtype == np.uint64
    assert codes.tolist() == [encode(v) for v in array.tolist()]
