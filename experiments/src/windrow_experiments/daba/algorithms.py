"""The algorithms of [DABA] section 5 by the names of its tables, and what is shared between experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import windrow as wr
from windrow_experiments.measure import round_counts

__all__ = ["FOUR", "NATIVE", "SIX", "mean_and_worst", "span"]

#: table 2
FOUR: dict[str, Any] = {
    "Two-Stacks": wr.swag.TwoStacks,
    "FOA": wr.swag.FOA,
    "IOA": wr.swag.IOA,
    "DABA": wr.swag.DABA,
}
#: figure 13, bottom
SIX: dict[str, Any] = {**FOUR, "Reactive": wr.swag.FlatFAT, "Recalc": wr.swag.Recalc}
#: those with native code
NATIVE: dict[str, Any] = {name: SIX[name] for name in ("Two-Stacks", "DABA", "Reactive", "Recalc")}


def mean_and_worst(algorithm: Callable[[Any], Any], size: int) -> tuple[float, int]:
    """Combines of a round, over two turnovers of the window at least."""
    counts = round_counts(algorithm, size, max(2 * size, 16))
    return sum(counts) / len(counts), max(counts)


def span(values: Sequence[float]) -> str:
    """The least and the largest, to two digits.

    >>> span([1.234, 17.8, 3]), span([1.5]), span([99.9, 16_380.2])
    ('1.2 to 18', '1.5', '100 to 16,380')
    """
    low, high = (f"{value:,.0f}" if value >= 9.5 else f"{value:.2g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
