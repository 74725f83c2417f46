"""Sketches of fixed size: bloom (membership), approx_distinct (HyperLogLog), count_min (frequencies).

A partial is one row of numbers (``WideState``), its identity a row of zeros. Merging is elementwise (or, max,
plus), hence exactly associative and commutative: the same rows give the same sketch in any order and on any
machine. Values are told apart by their stable 64-bit code (:mod:`windrow.monoids.hashing`); NaN is one value,
nulls are skipped. Behind its registers a row of ``approx_distinct`` has the codes of the values, sorted,
while these are ``EXACT`` at most, and their number: so few are counted and not estimated.

The bytes of a result begin with a mark of the sketch and its parameters, so that it is read with these.

Positions in a row come from the two halves of the code by enhanced double hashing: nothing overflows 64 bits,
so the plain and the compiled form of ``lift_into`` are the same source and give the same bits.

Cost: one pass over the row a combine (16,384 bits: 256 words; precision 12: 4 KiB; 2048 x 4: 64 KiB).

| | error that is stated and tested |
|---|---|
| ``bloom(bits, hashes)`` | false positives (1 - exp(-hashes n / bits)) ** hashes for n distinct values |
| ``approx_distinct(precision)`` | none up to 32 values, then 1.04 / sqrt(2 ** precision), 1.6 % for 12 |
| ``count_min(width, depth)`` | too high by more than e / width of all rows with probability exp(-depth) |

A bloom filter has no false negatives, and a count_min estimate is never too low.

Sources: Kirsch and Mitzenmacher, Less hashing, same performance (2006); Dillinger and Manolios, Bloom filters
in probabilistic verification (2004); Flajolet, Fusy, Gandouet and Meunier, HyperLogLog (2007); Ertl, New
cardinality estimation algorithms for HyperLogLog sketches (2017); Cormode and Muthukrishnan, Count-Min
(2005).

>>> import windrow as wr
>>> wr.swag.DABA(wr.approx_distinct).roll(["ann", "bob", "ann", "cy"], size=3)
[1, 2, 2, 3]
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.monoids.base import Monoid, WideState
from windrow.monoids.hashing import encode

__all__ = [
    "EXACT",
    "approx_distinct",
    "bloom",
    "bloom_contains",
    "count_min",
    "count_min_estimate",
    "estimated_distinct",
    "first_probe",
    "next_probe",
    "register_and_rank",
    "row_bytes",
    "sketch_header",
]

#: distinct values up to which ``approx_distinct`` is exact
EXACT = 32

Row = npt.NDArray[Any]

_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LAST = np.uint64(63)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


#: what the bytes of a sketch begin with: its mark, then two parameters
_HEADER = struct.Struct("<4sIQ")


def sketch_header(monoid: Monoid) -> bytes:
    """The bytes before the row in a result: which sketch it is, and with which parameters.

    >>> sketch_header(bloom(bits=128, hashes=3)).hex(" ", 4)
    '77724231 03000000 80000000 00000000'
    """
    size, count = monoid.parameters.values()
    return _header(monoid.name, size, count)


def _header(name: str, size: int, count: int) -> bytes:
    return _HEADER.pack(_MARKS[name], count, size)


def _whole(name: str, size: int, count: int) -> dict[str, Any]:
    """How a sketch is declared that is itself the result."""
    header = _header(name, size, count)

    def lower(row: Row) -> bytes:
        return header + row_bytes(row)

    return {"lower": lower, "result_type": "binary"}


_MARKS = {"bloom": b"wrB1", "count_min": b"wrC1"}


def _read(name: str, make: Callable[[int, int], Monoid], result: bytes) -> tuple[Monoid, Row]:
    """The sketch that a result is of, and its row."""
    mark, count, size = _HEADER.unpack_from(result) if len(result) >= _HEADER.size else (b"", 0, 0)
    if mark == _MARKS[name]:
        monoid = make(size, count)
        assert monoid.wide is not None
        kind = np.dtype(monoid.wide.dtype).newbyteorder("<")
        if len(result) == _HEADER.size + monoid.wide.width * kind.itemsize:
            return monoid, np.frombuffer(result, kind, offset=_HEADER.size)
    found = next((other for other, known in _MARKS.items() if known == mark and other != name), None)
    what = "other bytes" if found is None else f"those of {found}"
    raise ValueError(
        f"{len(result)} bytes that are not a result of {name} but {what}: give a value of the result column "
        f"of wr.{name}, whole and unchanged"
    )


def row_bytes(row: Row) -> bytes:
    """A row as bytes, the lowest first on every machine.

    >>> import numpy as np
    >>> row_bytes(np.array([1, 2], dtype="u8")).hex()
    '01000000000000000200000000000000'
    """
    return row.astype(row.dtype.newbyteorder("<"), copy=False).tobytes()


def _wide(
    name: str,
    dtype: str,
    width: int,
    lift_into: Callable[..., None],
    combine_into: Callable[[Any, Any, Any], None],
    combine: Callable[[Any, Any], Any],
    **rest: Any,
) -> Monoid:
    """A monoid over rows: the plain functions make new rows, those in place are for native code."""

    def lift(value: Any) -> Row:
        row = np.zeros(width, dtype)
        lift_into(row, encode(value))
        return row

    identity = np.zeros(width, dtype)
    identity.flags.writeable = False
    wide = WideState(dtype=dtype, width=width, lift_into=lift_into, combine_into=combine_into, encode=encode)
    shared: dict[str, Any] = {"commutative": True, "compiles_for": "biuf", "wide": wide}
    return Monoid(name=name, lift=lift, combine=combine, identity=identity, **(shared | rest))


def _check_whole(what: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{what}={value!r}: give a whole number from {least} to {most}")


def first_probe(code: Any) -> tuple[Any, Any]:
    """Where a code probes first (before the modulus), and by how much to go on."""
    return np.uint64(code) >> _HALF, (np.uint64(code) & _LOW) | _ONE


def next_probe(position: Any, step: Any, k: int) -> tuple[Any, Any]:
    """The probe after the k-th."""
    return position + step, step + np.uint64(k)


# -- bloom ---------------------------------------------------------------------------------------------------


def _or_into(a: Row, b: Row, out: Row) -> None:
    for k in range(out.shape[0]):
        out[k] = a[k] | b[k]


def _or(a: Row, b: Row) -> Row:
    return a | b


def _make_bloom(bits: int = 16384, hashes: int = 4) -> Monoid:
    _check_whole("bits", bits, 64, 2**32)
    _check_whole("hashes", hashes, 1, 32)
    if bits % 64:
        raise ValueError(f"bits={bits}: give a multiple of 64, such as {bits + -bits % 64}")
    modulus = np.uint64(bits)

    def lift_into(out: Row, code: Any) -> None:
        position, step = first_probe(code)
        for k in range(hashes):
            bit = position % modulus
            out[bit >> _SIX] |= _ONE << (bit & _LAST)
            position, step = next_probe(position, step, k)

    return _wide(
        "bloom",
        "uint64",
        bits // 64,
        lift_into,
        _or_into,
        _or,
        idempotent=True,
        keeps="bits",
        **_whole("bloom", bits, hashes),
        make=_make_bloom,
        parameters={"bits": bits, "hashes": hashes},
        doc="""A Bloom filter of the values of a column, as bytes.
    ``windrow.monoids.sketches.bloom_contains`` says whether a value may be among them.

    ``bits`` (a multiple of 64) and ``hashes`` decide how often it says so wrongly; it never misses a value.
    Nulls are skipped, and without a value the result is null. All NaNs are one value.

    >>> import pyarrow as pa, windrow as wr
    >>> from windrow.monoids.sketches import bloom_contains
    >>> calls = pa.table({"t": [1, 2], "caller": ["ann", "bob"]})
    >>> found = wr.events(calls, time="t").window(wr.Tumbling(10)).agg(seen=wr.bloom("caller"))
    >>> [bloom_contains(found["seen"][0].as_py(), name) for name in ("ann", "cy")]
    [True, False]
    """,
    )


bloom = _make_bloom()


def bloom_contains(result: bytes | None, value: Any) -> bool:
    """Whether a value may be among those that a bloom result was made of; False is certain.

    The parameters of the sketch are in the bytes. A null result (no rows) contains nothing.

    >>> import windrow as wr
    >>> window = wr.swag.DABA(wr.bloom)
    >>> for name in ("ann", "bob"):
    ...     window.insert(name)
    >>> bloom_contains(window.query(), "bob"), bloom_contains(window.query(), "cy")
    (True, False)
    """
    if result is None:
        return False
    monoid, row = _read("bloom", _make_bloom, result)
    return not np.any(monoid.lift(value) & ~row)


# -- approx_distinct -----------------------------------------------------------------------------------------


_CODE = 8
#: bytes behind the registers: codes, and how many there are; one more than EXACT where there are too many
_EXTRA = _CODE * EXACT + _CODE


def _code_at(row: Row, start: Any) -> Any:
    """The code whose bytes begin at this place, the lowest first."""
    code = np.uint64(row[start])
    for k in range(1, _CODE):
        code |= np.uint64(row[start + k]) << np.uint64(8 * k)
    return code


def _put_code(row: Row, start: Any, code: Any) -> None:
    for k in range(_CODE):
        row[start + k] = np.uint8((code >> np.uint64(8 * k)) & np.uint64(255))


def _without_codes(row: Row, registers: int) -> None:
    """There are too many values to count them."""
    for k in range(registers, registers + _CODE * EXACT):
        row[k] = 0
    _put_code(row, registers + _CODE * EXACT, np.uint64(EXACT + 1))


def _add_code(row: Row, registers: int, code: Any) -> None:
    """Add a code to those that are sorted behind the registers."""
    end = registers + _CODE * EXACT
    count = np.int64(row[end])
    if count > EXACT:
        return
    place = registers + _CODE * count
    while place > registers and _code_at(row, place - _CODE) > code:
        place -= _CODE
    if place > registers and _code_at(row, place - _CODE) == code:
        return
    if count == EXACT:
        _without_codes(row, registers)
        return
    for k in range(registers + _CODE * count - 1, place - 1, -1):
        row[k + _CODE] = row[k]
    _put_code(row, place, code)
    row[end] = count + 1


def _in_both(a: Row, b: Row, registers: int, first: Any, second: Any) -> int:
    """How many codes are in both rows, which have so many."""
    i = j = both = 0
    while i < first and j < second:
        x, y = _code_at(a, registers + _CODE * i), _code_at(b, registers + _CODE * j)
        both += 1 if x == y else 0
        i += 1 if x <= y else 0
        j += 1 if y <= x else 0
    return both


def _merge_codes(a: Row, b: Row, out: Row, registers: int) -> None:
    """The codes of both rows, from the last to the first: so ``out`` may be one of the two."""
    end = registers + _CODE * EXACT
    i, j = np.int64(a[end]), np.int64(b[end])
    count = i + j - _in_both(a, b, registers, min(i, EXACT), min(j, EXACT))
    if i > EXACT or j > EXACT or count > EXACT:
        _without_codes(out, registers)
        return
    for place in range(count - 1, -1, -1):
        x = _code_at(a, registers + _CODE * (i - 1)) if i > 0 else np.uint64(0)
        y = _code_at(b, registers + _CODE * (j - 1)) if j > 0 else np.uint64(0)
        takes_a = i > 0 and (j == 0 or x >= y)
        takes_b = j > 0 and (i == 0 or y >= x)
        _put_code(out, registers + _CODE * place, x if takes_a else y)
        i -= 1 if takes_a else 0
        j -= 1 if takes_b else 0
    for k in range(registers + _CODE * count, end):
        out[k] = 0
    _put_code(out, end, np.uint64(count))


def register_and_rank(code: Any, precision: int) -> tuple[Any, int]:
    """Which register a code goes to, and the place of the first one in the rest of its bits."""
    register = np.uint64(code) >> np.uint64(64 - precision)
    # the guard ends the search in a code whose other bits are all zero
    bits = (np.uint64(code) << np.uint64(precision)) | (_ONE << np.uint64(precision - 1))
    rank = 1
    while bits >> _LAST != _ONE:
        bits = bits << _ONE
        rank += 1
    return register, rank


def estimated_distinct(counts: Any, width: int) -> int:
    """About how many values were seen, by how many of ``width`` registers have each rank from 0 on."""
    # [Ertl 2017] algorithm 6, with tau and sigma written out
    ranks = counts.shape[0] - 1
    x = 1.0 - counts[ranks] / width
    tau = 0.0
    if 0.0 < x < 1.0:
        power, tau, previous = 1.0, 1.0 - x, -1.0
        while tau != previous:
            x = math.sqrt(x)
            previous = tau
            power *= 0.5
            tau -= (1.0 - x) * (1.0 - x) * power
        tau /= 3.0
    z = width * tau
    for rank in range(ranks - 1, 0, -1):
        z = 0.5 * (z + counts[rank])
    x = counts[0] / width
    if x == 1.0:
        return 0
    power, sigma, previous = 1.0, x, -1.0
    while sigma != previous:
        x *= x
        previous = sigma
        sigma += x * power
        power += power
    z += width * sigma
    scale = width * width / (2.0 * math.log(2.0))
    return int(scale / z + 0.5) if scale < z * 9.2e18 else 2**63 - 1


def _make_approx_distinct(precision: int = 12) -> Monoid:
    _check_whole("precision", precision, 4, 18)
    width = 1 << precision
    ranks = 64 - precision + 1

    def lift_into(out: Row, code: Any) -> None:
        register, rank = register_and_rank(code, precision)
        if rank > out[register]:
            out[register] = rank
        _add_code(out, width, np.uint64(code))

    def combine_into(a: Row, b: Row, out: Row) -> None:
        _merge_codes(a, b, out, width)
        for k in range(width):
            out[k] = a[k] if a[k] > b[k] else b[k]

    def combine(a: Row, b: Row) -> Row:
        out = np.maximum(a, b)
        _merge_codes(a, b, out, width)
        return out

    def lower(row: Row) -> int:
        count = np.int64(row[width + _CODE * EXACT])
        if count <= EXACT:
            return int(count)
        return max(EXACT + 1, estimated_distinct(np.bincount(row[:width], minlength=ranks + 1), width))

    return _wide(
        "approx_distinct",
        "uint8",
        width + _EXTRA,
        lift_into,
        combine_into,
        combine,
        lower=lower,
        idempotent=True,
        empty=0,
        result_type="int64",
        keeps="registers",
        make=_make_approx_distinct,
        parameters={"precision": precision},
        doc="""About how many distinct values a column has (HyperLogLog).

    Up to 32 values are counted exactly. Beyond, the standard error is 1.04 / sqrt(2 ** precision): 1.6 % with
    the default. Nulls are skipped, and without a value the result is 0. All NaNs are one value.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 11], "caller": ["ann", "bob", "ann", "cy"]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(callers=wr.approx_distinct("caller"))["callers"].to_pylist()
    [2, 1]
    """,
    )


approx_distinct = _make_approx_distinct()

# -- count_min -----------------------------------------------------------------------------------------------


def _add_into(a: Row, b: Row, out: Row) -> None:
    for k in range(out.shape[0]):
        out[k] = a[k] + b[k]


def _add(a: Row, b: Row) -> Row:
    return a + b


def _subtract(total: Row, oldest: Row) -> Row:
    return total - oldest


def _make_count_min(width: int = 2048, depth: int = 4) -> Monoid:
    _check_whole("width", width, 1, 2**31)
    _check_whole("depth", depth, 1, 32)
    modulus = np.uint64(width)

    def lift_into(out: Row, code: Any) -> None:
        position, step = first_probe(code)
        for k in range(depth):
            out[np.uint64(k) * modulus + position % modulus] += 1
            position, step = next_probe(position, step, k)

    return _wide(
        "count_min",
        "int64",
        width * depth,
        lift_into,
        _add_into,
        _add,
        inverse=_subtract,
        keeps="counters",
        **_whole("count_min", width, depth),
        make=_make_count_min,
        parameters={"width": width, "depth": depth},
        doc="""How often each value of a column occurs, as the bytes of a Count-Min sketch.
    ``windrow.monoids.sketches.count_min_estimate`` reads the count of a value out of it.

    An estimate is never too low. It is too high by more than e / ``width`` of all rows with a probability of
    exp(-``depth``) at most. Nulls are skipped, and without a value the result is null. All NaNs are one
    value.

    >>> import pyarrow as pa, windrow as wr
    >>> from windrow.monoids.sketches import count_min_estimate
    >>> calls = pa.table({"t": [1, 2, 3], "caller": ["ann", "bob", "ann"]})
    >>> found = wr.events(calls, time="t").window(wr.Tumbling(10)).agg(often=wr.count_min("caller"))
    >>> count_min_estimate(found["often"][0].as_py(), "ann")
    2
    """,
    )


count_min = _make_count_min()


def count_min_estimate(result: bytes | None, value: Any) -> int:
    """How often a value occurs among those that a count_min result was made of; never too low.

    The parameters of the sketch are in the bytes. In a null result (no rows) nothing occurs.

    >>> import windrow as wr
    >>> window = wr.swag.DABA(wr.count_min)
    >>> for name in ("ann", "bob", "ann"):
    ...     window.insert(name)
    >>> count_min_estimate(window.query(), "ann")
    2
    """
    if result is None:
        return 0
    monoid, counters = _read("count_min", _make_count_min, result)
    return int(counters[monoid.lift(value) > 0].min())
