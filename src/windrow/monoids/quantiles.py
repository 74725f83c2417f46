"""Quantiles by a mergeable sketch: KLL from Apache DataSketches.

Up to 64 values are kept as they are and give the exact quantile, interpolated between neighbours as numpy,
pandas and DuckDB have it. More values become a KLL sketch of parameter ``k``, which answers with a value from
the window whose rank is off by at most ``rank_error(k)`` of the rows with 99 % confidence (k = 200: 1.33 %),
after any number of merges, and with the true smallest and largest value for q = 0 and 1. One NaN makes the
result NaN for as long as it is in the window.

KLL is randomised: a compaction keeps either the odd or the even half of its values, by a coin that
DataSketches seeds from the clock. Two runs over the same rows, or two engines, may return different values
within the stated error; results for up to 64 values never differ. Combines are associative and commutative up
to that error.

A partial is never changed: a combine copies a sketch before it merges into it.

Cost: 1-2 µs a combine of few values, about 10 µs of two sketches (some 5 KB each at k = 200).
Source: Karnin, Lang and Liberty, Optimal quantile approximation in streams (FOCS 2016).

>>> import windrow as wr
>>> wr.swag.DABA(wr.median).roll([4.0, 1.0, 2.0, 3.0], size=4)
[4.0, 2.5, 2.0, 2.5]
>>> wr.quantile("len", 0.99)
quantile('len', q=0.99, k=200)
"""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from windrow.monoids.base import Monoid
from windrow.monoids.stored_types import stored_as

__all__ = ["Ranks", "median", "quantile", "rank_error"]

_MOST_EXACT = 64


def _to_plain(ranks: Ranks) -> Any:
    return ranks.nans, ranks.values, None if ranks.sketch is None else bytes(ranks.sketch.serialize())


def _from_plain(plain: Any) -> Ranks:
    nans, values, sketch = plain
    if type(nans) is not int or nans < 0 or not all(type(value) is float for value in values):
        raise ValueError("ranks that are not numbers")
    if type(values) is not tuple or not all(a <= b for a, b in itertools.pairwise((*values, math.inf))):
        raise ValueError("ranks that are not sorted")
    if sketch is not None:
        from datasketches import kll_doubles_sketch

        from windrow.monoids.kll_form import check_kll

        if type(sketch) is not bytes or values:
            raise ValueError("ranks with a sketch that is not one, or with values beside it")
        check_kll(sketch)
        sketch = kll_doubles_sketch.deserialize(sketch)
    return Ranks(nans, values, sketch)


@stored_as("ranks", _to_plain, _from_plain)
class Ranks(NamedTuple):
    """The partial: how many NaNs there were, and the other values, sorted or as a sketch."""

    nans: int
    values: tuple[float, ...]
    sketch: Any = None

    def __deepcopy__(self, memo: Any) -> Ranks:
        return Ranks(self.nans, self.values, copy.copy(self.sketch))


NOTHING = Ranks(0, ())


def rank_error(k: int = 200) -> float:
    """By how much the rank of a result may be off, as a share of the rows, with 99 % confidence.

    >>> round(rank_error(200), 4)
    0.0133
    """
    from datasketches import kll_doubles_sketch

    return float(kll_doubles_sketch.get_normalized_rank_error(k, False))


def _lift(value: Any) -> Ranks:
    number = float(value)
    return Ranks(1, ()) if number != number else Ranks(0, (number,))


def _merge(a: Ranks, b: Ranks, k: int) -> Ranks:
    nans = a.nans + b.nans
    if a.sketch is None and b.sketch is None and len(a.values) + len(b.values) <= _MOST_EXACT:
        return Ranks(nans, tuple(sorted(a.values + b.values)))
    if not a.values and a.sketch is None:
        return Ranks(nans, b.values, b.sketch)
    if not b.values and b.sketch is None:
        return Ranks(nans, a.values, a.sketch)
    if a.sketch is None:
        a, b = b, a
    sketch = _sketch_of(a.values, k) if a.sketch is None else copy.copy(a.sketch)
    if b.sketch is None:
        sketch.update(np.array(b.values))
    else:
        sketch.merge(b.sketch)
    return Ranks(nans, (), sketch)


