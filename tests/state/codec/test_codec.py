from __future__ import annotations

import contextlib
import datetime as dt
import math
import pickle
import struct
from collections import namedtuple
from decimal import Decimal
from enum import IntEnum
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.errors import CorruptState, StateError, UnstorableValue, UnsupportedVersion
from windrow.monoids.extremes import HIGHEST, LOWEST
from windrow.state import codec
from windrow.state.codec import Codec, pack, unpack

CANARY: list[str] = []


class Bomb:
    """Leaves a trace if anything unpickles it."""

    def __reduce__(self) -> Any:
        return CANARY.append, ("executed",)


def back(value: Any) -> Any:
    return unpack("test", pack("test", value))


def identical(a: Any, b: Any) -> bool:
    """Equal in type and value, NaN and zeros by their bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, dict):
        return identical(list(a), list(b)) and identical(list(a.values()), list(b.values()))
    return a == b


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.text(),
    st.binary(),
    st.datetimes(),
    st.datetimes(timezones=st.timezones()),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
)
HASHABLE = st.one_of(st.booleans(), st.integers(), st.text(), st.binary(), st.dates())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=4),
        st.sets(HASHABLE, max_size=4),
        st.frozensets(HASHABLE, max_size=4),
    ),
    max_leaves=12,
)


@given(VALUES)
def test_what_goes_in_comes_out(value: Any) -> None:
    assert identical(back(value), value)
    assert pack("test", value) == pack("test", back(value))


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        127,
        128,
        -(2**63),
        2**63,
        2**100_000,
        -0.0,
        math.inf,
        struct.unpack("<d", struct.pack("<Q", 0x7FF8DEADBEEF0001))[0],
        struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000042))[0],
        "\ud800 a lone surrogate",
        Decimal("-0"),
        Decimal("1E+999999"),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC),
        dt.datetime(1, 1, 1),
        dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30), "IST")),
        dt.time(1, 2, 3, 4, dt.UTC),
        dt.timedelta.min,
        dt.timedelta.max,
        {(): [], b"": ""},
    ],
    ids=range(22),
)
def test_edges(value: Any) -> None:
    result = back(value)
    assert identical(result, value)
    if isinstance(value, dt.datetime):
        assert result.tzinfo == value.tzinfo
        assert result.fold == value.fold
        assert result.tzname() == value.tzname()


def test_decimal_nan_keeps_its_payload() -> None:
    assert str(back(Decimal("-sNaN42"))) == "-sNaN42"


def test_sets_are_written_in_one_order() -> None:
    words = [f"word {number}" for number in range(100)]
    backwards = words[::-1]
    assert pack("test", set(words)) == pack("test", set(backwards))
    assert back(frozenset({frozenset({1}), frozenset()})) == frozenset({frozenset({1}), frozenset()})


# -- numpy and Arrow ---------------------------------------------------------------------------------------

RECORD = np.dtype([("time", "<M8[us]"), ("value", "<f8", (2, 3)), ("inner", [("a", "u1"), ("name", "U5")])])


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype="<i8").reshape(2, 3),
        np.arange(6, dtype=">i4")[::-2],
        np.asfortranarray(np.ones((3, 4), dtype=np.float32)),
        np.array([True, False]),
        np.array(3.5),
        np.zeros((0, 7), dtype=np.uint16),
        np.array([1 + 2j]),
        np.array([math.nan, -0.0]),
        np.array(["2024-01-01", "NaT"], dtype="M8[ns]"),
        np.array([b"ab", b"c"]),
        np.array(["zwei", "ä"]),
        np.zeros(3, dtype=RECORD),
        np.zeros(2, dtype=np.dtype([("a", "u1"), ("b", "f8")], align=True)),
        np.zeros(2, dtype=np.dtype({"names": ["b", "a"], "formats": ["i4", "i2"], "offsets": [4, 0]})),
        np.float16(2.0).reshape(1),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}"[:40],
)
def test_arrays(array: Any) -> None:
    result = back(array)
    assert (result.dtype, result.shape, result.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert result.dtype.isalignedstruct == array.dtype.isalignedstruct
    assert result.flags.writeable


@given(
    low=st.integers(-(2**63), 2**63 - 1),
    width=st.integers(0, 64),
    count=st.integers(0, 40),
    seed=st.integers(0),
)
def test_integers_that_are_near_each_other_take_few_bytes(
    low: int, width: int, count: int, seed: int
) -> None:
    high = min(low + 2**width - 1, 2**63 - 1)
    array = np.random.default_rng(seed).integers(low, high, count, np.int64, endpoint=True)
    result = back(array)
    assert (result.dtype, result.tolist()) == (array.dtype, array.tolist())
    assert result.flags.writeable
    if count >= 16 and width <= 32:
        bits = next(bits for bits in (8, 16, 32) if width <= bits)
        assert len(Codec("test").payload(array)) <= count * bits // 8 + 20


@pytest.mark.parametrize(
    "scalar", [np.float64(1.5), np.int8(-3), np.bool_(True), np.datetime64("2024-01-01", "us"), np.str_("x")]
)
def test_numpy_scalars(scalar: Any) -> None:
    assert type(back(scalar)) is type(scalar)
    assert back(scalar) == scalar


@pytest.mark.parametrize(
    "value",
    [
        pa.table({"a": [1, None, 3], "b": ["x", "y", None]}),
        pa.concat_tables([pa.table({"a": [1]}), pa.table({"a": [2]})]),
        pa.table({"a": pa.array([], pa.int64())}),
        pa.record_batch({"a": [[1, 2], None]}),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pa.array(range(100)).slice(40, 7),
        pa.array([], pa.list_(pa.int8())),
        pa.chunked_array([[1], [2, 3]]),
        pa.schema([("a", pa.timestamp("us", "UTC"))], metadata={"k": "v"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arrow(value: Any) -> None:
    result = back(value)
    assert type(result) is type(value)
    assert result.equals(value)


# -- special types -----------------------------------------------------------------------------------------


def test_sentinels_come_back_as_themselves() -> None:
    low, high = back((LOWEST, HIGHEST))
    assert low is LOWEST
    assert high is HIGHEST


@pytest.mark.parametrize("count", [0, 3, 500])
def test_ranks(count: int) -> None:
    window = wr.swag.TwoStacksLite(wr.quantile(0.9))
    for number in [*range(count), math.nan][: count + count % 2]:
        window.insert(float(number))
    partial = window.query_partial()
    result = back(partial)
    assert type(result) is type(partial)
    assert (result.nans, result.values) == (partial.nans, partial.values)


def test_named_tuples_are_known_or_refused() -> None:
    Point = namedtuple("Point", "x y")
    Other = namedtuple("Point", "x z")
    with pytest.raises(UnstorableValue, match=r"named tuple Point .* store tuple"):
        pack("test", [Point(1, 2)])
    known = Codec("test", records=[Point])
    assert identical(known.unpack(known.pack([Point(1, (2,))])), [Point(1, (2,))])
    with pytest.raises(UnstorableValue):
        known.pack(Other(1, 2))
    with pytest.raises(CorruptState, match="the aggregate has changed"):
        Codec("test", records=[Other]).unpack(known.pack(Point(1, 2)))


def test_constants_come_back_as_the_same_object() -> None:
    nothing = object()
    known = Codec("test", constants=[nothing])
    assert known.unpack(known.pack((nothing, 1)))[0] is nothing
    with pytest.raises(CorruptState, match="constant 0"):
        unpack("test", known.pack(nothing))


# -- what has no stored form -------------------------------------------------------------------------------


class Colour(IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "type object .* use numbers"),
        (Bomb(), "type Bomb"),
        (Colour.RED, "type Colour"),
        (lambda: 0, "type function"),
        (np.array([object()]), "type object"),
        (np.zeros(1, dtype=[("a", "O")]), "type object"),
        (np.ma.array([1]), "MaskedArray"),
        (pa.scalar(1), "Int64Scalar .* use a Table"),
        (dt.datetime(2024, 1, 1, tzinfo=type("Zone", (dt.tzinfo,), {})()), "time zone of type Zone"),
    ],
    ids=range(9),
)
def test_refusals_name_the_type_and_the_remedy(value: Any, message: str) -> None:
    with pytest.raises(UnstorableValue, match=message):
        pack("test", [value])


def test_nesting_has_an_end() -> None:
    nested: Any = 0
    for _ in range(100):
        nested = [nested]
    assert back(nested) == nested
    with pytest.raises(UnstorableValue, match="flatter"):
        pack("test", [nested])


# -- bytes that are not what was written -------------------------------------------------------------------

SAMPLE = {
    "n": 3,
    "f": [1.5, None],
    "t": ("x", b"y", dt.datetime(2024, 1, 1, tzinfo=dt.UTC), Decimal("1.5")),
    "a": np.arange(4),
    "s": {1, 2},
    "w": pa.array([1, 2]),
}


def test_every_cut_is_noticed() -> None:
    data = pack("test", SAMPLE)
    for length in range(len(data)):
        with pytest.raises(CorruptState, match=r"cut short|ends early"):
            unpack("test", data[:length])
    with pytest.raises(CorruptState, match="followed by other bytes"):
        unpack("test", data + b"\0")


def test_every_flipped_bit_is_noticed() -> None:
    data = pack("test", SAMPLE)
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit >> 3] ^= 1 << (bit & 7)
        with pytest.raises(StateError):
            unpack("test", changed)


def test_errors_say_which() -> None:
    with pytest.raises(CorruptState, match="kind 'rows' where 'query'"):
        unpack("query", pack("rows", 1))
    data = bytearray(pack("query", 1))
    for other in (codec.VERSION - 1, codec.VERSION + 1):
        data[4] = other
        with pytest.raises(UnsupportedVersion, match=f"format {other}; this windrow reads format 8 only"):
            unpack("query", data)
    with pytest.raises(CorruptState, match="windrow's mark"):
        unpack("query", pickle.dumps(Bomb()))
    framed = codec.frame("query", b"0", b"one key")
    assert codec.unframe("query", framed, b"one key") == b"0"
    with pytest.raises(CorruptState, match="changed or moved"):
        codec.unframe("query", framed, b"another key")


@settings(max_examples=examples(300))
@given(payload=st.one_of(st.binary(max_size=60), st.binary(max_size=40).map(lambda b: b"A" + b)))
def test_hostile_payloads_with_a_good_checksum(payload: bytes) -> None:
    with contextlib.suppress(StateError):
        unpack("test", codec.frame("test", payload))


@given(at=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_changed_payloads_with_a_good_checksum(at: int, byte: int) -> None:
    payload = Codec("test").payload(SAMPLE)
    payload[at % len(payload)] = byte
    with contextlib.suppress(StateError):
        unpack("test", codec.frame("test", payload))


@pytest.mark.parametrize(
    "payload",
    [
        b"[" + b"\xff" * 8 + b"\x7f",
        b"b" + b"\xff" * 9,
        b"[\x01" * 5_000 + b"0",
        b"{\x01(\x01[\x00",
        b"A" + bytes(Codec("test").payload("|O8")) + b"(\x00b\x08" + bytes(8),
        b"A" + bytes(Codec("test").payload("<i8")) + bytes(Codec("test").payload((2**61, 4))) + b"b\x00",
        b"A"
        + bytes(Codec("test").payload("O"))
        + b"(\x00"
        + bytes(Codec("test").payload(pickle.dumps(Bomb()))),
        b"W\x00" + bytes(Codec("test").payload(pickle.dumps(Bomb()))),
        b"@\x04evil(\x010",
        b"mzzzzzzzzzzzzzzzzz",
        b"N" + bytes(Codec("test").payload(2**63 - 2)) + b"\x01b\x02\x00\x02",
        b"N" + bytes(Codec("test").payload(0)) + b"\x02b\x03\x00\x00\x00",
        b"N" + bytes(Codec("test").payload(0)) + b"\x08b\x08" + bytes(8),
        b"y\x00\x00\x00\x00",
        b"",
        b"00",
    ],
    ids=range(16),
)
def test_hostile_content(payload: bytes) -> None:
    with pytest.raises(CorruptState):
        unpack("test", codec.frame("test", payload))
    assert CANARY == []
