"""Start: how long a process takes from its start to its first result, with and without kernels on disk.

Each process is a fresh one and tells its times. The cold one has an empty cache folder and compiles what it
needs, the warm one finds it there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from common import Settings, heading, progress, table, verdict

__all__ = ["measure", "show"]

GOAL = 50.0
_CHILD = """
import json, os, sys, time
started = float(os.environ["STARTED"])
stages = {"python": time.time() - started}
import windrow as wr
stages["import windrow"] = time.time() - started
import numpy as np
import numba
stages["import numba"] = time.time() - started
values = np.arange(100.0)
wr.swag.TwoStacksLite(wr.count).roll(values, 10)
stages["first roll"] = time.time() - started
loads = {}
for algorithm in json.loads(os.environ["ALGORITHMS"]):
    for name in json.loads(os.environ["MONOIDS"]):
        monoid = getattr(wr, name)
        columns = (values, values) if monoid.arity[0] == 2 else values
        window = getattr(wr.swag, algorithm)(monoid)
        begun = time.perf_counter()
        window.roll(columns, 10)
        loads[f"{algorithm} {name}"] = time.perf_counter() - begun
json.dump({"stages": stages, "loads": loads}, sys.stdout)
"""


def measure(settings: Settings) -> dict[str, Any]:
    algorithms = settings.pick(
        ["TwoStacksLite", "DABALite", "DABA", "FlatFAT"], ["TwoStacksLite", "DABALite"]
    )
    monoids = settings.pick(
        ["sum", "max", "mean", "stddev", "geo_mean", "arg_max", "max_count", "approx_distinct"],
        ["sum", "stddev", "arg_max"],
    )
    with tempfile.TemporaryDirectory() as folder:
        progress("start: cold, compiling")
        cold = _process(folder, algorithms, monoids)
        progress("start: warm")
        runs = [_process(folder, algorithms, monoids) for _ in range(settings.pick(5, 2))]
    warm = {
        part: {name: min(run[part][name] for run in runs) for name in runs[0][part]}
        for part in ("stages", "loads")
    }
    return {"cold": cold, "warm": warm}


def _process(folder: str, algorithms: list[str], monoids: list[str]) -> Any:
    environment = {
        **os.environ,
        "WINDROW_CACHE_DIR": folder,
        "ALGORITHMS": json.dumps(algorithms),
        "MONOIDS": json.dumps(monoids),
        "STARTED": repr(time.time()),
    }
    command = [sys.executable, "-c", _CHILD]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)


def show(result: dict[str, Any]) -> None:
    cold, warm = result["cold"], result["warm"]
    heading(
        "start: milliseconds from the start of a process to ...",
        "cold: empty cache; warm: the best of several",
    )
    table(
        [
            {"until": stage, "cold ms": cold["stages"][stage] * 1e3, "warm ms": warm["stages"][stage] * 1e3}
            for stage in warm["stages"]
        ],
        **{"cold ms": ",.0f", "warm ms": ",.0f"},
    )
    heading(
        "start: milliseconds of the first roll of each further kernel, after Numba's start",
        f"goal: {GOAL:.0f} ms each from disk",
    )
    table(
        [
            {
                "kernel": name,
                "compile ms": cold["loads"][name] * 1e3,
                "load ms": seconds * 1e3,
                "verdict": verdict(seconds * 1e3 <= GOAL),
            }
            for name, seconds in warm["loads"].items()
        ],
        **{"compile ms": ",.0f", "load ms": ",.1f"},
    )
