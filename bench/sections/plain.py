"""Plain Python: what a single operation costs on Python objects, for every algorithm.

Each operation is timed by itself in rounds of evict, insert and query on a window of n values; what reading
the clock takes is taken off. A block of n rounds has one flip of every kind, so its mean is the amortised
cost; the best block of several counts.
"""

from __future__ import annotations

import random
from time import perf_counter_ns
from typing import Any

from common import Settings, heading, progress, table, verdict

import windrow as wr

__all__ = ["measure", "show"]

SIZE = 1000
GOAL = 3.0
_OPERATIONS = ("insert", "evict", "query")


def measure(settings: Settings) -> dict[str, Any]:
    clock = _clock()
    rows = []
    for name, kind in _algorithms().items():
        progress(f"plain: {name}")
        monoid = wr.sum if kind.needs_inverse else wr.max
        costs = _costs(kind(monoid), settings.pick(15, 4), clock)
        reached = max(costs.values()) <= GOAL
        rows.append(
            {
                "algorithm": name,
                "monoid": monoid.name,
                **costs,
                "round": sum(costs.values()),
                "verdict": verdict(reached) if name == "DABA" else "",
            }
        )
    return {"rows": rows}


def _algorithms() -> dict[str, Any]:
    public = {name: getattr(wr.swag, name) for name in wr.swag.__all__}
    base = wr.swag.Swag
    return {n: k for n, k in public.items() if isinstance(k, type) and issubclass(k, base) and k is not base}


def _clock() -> float:
    """Nanoseconds that are measured when nothing is done."""
    taken = []
    for _ in range(10_000):
        begun = perf_counter_ns()
        taken.append(perf_counter_ns() - begun)
    return sorted(taken)[len(taken) // 2]


def _costs(window: Any, blocks: int, clock: float) -> dict[str, float]:
    """Microseconds of each operation."""
    values = random.Random(4).choices(range(1_000_000), k=SIZE)
    for value in values:
        window.insert(value)
    best = dict.fromkeys(_OPERATIONS, float("inf"))
    for _ in range(blocks):
        for operation, taken in zip(_OPERATIONS, _block(window, values), strict=True):
            best[operation] = min(best[operation], (taken / SIZE - clock) / 1e3)
    return best


def _block(window: Any, values: list[int]) -> tuple[int, int, int]:
    inserting = evicting = querying = 0
    insert, evict, query = window.insert, window.evict, window.query
    for value in values:
        begun = perf_counter_ns()
        evict()
        evicted = perf_counter_ns()
        insert(value)
        inserted = perf_counter_ns()
        query()
        done = perf_counter_ns()
        evicting += evicted - begun
        inserting += inserted - evicted
        querying += done - inserted
    return inserting, evicting, querying


def show(result: dict[str, Any]) -> None:
    heading(
        f"plain: microseconds of a single operation in plain Python, a window of {SIZE:,} ints",
        f"goal: DABA at most {GOAL:.0f} us each",
    )
    table(result["rows"], **dict.fromkeys((*_OPERATIONS, "round"), ".2f"))
