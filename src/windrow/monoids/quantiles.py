"""Quantiles: exact, and over values rounded to a few digits.

``quantile`` and ``median`` are exact, interpolated between neighbours as numpy, pandas, Polars and Spark's
``percentile`` have it. Their partials are the values, sorted: they grow with the window.

``approx_quantile`` is the same over values that are rounded to so many binary digits that none moves by more
than ``accuracy`` of itself. A partial is how often each rounded value occurs: it is small however many rows a
window has, and since rounding does not know of other rows, equal rows give equal results, however they are
grouped, on every engine.

One NaN makes the result NaN for as long as it is in the window. Decimals and moments are refused: a result
would be a float without a word.

Cost: a combine merges two sorted tuples, O(n). Queries do not combine
(:mod:`windrow.partials.value_aggregates.ranks`). Source of the rounding: Masson, Rim and Lee, DDSketch (VLDB
2019), with buckets of equal width between two powers of two in place of logarithms, so that every machine
rounds alike.

>>> import windrow as wr
>>> wr.swag.DABA(wr.median).roll([4.0, 1.0, 2.0, 3.0], size=4)
[4.0, 2.5, 2.0, 2.5]
>>> wr.quantile("len", 0.99)
quantile('len', q=0.99)
"""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any, NamedTuple

from windrow.monoids.base import Monoid
from windrow.monoids.stored_types import stored_as

__all__ = [
    "Occurrences",
    "Ranks",
    "approx_quantile",
    "dropped_digits",
    "interpolated",
    "median",
    "mixed",
    "quantile",
    "rounded",
]


def _numbers_to_plain(ranks: Ranks) -> Any:
    return ranks.nans, ranks.values


def _check_sorted(values: Any, strictly: bool) -> None:
    if type(values) is not tuple or not all(type(value) is float for value in values):
        raise ValueError("ranks that are not numbers")
    if not all(a < b or (a == b and not strictly) for a, b in itertools.pairwise(values)):
        raise ValueError("ranks that are not sorted")
    if values and values[-1] != values[-1]:
        raise ValueError("ranks that are not numbers")


def _numbers_from_plain(plain: Any) -> Ranks:
    nans, values = plain
    if type(nans) is not int or nans < 0:
        raise ValueError("ranks that are not numbers")
    _check_sorted(values, strictly=False)
    return Ranks(nans, values)


@stored_as("sorted", _numbers_to_plain, _numbers_from_plain)
class Ranks(NamedTuple):
    """The partial: how many NaNs there were, and the other values, sorted."""

    nans: int
    values: tuple[float, ...]


def _occurrences_to_plain(ranks: Occurrences) -> Any:
    return ranks.nans, ranks.values, ranks.counts


def _occurrences_from_plain(plain: Any) -> Occurrences:
    nans, values, counts = plain
    if type(nans) is not int or nans < 0 or type(counts) is not tuple or len(counts) != len(values):
        raise ValueError("ranks that are not numbers")
    if not all(type(count) is int and count > 0 for count in counts):
        raise ValueError("counts that are not whole numbers from 1 on")
    _check_sorted(values, strictly=True)
    return Occurrences(nans, values, counts)


@stored_as("occurrences", _occurrences_to_plain, _occurrences_from_plain)
class Occurrences(NamedTuple):
    """The partial of rounded values: how many NaNs there were, the other values, sorted, and how often each
    occurs."""

    nans: int
    values: tuple[float, ...]
    counts: tuple[int, ...]


#: types of values that are not numbers, though they have an order; pandas' own are among them
_MOMENTS = ("date", "datetime", "time", "timedelta", "Timestamp", "Timedelta")


