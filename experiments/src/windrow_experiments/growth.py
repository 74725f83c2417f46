"""How costs grow with the size of a window, by least squares: constant, logarithmic or linear.

Each kind of growth f is fitted as cost = a + b f(n). Its *misfit* is the root mean square of what the fit
leaves over, as a share of the mean cost. The verdict is the simplest growth whose misfit is small: a cost
that does not grow is fitted by all three, with b = 0, and is constant. So is one that falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["GROWTHS", "Fit", "fit", "growth_of"]

#: from the simplest on
GROWTHS: dict[str, Callable[[float], float]] = {
    "constant": lambda n: 0.0,
    "logarithmic": lambda n: math.log2(n),
    "linear": lambda n: n,
}
_SMALL = 0.06


@dataclass(frozen=True)
class Fit:
    """cost = base + slope f(n), and the share of the mean cost by which that misses, on average."""

    growth: str
    base: float
    slope: float
    misfit: float

    def at(self, n: float) -> float:
        """The cost that the fit gives for a size."""
        return self.base + self.slope * GROWTHS[self.growth](n)

    def __str__(self) -> str:
        rise = {"constant": "", "logarithmic": " log2 n", "linear": " n"}[self.growth]
        sign = "-" if self.slope < 0 else "+"
        line = f"{self.base:.3g}" + (f" {sign} {abs(self.slope):.3g}{rise}" if rise else "")
        return f"{self.growth}: {line} (misfit {self.misfit:.1%})"


def fit(points: Sequence[tuple[float, float]], growth: str) -> Fit:
    """The least squares fit of a growth to points (size, cost).

    >>> print(fit([(1, 3.0), (2, 5.0), (4, 7.0)], "logarithmic"))
    logarithmic: 3 + 2 log2 n (misfit 0.0%)
    """
    if len({n for n, _ in points}) < 3:
        raise ValueError(f"{len(points)} points tell no growth: measure at least 3 sizes")
    xs = [GROWTHS[growth](n) for n, _ in points]
    ys = [cost for _, cost in points]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - x_mean) ** 2 for x in xs)
    together = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    slope = together / spread if spread else 0.0
    base = y_mean - slope * x_mean
    left = sum((y - base - slope * x) ** 2 for x, y in zip(xs, ys, strict=True)) / len(ys)
    misfit = math.sqrt(left) / abs(y_mean) if y_mean else math.sqrt(left)
    return Fit(growth, base, slope, misfit)


def growth_of(points: Sequence[tuple[float, float]], small: float = _SMALL) -> Fit:
    """The simplest growth that fits: its misfit is at most ``small``. Where none does, the one that fits
    best among those that rise.

    >>> growth_of([(n, 10 + 3 * n) for n in (16, 64, 256, 1024)]).growth
    'linear'
    >>> growth_of([(n, 7 + 1 / n) for n in (16, 64, 256, 1024)]).growth
    'constant'
    """
    constant, *others = [fit(points, growth) for growth in GROWTHS]
    rising = [found for found in others if found.slope > 0]
    if constant.misfit <= small or not rising:
        return constant
    fitting = [found for found in rising if found.misfit <= small]
    return fitting[0] if fitting else min(rising, key=lambda found: found.misfit)
