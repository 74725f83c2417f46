"""The first result of a new process, with no compiled kernel on disk: a process for each figure.

    python bench/first.py [--quick] [--rows N] [--compiled]

Seconds from the end of ``import windrow`` to the first result, imports of what the query needs included, and
those of the second call; with ``--compiled``, also with WINDROW_COMPILE=always, which compiles first. Beside
them: to import windrow, and to import Numba, which few rows do not need.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from common import heading, machine, progress, table, verdict

AGGREGATES = {
    "count": "count()",
    "sum": "sum('x')",
    "mean": "mean('x')",
    "min": "min('x')",
    "max": "max('x')",
    "stddev": "stddev('x')",
    "first": "first('x')",
    "last": "last('x')",
    "median": "median('x')",
    "quantile": "quantile('x', 0.95)",
    "count_distinct": "count_distinct('x')",
}
WINDOWS = {
    "tumbling": "window(wr.Tumbling('1m'))",
    "sliding": "window(wr.Sliding('5m', slide='1m'))",
    "rolling": "rolling('5m')",
    "rolling rows": "rolling(rows=100)",
}
QUICK = ("sum", "stddev", "median")
#: seconds
GOAL = 1.0

PROCESS = """
import json, sys, time
began = time.perf_counter()
import windrow as wr
imported = time.perf_counter()
import numpy as np, pyarrow as pa
rows = {rows}
x = np.random.default_rng(1).random(rows).round(3)
keys = np.array(["ann", "bob", "cy"])[np.arange(rows) % 3]
data = pa.table({{"t": pa.array(np.arange(rows) * 1_000_000, pa.timestamp("us")), "k": keys, "x": x}})
wr.events(data, time="t", by="k").{window}.agg(found=wr.{aggregate})
first = time.perf_counter()
wr.events(data, time="t", by="k").{window}.agg(found=wr.{aggregate})
second = time.perf_counter()
print(json.dumps([imported - began, first - imported, second - first, "numba" in sys.modules]))
"""


def measured(code: str, compiled: bool = False) -> Any:
    """What a process prints that finds no kernels."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WINDROW_CACHE_DIR": folder}
        environment["WINDROW_COMPILE"] = "always" if compiled else "auto"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    return json.loads(done.stdout)


def figures(options: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    for aggregate in QUICK if options.quick else AGGREGATES:
        for window, made in WINDOWS.items():
            progress(f"{aggregate}, {window}")
            code = PROCESS.format(rows=options.rows, window=made, aggregate=AGGREGATES[aggregate])
            imported, first, second, numba = measured(code)
            row = {"aggregate": aggregate, "window": window, "import": imported, "first": first}
            row |= {"second": second, "numba": "loaded" if numba else "not loaded"}
            if options.compiled:
                row["compiled first"] = measured(code, compiled=True)[1]
            found.append(row | {"goal": verdict(first <= GOAL)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}")
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--compiled", action="store_true", help="also with all kernels compiled first")
    options = parser.parse_args()
    print(machine())
    numba = "import json, time; began = time.perf_counter(); import numba; print(time.perf_counter() - began)"
    measured(numba)  # bytecode and disk
    heading(f"first results, {options.rows:,} rows, in seconds", f"to import Numba: {measured(numba):.2f} s")
    formats = dict.fromkeys(("import", "first", "second", "compiled first"), ".3f")
    found = figures(options)
    table(found, **formats)
    print(f"   slowest: {max(row['first'] for row in found):.2f} s; goal: {GOAL:.0f} s")


if __name__ == "__main__":
    main()
