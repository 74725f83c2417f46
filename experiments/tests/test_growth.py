"""Fits by least squares, and the verdict on how a cost grows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from windrow_experiments.growth import GROWTHS, fit, growth_of

SIZES = [2**k for k in range(3, 13)]
COSTS: dict[str, Callable[[float], float]] = {
    "constant": lambda n: 7.0,
    "logarithmic": lambda n: 2.0 + 1.5 * math.log2(n),
    "linear": lambda n: 3.0 + 0.25 * n,
}


def points(cost: Callable[[float], float]) -> list[tuple[float, float]]:
    return [(n, cost(n)) for n in SIZES]


@pytest.mark.parametrize("growth", COSTS)
def test_each_growth_is_told_from_the_others(growth: str) -> None:
    found = growth_of(points(COSTS[growth]))
    assert found.growth == growth
    assert found.misfit < 1e-9
    assert found.at(4096) == pytest.approx(COSTS[growth](4096))


@pytest.mark.parametrize("growth", COSTS)
def test_noise_does_not_change_the_verdict(growth: str) -> None:
    draw = np.random.default_rng(5)
    noisy = [(n, cost * draw.uniform(0.97, 1.03)) for n, cost in points(COSTS[growth])]
    assert growth_of(noisy).growth == growth


@pytest.mark.parametrize("growth", ["logarithmic", "linear"])
def test_fits_are_those_of_least_squares(growth: str) -> None:
    draw = np.random.default_rng(6)
    data = [(float(n), float(draw.uniform(1, 9))) for n in SIZES]
    xs = np.array([GROWTHS[growth](n) for n, _ in data])
    slope, base = np.polyfit(xs, [cost for _, cost in data], 1)
    found = fit(data, growth)
    assert (found.slope, found.base) == (pytest.approx(slope), pytest.approx(base))


def test_growth_in_between_is_not_called_constant() -> None:
    assert growth_of(points(lambda n: math.sqrt(n))).growth != "constant"
    assert growth_of(points(lambda n: 100 + math.log2(n)), small=0.01).growth == "logarithmic"


def test_a_cost_that_falls_does_not_grow() -> None:
    assert growth_of(points(lambda n: 1 + 500 / n)).growth == "constant"


def test_two_sizes_tell_nothing() -> None:
    with pytest.raises(ValueError, match="at least 3 sizes"):
        fit([(8, 1.0), (16, 2.0), (16, 2.5)], "linear")
