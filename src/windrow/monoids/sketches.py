"""Sketches of fixed size: bloom (membership), approx_distinct (HyperLogLog), count_min (frequencies).

A partial is one row of numbers (``WideState``), its identity a row of zeros. Merging is elementwise (or, max,
plus), hence exactly associative and commutative: the same rows give the same sketch in any order and on any
machine. Values are told apart by their stable 64-bit code (:mod:`windrow.monoids.hashing`); NaN is one value,
nulls are skipped.

Positions in a row come from the two halves of the code by enhanced double hashing: nothing overflows 64 bits,
so the plain and the compiled form of ``lift_into`` are the same source and give the same bits.

Cost: one pass over the row a combine (16,384 bits: 256 words; precision 12: 4 KiB; 2048 x 4: 64 KiB).

| | error that is stated and tested |
|---|---|
| ``bloom(bits, hashes)`` | false positives (1 - exp(-hashes n / bits)) ** hashes for n distinct values |
| ``approx_distinct(precision)`` | standard error 1.04 / sqrt(2 ** precision), 1.6 % for 12 |
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
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.monoids.base import Monoid, WideState
from windrow.monoids.hashing import encode

__all__ = [
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
]

Row = npt.NDArray[Any]

_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LAST = np.uint64(63)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def row_bytes(row: Row) -> bytes:
    """A row as bytes, the lowest first on every machine: the result of bloom and count_min.

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
    shared: dict[str, Any] = {"lower": row_bytes, "commutative": True, "compiles_for": "biuf", "wide": wide}
    return Monoid(name=name, lift=lift, combine=combine, identity=identity, **(shared | rest))


def _whole(what: str, value: Any, least: int, most: int) -> None:
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
    _whole("bits", bits, 64, 2**32)
    _whole("hashes", hashes, 1, 32)
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
        result_type="binary",
        keeps="bits",
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


def bloom_contains(result: bytes | None, value: Any, hashes: int = 4) -> bool:
    """Whether a value may be among those that a bloom result was made of; False is certain.

    ``hashes`` must be that of the aggregate. A null result (no rows) contains nothing.

    >>> import windrow as wr
    >>> window = wr.swag.DABA(wr.bloom)
    >>> for name in ("ann", "bob"):
    ...     window.insert(name)
    >>> bloom_contains(window.query(), "bob"), bloom_contains(window.query(), "cy")
    (True, False)
    """
    if result is None:
        return False
    asked = _make_bloom(bits=len(result) * 8, hashes=hashes).lift(value)
    return not np.any(asked & ~np.frombuffer(result, "<u8"))


# -- approx_distinct -----------------------------------------------------------------------------------------


def _max_into(a: Row, b: Row, out: Row) -> None:
    for k in range(out.shape[0]):
        out[k] = a[k] if a[k] > b[k] else b[k]


def _max(a: Row, b: Row) -> Row:
    return np.maximum(a, b)


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
    _whole("precision", precision, 4, 18)
    width = 1 << precision
    ranks = 64 - precision + 1

    def lift_into(out: Row, code: Any) -> None:
        register, rank = register_and_rank(code, precision)
        if rank > out[register]:
            out[register] = rank

    def lower(row: Row) -> int:
        return estimated_distinct(np.bincount(row, minlength=ranks + 1), width)

    return _wide(
        "approx_distinct",
        "uint8",
        width,
        lift_into,
        _max_into,
        _max,
        lower=lower,
        idempotent=True,
        empty=0,
        result_type="int64",
        keeps="registers",
        make=_make_approx_distinct,
        parameters={"precision": precision},
        doc="""About how many distinct values a column has (HyperLogLog).

    The standard error is 1.04 / sqrt(2 ** precision): 1.6 % with the default. Nulls are skipped, and without
    a value the result is 0. All NaNs are one value.

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
    _whole("width", width, 1, 2**31)
    _whole("depth", depth, 1, 32)
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
        result_type="binary",
        keeps="counters",
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


def count_min_estimate(result: bytes | None, value: Any, depth: int = 4) -> int:
    """How often a value occurs among those that a count_min result was made of; never too low.

    ``depth`` must be that of the aggregate. In a null result (no rows) nothing occurs.

    >>> import windrow as wr
    >>> window = wr.swag.DABA(wr.count_min)
    >>> for name in ("ann", "bob", "ann"):
    ...     window.insert(name)
    >>> count_min_estimate(window.query(), "ann")
    2
    """
    if result is None:
        return 0
    counters = np.frombuffer(result, "<i8")
    asked = _make_count_min(width=len(counters) // depth, depth=depth).lift(value)
    return int(counters[asked > 0].min())
