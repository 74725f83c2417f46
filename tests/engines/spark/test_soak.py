"""A stream on Spark under a steady load, for seconds: nothing grows, and what it counts is what an operator
counts over the same rows. ``make soak`` does it for an hour, and ``make test-thorough`` for three minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import soak
from support.processes import environment_without_spark
from support.soak_stream import soak_stream


def test_memory_state_and_open_files_of_a_stream_stay_flat(spark: Any, tmp_path: Path) -> None:
    found = soak_stream(spark, str(tmp_path / "checkpoint"), seconds=8.0, rows=500, every=0.0, keys=20)
    assert found.growth() == []
    assert found.counts["rows_late"] > 0
    assert found.counts["rows_rejected"] > 0
    assert found.counts["windows_fired"] > 100


@pytest.mark.skipif(
    settings.get_current_profile_name() != "thorough", reason="three minutes long: make test-thorough runs it"
)
def test_three_minutes_of_make_soak() -> None:
    """At a low rate, in processes of their own, beside the other tests."""
    options = ["--seconds", "180", "--rows", "2000", "--every", "2"]
    paths = {"PYTHONPATH": str(Path(soak.__file__).parent)}
    command = [sys.executable, soak.__file__, *options]
    done = subprocess.run(command, env=environment_without_spark() | paths, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["operator:", "stream:"]