def _number(value: Any) -> float:
    kind = type(value).__name__
    if kind == "Decimal":
        raise TypeError(
            f"quantiles are floats, and {value!r} is a decimal: cast the column to float64, "
            f"or take min, max or first, which are exact"
        )
    if kind in _MOMENTS:
        raise TypeError(
            f"quantiles are floats, and {value!r} is not a number: take those of the column as whole numbers "
            f"(such as seconds since a day), or take min, max or first, which are exact"
        )
    if isinstance(value, (str, bytes)):
        raise TypeError(
            f"quantiles are of numbers, and {value!r} is text: cast the column, or take min, max or mode"
        )
    return float(value)


def interpolated(kth: Any, count: int, q: float) -> float:
    """The quantile of ``count`` values, of which ``kth(k)`` is the one with k before it."""
    place = q * (count - 1)
    left = math.floor(place)
    share = place - left
    low = float(kth(left))
    if share == 0.0:
        return low
    return mixed(low, float(kth(left + 1)), share)


def mixed(low: float, high: float, share: float) -> float:
    """Between two neighbours, so that equal ones, infinities too, give themselves."""
    return low if low == high else low * (1.0 - share) + high * share


def _check_q(q: Any) -> None:
    if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 <= q <= 1:
        raise ValueError(f"q={q!r}: a quantile is a number from 0 (the smallest value) to 1 (the largest)")


# -- exact ---------------------------------------------------------------------------------------------------


def _lift(value: Any) -> Ranks:
    number = _number(value)
    return Ranks(1, ()) if number != number else Ranks(0, (number,))


def _merge(a: Ranks, b: Ranks) -> Ranks:
    return Ranks(a.nans + b.nans, tuple(sorted(a.values + b.values)))


def _make(name: str, q: Any, **rest: Any) -> Monoid:
    _check_q(q)

    def lower(a: Ranks) -> float | None:
        if a.nans:
            return math.nan
        return interpolated(a.values.__getitem__, len(a.values), q) if a.values else None

    def check_stored(partial: Any) -> None:
        if type(partial) is not Ranks:
            raise ValueError(f"a partial of {name!r} that is not one")

    return Monoid(
        name=name,
        lift=_lift,
        combine=_merge,
        lower=lower,
        identity=Ranks(0, ()),
        commutative=True,
        result_type="float64",
        compiles_for="",
        keeps="ranks",
        check_stored=check_stored,
        **rest,
    )


_QUANTILE = """The value below which the share ``q`` of the values lies: the smallest for 0, the median for
    0.5, the largest for 1. Exact, and interpolated between neighbours.

    An operator keeps all values of its windows for it; ``approx_quantile`` keeps few, whatever the number of
    rows. Nulls are skipped, and without a value the result is null. NaN makes it NaN while it is in the
    window. Numbers only: decimals and moments are refused.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 4, 5], "len": [10, 20, 30, 40, 50]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(p75=wr.quantile("len", 0.75))["p75"].to_pylist()
    [40.0]
    """
_MEDIAN = """The middle value; of an even number of values, the mean of the two in the middle. Exact.

    An operator keeps all values of its windows for it; ``approx_quantile`` keeps few. Nulls are skipped, and
    without a value the result is null. NaN makes it NaN while it is in the window. Numbers only: decimals and
    moments are refused.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(middle=wr.median("len"))["middle"].to_pylist()
    [7.0, 4.0]
    """


def _make_quantile(q: float = 0.5) -> Monoid:
    return _make("quantile", q, make=_make_quantile, parameters={"q": q}, doc=_QUANTILE)


quantile = _make_quantile()
median = _make("median", 0.5, doc=_MEDIAN)

# -- rounded -------------------------------------------------------------------------------------------------

_MANTISSA = 52


def dropped_digits(accuracy: float) -> int:
    """How many binary digits of a float64 may go if no value moves by more than ``accuracy`` of itself.

    >>> dropped_digits(0.01)
    46
    """
    kept = 0
    while 2.0 ** -(kept + 1) > accuracy:
        kept += 1
    return _MANTISSA - kept


