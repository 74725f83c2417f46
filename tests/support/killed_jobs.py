"""Programs on Spark in processes of their own, which are killed at some moment."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from support.java import JAVA
from support.patient_python import write_program
from support.processes import environment_without_spark, kill_group, spawn, wait_for

__all__ = ["kill_after", "started"]

#: seconds that something which has begun is given at most before it is killed
PAUSE = 4.0


def started(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    """Python with these arguments; what it says is in the folder's ``log``."""
    own = {"PYSPARK_PYTHON": write_program(folder), "JDK_JAVA_OPTIONS": JAVA}
    return spawn([sys.executable, *command], environment_without_spark() | own, folder / "log")


def kill_after(
    process: subprocess.Popen[bytes],
    what: str,
    has_begun: Callable[[], bool],
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Kill -9 a process, and all that it started, at some moment after something has begun, and before it is
    over, or as soon as that is seen."""
    wait_for(what, lambda: has_begun() or process.poll() is not None)
    end = time.monotonic() + random.uniform(0, PAUSE)
    while (left := end - time.monotonic()) > 0 and not is_over():
        time.sleep(min(left, 0.02))
    kill_group(process)
