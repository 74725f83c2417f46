"""Importing windrow is cheap: it loads no backend and few modules."""

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
]

PROBE = """
import json, sys
before = set(sys.modules)
import windrow
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def import_in_fresh_process() -> list[str]:
    """The modules that importing windrow loads."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_loads_no_backend():
    loaded = {name.partition(".")[0] for name in import_in_fresh_process()}
    assert loaded.isdisjoint(BACKENDS), f"import windrow loaded {sorted(loaded.intersection(BACKENDS))}"


def test_import_loads_few_modules():
    loaded = import_in_fresh_process()
    others = [name for name in loaded if name.partition(".")[0] != "windrow"]
    assert len(others) <= 60, f"import windrow loaded {others}"
    assert len(loaded) <= 160, f"import windrow loaded {len(loaded)} modules"


def test_every_public_name_resolves():
    missing = [name for name in windrow.__all__ if not hasattr(windrow, name)]
    assert missing == []
    assert len(set(windrow.__all__)) == len(windrow.__all__)