def _sketch_of(values: tuple[float, ...], k: int) -> Any:
    from datasketches import kll_doubles_sketch

    sketch = kll_doubles_sketch(k)
    sketch.update(np.array(values))
    return sketch


def _interpolated(values: tuple[float, ...], q: float) -> float:
    place = q * (len(values) - 1)
    left = math.floor(place)
    share = place - left
    if share == 0.0 or values[left] == values[left + 1]:
        return values[left]
    return values[left] * (1.0 - share) + values[left + 1] * share


def _estimated(sketch: Any, q: float) -> float:
    if q == 0:
        return float(sketch.get_min_value())
    return float(sketch.get_max_value() if q == 1 else sketch.get_quantile(q, True))


def _alike(a: Ranks, b: Ranks) -> bool:
    """Equal up to what two sketches of the same values may differ by; for the laws."""
    if a.sketch is None or b.sketch is None:
        return a == b
    if (a.nans, a.sketch.n, a.sketch.k) != (b.nans, b.sketch.n, b.sketch.k):
        return False
    most = 3 * rank_error(a.sketch.k)
    points = a.sketch.get_quantiles([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
    return all(abs(a.sketch.get_rank(x, True) - b.sketch.get_rank(x, True)) <= most for x in points)


def _make(name: str, q: Any, k: Any, **rest: Any) -> Monoid:
    if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 <= q <= 1:
        raise ValueError(f"q={q!r}: a quantile is a number from 0 (the smallest value) to 1 (the largest)")
    if isinstance(k, bool) or not isinstance(k, int) or not 8 <= k <= 65535:
        raise ValueError(
            f"k={k!r}: give a whole number from 8 to 65535; larger is more precise (200: 1.33 % of ranks)"
        )

    def combine(a: Ranks, b: Ranks) -> Ranks:
        return _merge(a, b, k)

    def lower(a: Ranks) -> float | None:
        if a.nans:
            return math.nan
        if a.sketch is not None:
            return _estimated(a.sketch, q)
        return _interpolated(a.values, q) if a.values else None

    def check_stored(partial: Any) -> None:
        if type(partial) is not Ranks or (partial.sketch is not None and partial.sketch.k != k):
            raise ValueError(f"a partial of {name!r} that is not one for k={k}")

    return Monoid(
        name=name,
        lift=_lift,
        combine=combine,
        lower=lower,
        identity=NOTHING,
        commutative=True,
        result_type="float64",
        compiles_for="",
        equal=_alike,
        check_stored=check_stored,
        **rest,
    )


_QUANTILE = """The value below which the share ``q`` of the values lies: the smallest for 0, the median for
    0.5, the largest for 1.

    Exact, and interpolated between neighbours, for up to 64 values in a window; for more, a KLL sketch whose
    rank is off by 1.33 % of the rows at most, with 99 % confidence. A larger ``k`` is more precise.
    Nulls are skipped, and without a value the result is null. NaN makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 4, 5], "len": [10, 20, 30, 40, 50]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(p75=wr.quantile("len", 0.75))["p75"].to_pylist()
    [40.0]
    """
_MEDIAN = """The middle value; of an even number of values, the mean of the two in the middle.

    Exact for up to 64 values in a window; for more, a KLL sketch, as ``quantile`` has it. Nulls are skipped,
    and without a value the result is null. NaN makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(middle=wr.median("len"))["middle"].to_pylist()
    [7.0, 4.0]
    """


def _make_quantile(q: float = 0.5, k: int = 200) -> Monoid:
    return _make("quantile", q, k, make=_make_quantile, parameters={"q": q, "k": k}, doc=_QUANTILE)


def _make_median(k: int = 200) -> Monoid:
    return _make("median", 0.5, k, make=_make_median, parameters={"k": k}, doc=_MEDIAN)


quantile = _make_quantile()
median = _make_median()