def rounded(numbers: Any, accuracy: float) -> Any:
    """An array of float64 with each number rounded so that it moves by ``accuracy`` of itself at most.

    >>> import numpy as np
    >>> rounded(np.array([1.0, 100.3, -0.07, 0.0]), 0.01).tolist()
    [1.0, 100.0, -0.0703125, 0.0]
    """
    import numpy as np

    bits = numbers.view(np.uint64)
    dropped = np.uint64(dropped_digits(accuracy))
    half = np.uint64(1) << (dropped - np.uint64(1))
    nearest = ((bits + half) >> dropped << dropped).view(np.float64)
    down = (bits >> dropped << dropped).view(np.float64)
    found = np.where(np.isinf(nearest), down, nearest)
    return np.where(np.isnan(numbers), np.nan, found + 0.0)


def _rounded(number: float, dropped: int) -> float:
    bits = int.from_bytes(struct.pack("<d", number), "little")
    nearest = _float(((bits + (1 << (dropped - 1))) >> dropped) << dropped)
    found = _float((bits >> dropped) << dropped) if math.isinf(nearest) else nearest
    return found + 0.0


def _float(bits: int) -> float:
    found: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return found


def _merge_occurrences(a: Occurrences, b: Occurrences) -> Occurrences:
    if not b.values:
        return Occurrences(a.nans + b.nans, a.values, a.counts)
    counts = dict(zip(a.values, a.counts, strict=True))
    for value, count in zip(b.values, b.counts, strict=True):
        counts[value] = counts.get(value, 0) + count
    values = tuple(sorted(counts))
    return Occurrences(a.nans + b.nans, values, tuple(counts[value] for value in values))


def _make_approx_quantile(q: float = 0.5, accuracy: Any = 0.01) -> Monoid:
    _check_q(q)
    if isinstance(accuracy, bool) or not isinstance(accuracy, (int, float)) or not 1e-9 <= accuracy <= 0.5:
        raise ValueError(
            f"accuracy={accuracy!r}: give the share by which a value may be off, from 1e-9 to 0.5; "
            f"0.01 is one per cent"
        )
    dropped = dropped_digits(accuracy)

    def lift(value: Any) -> Occurrences:
        number = _number(value)
        if number != number:
            return Occurrences(1, (), ())
        return Occurrences(0, (_rounded(number, dropped),), (1,))

    def lower(a: Occurrences) -> float | None:
        if a.nans:
            return math.nan
        ends = list(itertools.accumulate(a.counts))
        if not ends:
            return None
        return interpolated(lambda k: a.values[_place(ends, k)], ends[-1], q)

    def check_stored(partial: Any) -> None:
        if type(partial) is not Occurrences or any(_rounded(v, dropped) != v for v in partial.values):
            raise ValueError(f"a partial of 'approx_quantile' that is not one for accuracy={accuracy}")

    return Monoid(
        name="approx_quantile",
        lift=lift,
        combine=_merge_occurrences,
        lower=lower,
        identity=Occurrences(0, (), ()),
        commutative=True,
        result_type="float64",
        compiles_for="",
        keeps="ranks",
        check_stored=check_stored,
        make=_make_approx_quantile,
        parameters={"q": q, "accuracy": accuracy},
        doc="""The value below which about the share ``q`` of the values lies, from a small sketch.

    Values are rounded so that each moves by ``accuracy`` of itself at most (0.01: one per cent); the result
    is the exact quantile of the rounded values, and as close to that of the values themselves where these
    have one sign. Equal rows give equal results, however they are grouped. State is small however many rows a
    window has: at the default accuracy at most 64 numbers for each doubling of the values. Nulls are skipped,
    and without a value the result is null. NaN makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 4, 5], "len": [10.1, 20, 30, 40, 50]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(p10=wr.approx_quantile("len", 0))["p10"].to_pylist()
    [10.125]
    """,
    )


def _place(ends: list[int], k: int) -> int:
    from bisect import bisect_right

    return bisect_right(ends, k)


approx_quantile = _make_approx_quantile()
