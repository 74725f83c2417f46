"""Three minutes of ``make soak``, beside the other tests: an operator and a stream on Spark at a low, steady
rate, in processes of their own. Memory, state and open files stay flat, and counts add up."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import soak
from support.processes import environment_without_spark

SECONDS = 180
#: every four seconds a thousand rows: a micro-batch takes one of them, or two on a busy machine
OPTIONS = ("--seconds", str(SECONDS), "--rows", "1000", "--every", "4")

#: what is never 0 under this load
COUNTED = ("rows_aggregated", "rows_late", "rows_rejected", "windows_fired")


def test_three_minutes_of_make_soak() -> None:
    paths = {"PYTHONPATH": str(Path(soak.__file__).parent)}
    command = [sys.executable, soak.__file__, *OPTIONS]
    done = subprocess.run(command, env=environment_without_spark() | paths, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
    found = {line.partition(":")[0]: line for line in done.stdout.splitlines()}
    assert list(found) == ["operator", "stream"], done.stdout
    for line in found.values():
        rows, seconds = (int(text.replace(",", "")) for text in re.findall(r"[\d,]+", line)[:2])
        assert rows >= 20_000, line
        assert seconds >= 0.9 * SECONDS, line
        assert all(re.search(f" {name} [1-9]", line) for name in COUNTED), line
