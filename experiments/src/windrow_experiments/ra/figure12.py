"""[RA] figure 12: resident memory with RA and with ISS."""

from __future__ import annotations

import subprocess
import sys

from windrow_experiments.growth import Fit, fit
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table

__all__ = ["run"]

_SIZES = [1 << k for k in (0, 4, 8, 10, 12)]
_QUICK_SIZES = [1, 4096]
#: beyond the paper's, to see the slope
_LARGE = [1 << k for k in (18, 20, 22)]
_LARGE_QUICK = [1 << 21]
_KINDS = {"RA": "FlatFAT", "ISS": "Recalc"}
#: bytes of a partial of StdDev: a count, a mean, a sum of squares
_PARTIAL = 24
Memory = dict[str, dict[int, float]]

HOW = (
    "Each figure is the largest resident memory of a fresh Python process that takes values through one "
    "window of StdDev in native code. RA beyond 4K values, too, where ISS would take too long, as in the "
    "paper."
)


def run(settings: Settings) -> Result:
    memory: Memory = {name: {} for name in _KINDS}
    for kind in _KINDS.values():
        _megabytes(kind, 1)  # compiles, which takes memory, for all that follow
    for size in [*settings.pick(_SIZES, _QUICK_SIZES), *settings.pick(_LARGE, _LARGE_QUICK)]:
        for name, kind in _KINDS.items():
            if name == "RA" or size <= 4096:
                settings.progress(f"{name}, window of {size:,}")
                memory[name][size] = _megabytes(kind, size)
    grown = fit([(float(n), mb) for n, mb in memory["RA"].items()], "linear")
    lines = [Series(name, [(float(n), mb) for n, mb in of.items()]) for name, of in memory.items()]
    chart = Chart("Resident memory", "window size", "MB", lines, log_x=True)
    rows: list[list[Cell]] = [[n, mb, memory["ISS"].get(n)] for n, mb in memory["RA"].items()]
    return Result([Table("MB", ["Window", *_KINDS], rows)], [chart], _findings(memory, grown), HOW)


def _megabytes(kind: str, size: int) -> float:
    command = [sys.executable, "-m", "windrow_experiments.ra.resident", kind, "stddev", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e3


def _findings(memory: Memory, grown: Fit) -> list[Finding]:
    small = {name: [mb for n, mb in of.items() if n <= 4096] for name, of in memory.items()}
    base = min(small["RA"])
    apart = max(abs(a - b) for a, b in zip(small["RA"], small["ISS"], strict=True))
    return [
        Finding.judged(
            "Up to 4K values the window matters little beside the process around it.",
            max(small["RA"]) < 1.1 * base and apart < 0.1 * base,
            f"RA {base:,.0f} to {max(small['RA']):,.0f} MB; RA and ISS differ by at most {apart:,.1f} MB",
            "What else the process loads differs from run to run.",
        ),
        Finding.judged(
            "Beyond, RA takes linear space with a small constant.",
            grown.misfit < 0.1 and grown.slope * 1e6 < 4 * _PARTIAL,
            f"{grown.slope * 1e6:,.0f} bytes per value, of which {2 * _PARTIAL} are the tree's two partials "
            f"(misfit {grown.misfit:.1%})",
            "The tree takes two partials a value; the rest is the batch and its results, and a copy while "
            "the tree is made.",
        ),
    ]
