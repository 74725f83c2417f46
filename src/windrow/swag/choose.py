"""Which algorithm for which window, with reasons.

The order of the questions is that of what an algorithm cannot do: rows out of order rule out everything but
FiBA, bulk eviction everything but the trees; what is left is a choice between throughput and the worst case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from windrow.monoids.base import Monoid, as_monoid
from windrow.swag.amta import AMTA
from windrow.swag.base import Swag
from windrow.swag.daba_lite import DABALite
from windrow.swag.fiba import FiBA
from windrow.swag.subtract_on_evict import SubtractOnEvict
from windrow.swag.two_stacks_lite import TwoStacksLite

__all__ = ["Choice", "choose"]


@dataclass(frozen=True, slots=True)
class Choice:
    """An algorithm and why; calling it makes a window."""

    algorithm: type[Swag]
    reasons: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.algorithm.__name__

    @property
    def why(self) -> str:
        return "; ".join(self.reasons)

    def __call__(self, monoid: Any) -> Swag:
        return self.algorithm(monoid)

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def choose(
    monoid: Any,
    *,
    in_order: bool = True,
    bulk: bool = False,
    latency: Literal["throughput", "worst-case"] | bool = "throughput",
) -> Choice:
    """Pick an algorithm.

    ``in_order``: values come and go first in, first out. ``bulk``: many values leave at once (time windows
    over irregular arrivals, slide policies). ``latency="worst-case"`` (or True): no single operation may be
    slow.

    >>> import windrow as wr
    >>> print(wr.swag.choose(wr.max))
    TwoStacksLite: amortised constant time, the highest throughput; any associative aggregate
    >>> wr.swag.choose(wr.max, latency="worst-case").name
    'DABALite'
    """
    if latency not in ("throughput", "worst-case", True, False):
        raise ValueError(f"latency={latency!r}: use 'throughput' or 'worst-case'")
    what = as_monoid(monoid)
    if not in_order:
        return Choice(
            FiBA, ("values may arrive out of order: O(log d) for d places back", "bulk eviction is O(log m)")
        )
    if bulk:
        return Choice(
            AMTA, ("many values leave at once: bulk eviction is O(log n)", "amortised constant otherwise")
        )
    if _exactly_invertible(what):
        return Choice(
            SubtractOnEvict,
            ("its inverse is exact, so the oldest value is subtracted", "1 combine a change, O(1)"),
        )
    if latency in ("worst-case", True):
        return Choice(
            DABALite, ("constant time in the worst case: at most 3 combines an operation", _why_not(what))
        )
    return Choice(TwoStacksLite, ("amortised constant time, the highest throughput", _why_not(what)))


def _exactly_invertible(monoid: Monoid) -> bool:
    """An inverse of windrow's own on the plain partial is exact (count); a user's is not known to be."""
    return monoid.builtin and monoid.inverse is not None


def _why_not(monoid: Monoid) -> str:
    if monoid.group is not None:
        return "subtracting floats would need compensation: not asked for"
    return "any associative aggregate"
