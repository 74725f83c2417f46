"""Memory: the resident memory of the process while batches go through a window, round after round."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Settings, heading, power, progress, table, verdict

import windrow as wr
from windrow_experiments.measure import resident_bytes

__all__ = ["measure", "show"]

SIZE = 1 << 14
#: growth that counts as none, in MiB
_FLAT = 1.0
_BATCH = 1_000_000


def measure(settings: Settings) -> dict[str, Any]:
    rows = []
    for algorithm in ("DABALite", "TwoStacksLite"):
        rounds = settings.pick(10**8, 10**7)
        progress(f"memory: {algorithm}, {rounds:,} rounds")
        rows.append({"algorithm": algorithm, "monoid": "sum", "n": power(SIZE), **_growth(algorithm, rounds)})
    return {"rows": rows}


def _growth(algorithm: str, rounds: int) -> dict[str, Any]:
    values = np.random.default_rng(5).random(_BATCH)
    window = getattr(wr.swag, algorithm)(wr.sum)
    for _ in range(3):  # until the kernel is loaded and the allocator has settled
        window.roll(values, SIZE)
    sizes = [resident_bytes() / 2**20]
    for _ in range(rounds // _BATCH):
        window.roll(values, SIZE)
        sizes.append(resident_bytes() / 2**20)
    return {
        "rounds": rounds,
        "first MiB": sizes[0],
        "last MiB": sizes[-1],
        "max MiB": max(sizes),
        "verdict": verdict(sizes[-1] - sizes[0] <= _FLAT),
    }


def show(result: dict[str, Any]) -> None:
    heading("memory: resident memory over many rounds of roll, a new result array each", "goal: flat")
    table(result["rows"], rounds=",d", **dict.fromkeys(("first MiB", "last MiB", "max MiB"), ",.1f"))
