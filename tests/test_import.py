"""Importing windrow is cheap: it loads no backend and takes little time."""

from __future__ import annotations

import json
import subprocess
import sys

import windrow

BACKENDS = [
    "numba",
    "llvmlite",
    "pyspark",
    "pandas",
    "polars",
    "duckdb",
    "redis",
    "rocksdict",
    "pyarrow",
    "datasketches",
]

PROBE = """
import json, sys, time
start = time.process_time()
import windrow
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


def import_in_fresh_process() -> dict:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_loads_no_backend():
    loaded = {name.partition(".")[0] for name in import_in_fresh_process()["modules"]}
    assert loaded.isdisjoint(BACKENDS), f"import windrow loaded {sorted(loaded.intersection(BACKENDS))}"


def test_import_takes_under_150_ms_of_the_processor():
    best = min(import_in_fresh_process()["seconds"] for _ in range(5))
    assert best < 0.150, f"import windrow took {best * 1000:.0f} ms at best"


def test_every_public_name_resolves():
    missing = [name for name in windrow.__all__ if not hasattr(windrow, name)]
    assert missing == []
    assert len(set(windrow.__all__)) == len(windrow.__all__)
