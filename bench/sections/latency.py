"""Latency: the cycles of each single round, denoised.

Measured as the experiments of the papers are: :mod:`windrow_experiments.cycles`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Settings, heading, power, progress, table, verdict

import windrow as wr
from windrow_experiments.cycles import native_latency, reading_cost

__all__ = ["measure", "show"]

ALGORITHMS = ("TwoStacksLite", "TwoStacks", "DABALite", "DABA")
MONOIDS = {"max": wr.max, "sum": wr.sum}
GOAL = 50.0
_GOAL_SIZE = 1 << 20


def measure(settings: Settings) -> dict[str, Any]:
    rows = []
    for size in settings.pick((1 << 14, 1 << 20), (1 << 14,)):
        for name in MONOIDS:
            for algorithm in ALGORITHMS:
                progress(f"latency: {algorithm} {name} {power(size)}")
                rows.append(_latency(algorithm, name, size, settings.pick(9, 5)))
    return {"rounds": rows, "counter": reading_cost()}


def _latency(algorithm: str, name: str, size: int, repeats: int) -> dict[str, Any]:
    rounds = max(1_000_000, 2 * size + 1000)
    values = np.random.default_rng(3).random(size + rounds)
    latency = native_latency(getattr(wr.swag, algorithm), MONOIDS[name], (values,), size, repeats)
    assert latency is not None
    mean, worst = latency.mean, latency.worst
    wanted = algorithm == "DABALite" and size == _GOAL_SIZE
    return {
        "algorithm": algorithm,
        "monoid": name,
        "n": power(size),
        "rounds": rounds,
        "mean": mean,
        "std": latency.std,
        "p99.999": float(np.percentile(latency.rounds, 99.999)),
        "max": worst,
        "max/mean": worst / mean,
        "verdict": verdict(worst / mean <= GOAL) if wanted else "",
    }


def show(result: dict[str, Any]) -> None:
    heading(
        "latency: cycles of a round (evict, insert, query), each the least of repeated runs",
        f"reading the counter takes about {result['counter']:.0f} cycles of each; "
        f"goal: DABALite at {power(_GOAL_SIZE)} never above {GOAL:.0f} times its mean",
    )
    formats = {"mean": ".1f", "std": ".1f", "p99.999": ",.0f", "max": ",d", "max/mean": ",.1f"}
    table(result["rounds"], rounds=",d", **formats)
