"""Spark Connect: ``session_cases.py`` passes on a session of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "session_cases.py"
ROOT = CASES.parents[3]


@pytest.fixture
def environment() -> dict[str, str]:
    """Without what another session of this process has left behind."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    return kept | {"WINDROW_SESSION": "remote"}


def test_everything_works_on_spark_connect(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not compat", str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-20_000:]
