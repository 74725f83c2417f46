"""What experiments and benchmarks measure with: combines, least times, and the machine they ran on.

Counts of combines do not depend on the machine, and so are what the papers' bounds are tested on; times are
the least of several interleaved runs.
"""

from __future__ import annotations

import operator
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.own import monoid

# What is measured is native code, also where so few rows would be interpreted.
os.environ.setdefault("WINDROW_COMPILE", "always")

__all__ = ["Counter", "least_seconds", "machine", "power", "resident_bytes", "round_counts"]


class Counter:
    """A sum, or another aggregate, that counts its combines.

    >>> import windrow as wr
    >>> counter = Counter()
    >>> window = wr.swag.Recalc(counter.monoid)
    >>> [counter.cost(window.insert, value) for value in (1, 2, 3)], counter.cost(window.query)
    ([0, 0, 0], 3)
    """

    def __init__(self, of: Monoid | None = None) -> None:
        """``of``: count the combines of this aggregate instead, in plain Python."""
        base = of or monoid(name="counted", lift=int, combine=operator.add, identity=0)
        combine = base.combine
        self.combines = 0

        def counted(a: Any, b: Any) -> Any:
            self.combines += 1
            return combine(a, b)

        self.monoid = replace(base, combine=counted, compiles_for="", group=None, wide=None)

    def cost(self, operation: Callable[..., Any], *arguments: Any) -> int:
        """The combines of one call."""
        before = self.combines
        operation(*arguments)
        return self.combines - before


def round_counts(algorithm: Callable[[Any], Any], size: int, rounds: int) -> list[int]:
    """The combines of each round (evict, insert, query) of a window that holds ``size`` values.

    >>> import windrow as wr
    >>> round_counts(wr.swag.Recalc, 8, 3)
    [8, 8, 8]
    """
    counter = Counter()
    window = algorithm(counter.monoid)
    for value in range(size):
        window.insert(value)
    window.query()  # what an algorithm puts off until it is asked belongs to the filling
    found = []
    for value in range(rounds):
        before = counter.combines
        window.evict()
        window.insert(value)
        window.query()
        found.append(counter.combines - before)
    return found


def least_seconds(runs: Sequence[Callable[[], Any]], repeats: int, patience: float = 0.0) -> list[float]:
    """The shortest time of each run: all in turn, ``repeats`` times and for at least ``patience`` seconds, so
    that a disturbance meets none of them alone."""
    best = [float("inf")] * len(runs)
    done = 0
    started = time.perf_counter()
    while done < repeats or time.perf_counter() - started < patience:
        for which, run in enumerate(runs):
            begun = time.perf_counter()
            run()
            best[which] = min(best[which], time.perf_counter() - begun)
        done += 1
    return best


def machine() -> dict[str, str]:
    """The processor and the versions that decide the figures."""
    return {
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count()),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{package: version(package) for package in ("windrow", "numpy", "numba", "llvmlite")},
    }


def _cpu_model() -> str:
    known = Path("/proc/cpuinfo")
    for line in known.read_text().splitlines() if known.exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def resident_bytes() -> int:
    """The resident memory of this process, from Linux's /proc."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def power(n: int) -> str:
    """A power of two as text.

    >>> power(1024), power(1000)
    ('2^10', '1,000')
    """
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"
