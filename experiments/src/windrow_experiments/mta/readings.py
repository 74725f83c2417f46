"""Two years of memory usage, one reading a second, as [MTA] experiment 3 has them: generated.

The paper's readings are of a machine and not published. These are per cent of a memory that fills by day and
empties by night, with a level that wanders within each day and is back at its end, and a little noise. A day
depends on its number and the seed alone, so that any part can be made by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

__all__ = ["DAY", "DAYS", "day", "days"]

DAY = 86_400
#: 62,208,000 readings
DAYS = 720

Floats = npt.NDArray[np.float64]


def day(number: int, seed: int) -> Floats:
    """The readings of a day.

    >>> readings = day(0, seed=7)
    >>> len(readings), bool((readings > 0).all() and (readings < 100).all())
    (86400, True)
    """
    rng = np.random.default_rng([seed, number])
    seconds = np.arange(DAY)
    steps = rng.normal(0, 0.01, DAY)
    wander = np.cumsum(steps - steps.mean())
    cycle = 15 * np.sin(2 * np.pi * seconds / DAY) + 3 * np.sin(2 * np.pi * number / 7)
    return np.clip(50 + cycle + wander + rng.normal(0, 0.2, DAY), 0.1, 99.9)


def days(first: int, count: int, seed: int) -> Iterator[Floats]:
    """Some days, one after the other."""
    return (day(number, seed) for number in range(first, first + count))
