"""The families, by what an aggregate states as ``keeps``: the one table of them."""

from __future__ import annotations

from typing import Any

from windrow.monoids.base import Monoid
from windrow.partials.value_aggregates.base import Family
from windrow.partials.value_aggregates.counters import Counters
from windrow.partials.value_aggregates.distinct import Counted, Distinct
from windrow.partials.value_aggregates.extremes import Extremes
from windrow.partials.value_aggregates.lists import Joined, Listed
from windrow.partials.value_aggregates.mode import MostFrequent
from windrow.partials.value_aggregates.ranks import Ranks
from windrow.partials.value_aggregates.sketches import Bits, Registers

__all__ = ["FAMILIES", "Family", "family_of"]

FAMILIES: dict[str, Family] = {
    "list": Listed(),
    "first values": Listed("first"),
    "last values": Listed("last"),
    "largest values": Extremes(largest=True),
    "smallest values": Extremes(largest=False),
    "most frequent": MostFrequent(),
    "text": Joined(),
    "ranks": Ranks(),
    "distinct": Distinct(),
    "distinct count": Counted(),
    "registers": Registers(),
    "bits": Bits(),
    "counters": Counters(),
}


def family_of(monoid: Monoid, kind: Any) -> Family | None:
    """How an aggregate keeps the values of a column of this Arrow type; None: it does not, or not natively.

    >>> import pyarrow as pa, windrow as wr
    >>> family_of(wr.sum, pa.int64()) is None, family_of(wr.median, pa.int64()) is None
    (True, False)
    """
    if monoid.keeps is None:
        return None
    family = FAMILIES[monoid.keeps]
    return family if family.takes(monoid, kind) else None
