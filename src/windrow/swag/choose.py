"""Which algorithm for which window, with reasons: what engines ask, and what ``explain`` prints.

The order of the questions is that of what an algorithm cannot do: rows out of order rule out everything but
FiBA, bulk eviction and stores everything but [MTA]'s trees; windows that do not overlap need no more than a
fold, and windows in any order need a tree; what is left is a choice between throughput and the worst case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from windrow.monoids.base import Monoid, as_monoid
from windrow.swag.amta import AMTA
from windrow.swag.base import Swag
from windrow.swag.daba_lite import DABALite
from windrow.swag.fiba import FiBA
from windrow.swag.flat_fat import FlatFAT
from windrow.swag.recalc import Recalc
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
    ranges: Literal["sliding", "disjoint", "any"] = "sliding",
    stored: bool = False,
    lives: bool = False,
) -> Choice:
    """Pick an algorithm.

    ``in_order``: values come and go first in, first out. ``bulk``: many values leave at once, in less time
    than one by one (slide policies, time windows after a pause). ``latency="worst-case"`` (or True): no
    single operation may be slow. ``ranges``: how windows follow each other: neither end ever goes back
    (``"sliding"``), no value is in two (``"disjoint"``), or as they come (``"any"``), over values that are
    all known. ``stored``: the window is kept in a store. ``lives``: the window stays from push to push,
    however few rows each brings, and several frames ask it.

    >>> import windrow as wr
    >>> print(wr.swag.choose(wr.max))
    TwoStacksLite: amortised constant time, the highest throughput; any associative aggregate
    >>> wr.swag.choose(wr.max, latency="worst-case").name
    'DABALite'
    >>> wr.swag.choose(wr.max, lives=True).name
    'FlatFAT'
    >>> print(wr.swag.choose(wr.max, ranges="disjoint"))
    Recalc: windows do not overlap, so each is folded once; 1 combine per value
    """
    _check(in_order, latency, ranges, stored)
    what = as_monoid(monoid)
    if not in_order:
        return Choice(
            FiBA, ("values may arrive out of order: O(log d) for d places back", "bulk eviction is O(log m)")
        )
    if lives and not (bulk or stored):
        return Choice(FlatFAT, (_LIVES, "any range of rows is at most 2 log2(n) combines"))
    if bulk or stored:
        return Choice(AMTA, (_IN_STORE if stored else _AT_ONCE, "amortised constant otherwise"))
    if ranges == "disjoint":
        return Choice(Recalc, ("windows do not overlap, so each is folded once", "1 combine per value"))
    if ranges == "any":
        return Choice(FlatFAT, ("windows come in any order: a tree answers each in O(log n) combines",))
    if _exactly_invertible(what):
        return Choice(
            SubtractOnEvict,
            ("its inverse is exact, so the oldest value is subtracted", "1 combine per change, O(1)"),
        )
    if latency in ("worst-case", True):
        return Choice(
            DABALite, ("constant time in the worst case: at most 3 combines per operation", _why_not(what))
        )
    return Choice(TwoStacksLite, ("amortised constant time, the highest throughput", _why_not(what)))


_LIVES = "the window stays between pushes: a row is a leaf, 1 combine amortised and log2(n) at most"
_AT_ONCE = "many values leave at once: bulk eviction is O(log n)"
_IN_STORE = "kept in a store: O(log n) of the window is in memory, and bulk eviction is O(log n)"


def _check(in_order: bool, latency: Any, ranges: Any, stored: bool) -> None:
    if latency not in ("throughput", "worst-case", True, False):
        raise ValueError(f"latency={latency!r}: use 'throughput' or 'worst-case'")
    if ranges not in ("sliding", "disjoint", "any"):
        raise ValueError(f"ranges={ranges!r}: use 'sliding', 'disjoint' or 'any'")
    if stored and not in_order:
        raise ValueError("stored=True, in_order=False: a window in a store takes values in order: sort them")


def _exactly_invertible(monoid: Monoid) -> bool:
    """An inverse of windrow's own on the plain partial is exact (count); a user's is not known to be."""
    return monoid.builtin and monoid.inverse is not None


def _why_not(monoid: Monoid) -> str:
    if monoid.group is not None:
        return "subtracting floats would need compensation: not asked for"
    return "any associative aggregate"
