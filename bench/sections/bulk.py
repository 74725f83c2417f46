"""Bulk eviction: ``evict_many(b)`` against b single evictions of the same window, with the query after it.

The query is part of both, since a tree may leave work to the query that follows. After each measurement the
window is filled up again.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any

from common import Settings, heading, power, progress, table, verdict

import windrow as wr

__all__ = ["measure", "show"]

GOAL = 1000.0
_GOAL_BATCH = 1 << 18
_REPEATS = 5


def measure(settings: Settings) -> dict[str, Any]:
    size, largest = settings.pick((1 << 20, 18), (1 << 17, 15))
    rows = []
    for algorithm in ("AMTA", "LogMTA"):
        progress(f"bulk: filling {algorithm} with {power(size)} values")
        bench = _Window(getattr(wr.swag, algorithm)(wr.sum), size)
        for count in [1, *(1 << k for k in range(4, largest + 1, 2))]:
            progress(f"bulk: {algorithm} evict_many({power(count)})")
            rows.append({"algorithm": algorithm, **_compare(bench, count)})
    return {"size": size, "rows": rows}


def _compare(bench: _Window, count: int) -> dict[str, Any]:
    window = bench.window

    def one_by_one() -> None:
        for _ in range(count):
            window.evict()

    bulk = functools.partial(window.evict_many, count)
    bulk_seconds = min(bench.seconds(bulk) for _ in range(_REPEATS))
    single_seconds = min(bench.seconds(one_by_one) for _ in range(_REPEATS if count < 1 << 14 else 1))
    ratio = single_seconds / bulk_seconds
    return {
        "evicted": power(count),
        "bulk us": bulk_seconds * 1e6,
        "single us": single_seconds * 1e6,
        "times faster": ratio,
        "combines bulk": bench.combines(bulk),
        "combines single": bench.combines(one_by_one),
        "verdict": verdict(ratio >= GOAL)
        if count == _GOAL_BATCH and isinstance(window, wr.swag.AMTA)
        else "",
    }


class _Window:
    """A window that is filled up to its size again after each eviction."""

    def __init__(self, window: Any, size: int) -> None:
        self.window = window
        self.size = size
        self._plain = window.monoid
        self._counting = dataclasses.replace(self._plain, combine=self._count)
        self._combines = 0
        self._fill()

    def seconds(self, evict: Callable[[], Any]) -> float:
        """What an eviction and the query after it take."""
        begun = time.perf_counter()
        evict()
        self.window.query()
        taken = time.perf_counter() - begun
        self._fill()
        return taken

    def combines(self, evict: Callable[[], Any]) -> int:
        """What they cost in combines."""
        self.window.monoid, self._combines = self._counting, 0
        evict()
        self.window.query()
        self.window.monoid = self._plain
        self._fill()
        return self._combines

    def _count(self, a: Any, b: Any) -> Any:
        self._combines += 1
        return self._plain.combine(a, b)

    def _fill(self) -> None:
        insert = self.window.insert
        for value in range(self.size - len(self.window)):
            insert(value)
        self.window.query()


def show(result: dict[str, Any]) -> None:
    heading(
        f"bulk: evicting b of {power(result['size'])} values at once and one by one, and the query after it",
        f"goal: {power(_GOAL_BATCH)} of 2^20 at least {GOAL:,.0f} times faster with AMTA",
    )
    numbers = {"bulk us": ",.1f", "single us": ",.1f", "times faster": ",.1f"}
    table(result["rows"], **numbers, **{"combines bulk": ",d", "combines single": ",d"})
