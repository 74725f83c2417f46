"""The windows that [MTA] compares: Naive, DABA, Log MTA and Amortized MTA, in memory and on stores.

All are fed one value at a time from Python, and all enforce the same window slide policy. DABA and Naive have
no bulk eviction: they add up the prefix that may go, one value after the other. (In [MTA] 5.1 they compare
single values with the whole; a policy then sees another prefix than in a tree, and may evict more.)
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from windrow.monoids.base import Monoid
from windrow.swag.amta import AMTA
from windrow.swag.daba import DABA
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import Policy
from windrow.swag.recalc import Recalc
from windrow_experiments.measure import Counter
from windrow_experiments.mta.stores import Places, ended

__all__ = [
    "HeadedDABA",
    "Make",
    "Measured",
    "Naive",
    "in_memory",
    "kinds",
    "measured",
    "no_collector",
    "stored",
]

#: makes a window for an aggregate
Make = Callable[[Monoid], Any]


class Naive(Recalc):
    """Folds the whole window for a result, and keeps it until something is evicted ([MTA] 5.1 and 5.2).

    >>> import windrow as wr
    >>> window = Naive(wr.sum)
    >>> for value in (1, 2, 3, 4):
    ...     window.insert(value)
    >>> window.evict_while(lambda total, old: total - old >= 7)
    2
    >>> window.query()
    7
    """

    def __init__(self, monoid: Any) -> None:
        super().__init__(monoid)
        self._known: Any = self.monoid.identity
        self._is_known = True

    def _insert(self, partial: Any) -> None:
        if self._is_known:
            self._known = self.monoid.combine(self._known, partial)
        super()._insert(partial)

    def _evict(self, count: int) -> None:
        super()._evict(count)
        self._is_known = False

    def _backup(self) -> dict[str, Any]:
        return {**super()._backup(), "_known": self._known, "_is_known": self._is_known}

    def _partial(self) -> Any:
        if not self._is_known:
            self._known = super()._partial()
            self._is_known = True
        return self._known


class HeadedDABA(DABA):
    """DABA with a slide policy, by which values are evicted one by one.

    >>> import windrow as wr
    >>> window = HeadedDABA(wr.sum)
    >>> for value in (1, 2, 3, 4):
    ...     window.insert(value)
    >>> window.evict_while(lambda total, old: total - old >= 7)
    2
    """

    def evict_while(self, policy: Policy) -> int:
        """Evict the longest prefix for which ``policy(total, old)`` holds; gives its length."""
        total = self._partial()
        old, count = None, 0
        while self._size:
            oldest = self._queue[2 * self._registers[0]]
            old = self.monoid.combine(old, oldest) if count else oldest
            if not policy(total, old):
                break
            self.evict()
            count += 1
        return count


def in_memory() -> dict[str, Make]:
    """The windows in memory, by the names of the paper."""
    return {"Naive": Naive, "DABA": HeadedDABA, "LMTA": LogMTA, "AMTA": AMTA}


def stored(where: Places, algorithm: type[LogMTA] | type[AMTA], kind: str) -> Make:
    """A window on a store of that kind, with the buffer and cache of [MTA] 5.1: 512 each."""

    def make(monoid: Monoid) -> Any:
        return algorithm.open(where.kinds()[kind](), where.fresh(), monoid)

    return make


def kinds(where: Places) -> dict[str, Make]:
    """All windows, those on stores as well."""
    found = in_memory()
    for kind in where.kinds():
        found[f"LMTA on {kind}"] = stored(where, LogMTA, kind)
        found[f"AMTA on {kind}"] = stored(where, AMTA, kind)
    return found


@dataclass(frozen=True)
class Measured:
    """What an update takes: nanoseconds and combines."""

    ns: float
    combines: float


@contextlib.contextmanager
def no_collector() -> Iterator[None]:
    """Windows hold no cycles: Python's collector would walk over millions of partials and free nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def measured(
    make: Make,
    monoid: Monoid,
    policy: Policy,
    fill: Iterable[tuple[Any, ...]],
    updates: Iterable[tuple[Any, ...]],
) -> Measured:
    """Fill a window, then insert updates, each followed by the policy and a query ([MTA] 5.4); the mean."""
    counter = Counter(monoid)
    window = make(counter.monoid)
    rows = list(updates)
    with no_collector():
        for row in fill:
            window.insert(*row)
        window.evict_while(policy)
        window.query()
        before = counter.combines
        begun = time.perf_counter_ns()
        for row in rows:
            window.insert(*row)
            window.evict_while(policy)
            window.query()
        took = time.perf_counter_ns() - begun
    ended(window)
    return Measured(took / len(rows), (counter.combines - before) / len(rows))
