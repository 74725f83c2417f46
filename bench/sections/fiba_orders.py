"""FiBA's ``roll_unordered`` on rows in order and out of it, against C++.

Each row comes with a delay, evenly spread, so that rows arrive ``distance`` places out of order on average;
the window is of the last n moments, one row each. All sides take the same rows, part by part in turn, and
results are compared. The C++ library has nodes of 2, 4 or 8 children at least; the fastest of them counts.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import Settings, heading, machine, power, progress, table, verdict

import windrow as wr

__all__ = ["measure", "show"]

GOAL = 1.0
SIZES = (1 << 4, 1 << 7, 1 << 10, 1 << 14, 1 << 17, 1 << 20)
DISTANCES = (0, 64, 4096)
ARITIES = (2, 4, 8)
PEERS = ("TwoStacksLite", "DABALite")

_FOLDER = Path(__file__).parent.parent
_FLAGS = ("-std=gnu++17", "-O3", "-march=native", "-DNDEBUG", "-w", "-shared", "-fPIC")

_Side = Callable[[Any, Any], Any]


def measure(settings: Settings, reference: Path | None) -> dict[str, Any]:
    library = None if reference is None else ctypes.CDLL(str(_compiled(reference)))
    rows = []
    for distance in DISTANCES:
        for size in SIZES:
            if distance == 0 or size >= 4 * distance:
                progress(f"fiba: {power(size)} at distance {distance}")
                rows.append(_compare(size, distance, library, settings))
    return {"reference": reference is not None, "rows": rows}


def show(results: dict[str, Any]) -> None:
    heading(
        "FiBA: ns a row of insert, evict and query",
        f"goal: {GOAL} times C++ at most" if results["reference"] else "no C++: give --reference",
    )
    table(results["rows"], **dict.fromkeys(("windrow", "C++", *PEERS), ".0f"), distance=",", ratio=".2f")


def _compare(size: int, distance: int, library: Any, settings: Settings) -> dict[str, Any]:
    part, parts = settings.pick((1 << 18, 8), (1 << 16, 4))
    times = rows_out_of_order(size + distance * 6 + part * (parts + 1), distance)
    values = np.random.default_rng(1).random(len(times)) + 0.1
    sides = {"windrow": _windrow(size)}
    if library is not None:
        sides |= {f"C++ {arity}": _cpp(library, arity, size) for arity in ARITIES}
    if distance == 0:
        sides |= {name: _fifo(name, size) for name in PEERS}
    begun = len(times) - part * parts
    cuts = [0, *range(begun, len(times) + 1, part)]
    seconds = dict.fromkeys(sides, float("inf"))
    for k in range(len(cuts) - 1):
        found = {}
        for name, side in sides.items():
            started = time.process_time()
            found[name] = side(times[cuts[k] : cuts[k + 1]], values[cuts[k] : cuts[k + 1]])
            if k > 0:
                seconds[name] = min(seconds[name], time.process_time() - started)
        for name, results in found.items():
            assert np.allclose(results, found["windrow"]), f"{name} has other results than windrow"
    return _row(size, distance, {name: taken / part * 1e9 for name, taken in seconds.items()})


def _row(size: int, distance: int, found: dict[str, float]) -> dict[str, Any]:
    cpp = [found[f"C++ {arity}"] for arity in ARITIES if f"C++ {arity}" in found]
    ratio = found["windrow"] / min(cpp) if cpp else None
    return {
        "distance": distance,
        "n": power(size),
        "windrow": found["windrow"],
        "C++": min(cpp, default=None),
        "ratio": ratio,
        "verdict": "" if ratio is None else verdict(ratio <= GOAL),
        **{name: found.get(name) for name in PEERS},
    }


def rows_out_of_order(count: int, distance: int) -> np.ndarray[Any, Any]:
    """The moments 0, 1, 2, ... in the order in which they arrive. A row that is u late finds u^2 / 12 d later
    ones there on average; with delays below 6 d that is d."""
    delays = np.random.default_rng(2).random(count) * 6 * distance
    return np.argsort(np.arange(count) + delays, kind="stable")


def _windrow(size: int) -> _Side:
    return functools.partial(wr.swag.FiBA(wr.sum).roll_unordered, size=size)


def _fifo(name: str, size: int) -> _Side:
    window = getattr(wr.swag, name)(wr.sum)
    return lambda times, values: window.roll(values, size=size)


def _cpp(library: Any, arity: int, size: int) -> _Side:
    make, roll = getattr(library, f"new_{arity}"), getattr(library, f"roll_{arity}")
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    make.restype, roll.argtypes = pointer, [pointer, pointer, pointer, integer, integer, pointer]
    window = make()

    def side(times: Any, values: Any) -> Any:
        out = np.empty(len(values))
        roll(window, times.ctypes.data, values.ctypes.data, len(values), size, out.ctypes.data)
        return out

    return side


def _compiled(reference: Path) -> Path:
    """The C++ side as a library, from an earlier run if there is one."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise SystemExit("--reference needs g++: install it, or name another compiler with CXX=...")
    if not (reference / "FiBA.hpp").exists():
        raise SystemExit(f"there is no FiBA.hpp in {reference}: --reference is the library's folder cpp/src")
    source = _FOLDER / "fiba_reference.cpp"
    key = "\n".join([machine()["cpu"], *_FLAGS, source.read_text(), (reference / "FiBA.hpp").read_text()])
    library = _FOLDER / "build" / f"fiba-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
    if not library.exists():
        progress(f"compiling {source.name} with {' '.join(_FLAGS)}")
        library.parent.mkdir(exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}.tmp")
        subprocess.run([compiler, *_FLAGS, f"-I{reference}", "-o", unfinished, source], check=True)
        unfinished.replace(library)
    return library
