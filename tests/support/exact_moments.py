"""Moments by their definitions, in integers, and numbers that lie close together far from 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from windrow.monoids.base import Monoid

__all__ = ["OFFSETS", "assert_exact", "close_numbers", "definition", "distances"]

#: where numbers lie: at 0, and up to where floats have three binary digits behind the point
OFFSETS = (0.0, 3.0, 5e4, 1.7e9, -1e12, 1e14, -1e15, 1e15)


def distances(values: Sequence[Any]) -> list[Fraction]:
    """How far each value is from the mean of all."""
    exact = [Fraction(value) for value in values]
    bottom = math.lcm(*(each.denominator for each in exact))
    whole = [each.numerator * (bottom // each.denominator) for each in exact]
    total, n = sum(whole), len(whole)
    return [Fraction(n * each - total, n * bottom) for each in whole]


def _sum_of_products(*columns: Sequence[Fraction]) -> Fraction:
    bottom = math.lcm(*(each.denominator for column in columns for each in column))
    whole = [[each.numerator * (bottom // each.denominator) for each in column] for column in columns]
    return Fraction(sum(map(math.prod, zip(*whole, strict=True))), bottom ** len(columns))


def definition(monoid: Monoid, rows: Sequence[Any]) -> tuple[float | None, float]:
    """The result for these rows (values, or pairs of them) to the last bits, and of what an error is a
    share: the result itself, or for what may be close to 0 the largest result of columns that spread as these
    do."""
    n, name = len(rows), monoid.name
    columns = zip(*rows, strict=True) if monoid.arity[0] == 2 else [rows]
    far = [distances(column) for column in columns]
    squares = [_sum_of_products(each, each) for each in far]
    if name in ("var", "stddev", "cov"):
        left = n - monoid.parameters["ddof"]
        if left <= 0:
            return None, 0.0
        found = float(_sum_of_products(far[0], far[-1]) / left)
        if name == "stddev":
            return math.sqrt(found), math.sqrt(found)
        return found, math.prod(math.sqrt(each / left) for each in squares) if name == "cov" else found
    if name in ("corr", "slope"):
        if squares[-1] == 0 or (squares[0] == 0 and name == "corr"):
            return None, 0.0
        both = _sum_of_products(*far)
        if name == "slope":
            return float(both / squares[1]), math.sqrt(squares[0] / squares[1])
        return float(both) / math.sqrt(squares[0]) / math.sqrt(squares[1]), 1.0
    biased = monoid.parameters["bias"]
    if squares[0] == 0 or (not biased and n < (3 if name == "skew" else 4)):
        return None, 0.0
    if name == "skew":
        cubes = _sum_of_products(far[0], far[0], far[0])
        found = float(cubes / n) / float(squares[0] / n) ** 1.5
        factor = 1.0 if biased else math.sqrt(n * (n - 1)) / (n - 2)
        return found * factor, factor * (1.0 + abs(found))
    fourth = _sum_of_products(far[0], far[0], far[0], far[0])
    whole = n * fourth / squares[0] ** 2
    if biased:
        return float(whole - 3), float(whole)
    outer = Fraction(n - 1, (n - 2) * (n - 3))
    return float(outer * ((n + 1) * (whole - 3) + 6)), float(outer * ((n + 1) * whole + 6))


def assert_exact(monoid: Monoid, rows: Sequence[Any], found: Any, tolerance: float = 1e-12) -> None:
    """That a result is the definition's, but for so large a share."""
    expected, unit = definition(monoid, rows) if rows else (None, 0.0)
    if expected is None:
        assert found is None, f"{monoid!r} of {list(rows)[:9]}: {found!r}, not null"
        return
    told = f"{monoid!r} of {len(rows)} rows ({list(rows)[:9]} ...): {found!r}, not {expected!r}"
    assert found is not None, told
    assert abs(found - expected) <= tolerance * unit, told


@st.composite
def close_numbers(draw: Any, most: int, least: int = 1) -> list[float]:
    """Numbers that are apart by some of the smallest steps there are where they lie, or by many; some ramps,
    some with a number far from the others."""
    offset, seed = draw(st.sampled_from(OFFSETS)), draw(st.integers(0, 2**32 - 1))
    random, count = np.random.default_rng(seed), draw(st.integers(least, most))
    step = float(np.spacing(abs(offset) or 1e-9)) * 2.0 ** draw(st.integers(0, 40))
    kind = draw(st.sampled_from(["bell", "ramp", "two", "outlier", "equal"]))
    steps = np.round(random.normal(size=count) * 8)
    if kind == "ramp":
        steps = np.arange(count) * 3.0
    if kind in ("two", "equal"):
        steps = random.integers(0, 2 if kind == "two" else 1, count).astype(float)
    if kind == "outlier":
        steps[random.integers(count)] *= 1e5
    return (offset + steps * step).tolist()
