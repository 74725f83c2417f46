"""What the sections of a benchmark share: timing, tables, progress, and the machine it ran on."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["Settings", "heading", "interleaved", "machine", "power", "progress", "table", "verdict"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    quick: bool = False
    large: bool = False

    def pick(self, full: Any, quick: Any) -> Any:
        return quick if self.quick else full


def machine() -> dict[str, str]:
    """The processor and the versions that decide the figures."""
    return {
        "cpu": _cpu_model(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{package: version(package) for package in ("windrow", "numpy", "numba", "llvmlite")},
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def interleaved(runs: Sequence[Callable[[], Any]], repeats: int, patience: float) -> list[float]:
    """The shortest time of each run, in seconds: all in turn, ``repeats`` times and for at least
    ``patience`` seconds, so that a disturbance meets none of them alone."""
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


def verdict(reached: bool) -> str:
    return "ok" if reached else "MISS"


def power(n: int) -> str:
    """A power of two as text.

    >>> power(1024), power(1000)
    ('2^10', '1,000')
    """
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"


def progress(what: str) -> None:
    print(f"... {what}", file=sys.stderr, flush=True)


def heading(title: str, *remarks: str) -> None:
    print(f"\n== {title}")
    for remark in remarks:
        print(f"   {remark}")


def table(rows: Iterable[Row], **formats: str) -> None:
    """Print rows under their keys; ``formats`` has a format specification for columns of numbers."""
    cells = [{name: _cell(value, formats.get(name, "")) for name, value in row.items()} for row in rows]
    if not cells:
        return
    names = list(cells[0])
    widths = {name: max(len(name), *(len(row[name]) for row in cells)) for name in names}
    numeric = {name for name in names if name in formats}
    for row in [{name: name for name in names}, *cells]:
        aligned = (
            row[name].rjust(widths[name]) if name in numeric else row[name].ljust(widths[name])
            for name in names
        )
        print("   " + "  ".join(aligned).rstrip())
    sys.stdout.flush()


def _cell(value: Any, specification: str) -> str:
    if value is None:
        return "-"
    return format(value, specification) if specification and not isinstance(value, str) else str(value)
