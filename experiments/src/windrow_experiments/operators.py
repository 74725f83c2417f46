"""The aggregation operators of the papers, and inputs for them.

Inputs are positive 32-bit integers, or 64-bit floats where a paper says so, the same for every algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import windrow as wr
from windrow.monoids.base import Monoid

if TYPE_CHECKING:
    import numpy as np

__all__ = ["BLOOM", "COLLECT", "COUNT", "DABA_OPERATORS", "GEO_MEAN", "MAX", "STD_DEV", "SUM", "Operator"]

_LARGEST = 1_000_000


@dataclass(frozen=True)
class Operator:
    """An operator by its name in the papers."""

    name: str
    monoid: Monoid
    inputs: int = 1
    dtype: str = "i4"

    def columns(self, count: int, seed: int) -> tuple[np.ndarray[Any, Any], ...]:
        """Columns for batches."""
        import numpy as np

        draw = np.random.default_rng(seed)
        return tuple(draw.integers(1, _LARGEST, count).astype(self.dtype) for _ in range(self.inputs))

    def batch(self, count: int, seed: int) -> Any:
        """What ``roll`` takes: a column, or a tuple of them."""
        columns = self.columns(count, seed)
        return columns[0] if self.inputs == 1 else columns

    def rows(self, count: int, seed: int) -> list[tuple[Any, ...]]:
        """The same values as Python's numbers: the arguments of ``insert``, one tuple a row."""
        return list(zip(*(column.tolist() for column in self.columns(count, seed)), strict=True))


COUNT = Operator("Count", wr.count)
SUM = Operator("Sum", wr.sum)
MAX = Operator("Max", wr.max)
STD_DEV = Operator("StdDev", wr.stddev)
GEO_MEAN = Operator("GeoMean", wr.geo_mean)
BLOOM = Operator("Bloom", wr.bloom)
COLLECT = Operator("Collect", wr.collect)

#: those of [DABA] tables 2 and 3, in their order, from cheap to expensive
DABA_OPERATORS = (
    SUM,
    MAX,
    Operator("ArgMax", wr.arg_max, inputs=2),
    Operator("MinCount", wr.min_count),
    Operator("ArithMean", wr.mean),
    STD_DEV,
    GEO_MEAN,
    BLOOM,
)
