"""Which Python Spark's workers run, looked at before the first task and without a job.

PySpark takes the ``python3`` of the path unless ``PYSPARK_PYTHON`` was set when the session started; a script
that is run with the Python of its environment then fails in its first task. On this machine, workers for
which nobody has chosen a Python get ours, and one that was chosen is asked for what windrow needs. On a
cluster nothing can be known from here: tasks themselves say what is missing
(:func:`windrow.engines.spark.shipping.shipped`). Cost: one start of a Python per session and kind of query.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import weakref
from typing import TYPE_CHECKING, Any

from windrow.engines.spark.compat import (
    cores_of,
    has_own_server,
    is_connect,
    jvm_environment,
    set_setting,
    setting,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_python", "prepare_workers"]

#: names the Python of workers in a session that runs; state of streams does not look at it
_SETTING = "spark.sql.execution.pyspark.python"
_VARIABLE = "PYSPARK_PYTHON"
_DEFAULT = "python3"
_NEEDED = ("pyarrow", "numpy", "numba")
#: packages as they are installed, where that is not how they are imported
_NAMES = {"google.protobuf": "protobuf"}
_PROBE = """
import importlib.util, json, sys
missing = []
for name in sys.argv[1:]:
    try:
        found = importlib.util.find_spec(name) is not None
    except ImportError:
        found = False
    if not found:
        missing.append(name)
print(json.dumps([list(sys.version_info[:2]), missing]))
"""
_prepared: weakref.WeakKeyDictionary[Any, set[bool]] = weakref.WeakKeyDictionary()


def prepare_workers(session: SparkSession, is_stream: bool = False) -> None:
    """Give the workers of this machine a Python that can run windrow, or raise what is wrong with theirs;
    once for a session, and once more for its streams."""
    done = _prepared.setdefault(session, set())
    if is_stream in done:
        return
    if cores_of(setting(session, "spark.master") or "") is not None:
        find = _connect_pythons if is_connect(session) else _classic_pythons
        for python, packages, remedy in find(session, is_stream):
            check_python(python, packages, remedy)
    done.add(is_stream)


def _classic_pythons(session: SparkSession, is_stream: bool) -> list[tuple[str, tuple[str, ...], str]]:
    """What workers run, what it needs and how to change it."""
    context = session.sparkContext
    if context.pythonExec == _DEFAULT and _VARIABLE not in os.environ and sys.executable:
        context.pythonExec = sys.executable
    # files that were sent to workers may hold windrow
    sent = bool(context._python_includes)
    packages = _NEEDED if sent else (*_NEEDED, "windrow")
    return _pythons(session, is_stream, context.pythonExec, packages)


def _connect_pythons(session: SparkSession, is_stream: bool) -> list[tuple[str, tuple[str, ...], str]]:
    """The same on Spark Connect, where windrow may have been sent as an artifact."""
    if not has_own_server():
        return []
    chosen = jvm_environment(_VARIABLE)
    if chosen is None and setting(session, _SETTING) is None and sys.executable:
        set_setting(session, _SETTING, sys.executable)
    return _pythons(session, is_stream, chosen or _DEFAULT, _NEEDED)


def _pythons(
    session: SparkSession, is_stream: bool, started_with: str, packages: tuple[str, ...]
) -> list[tuple[str, tuple[str, ...], str]]:
    by_setting = setting(session, _SETTING)
    found = []
    if by_setting is not None:
        found.append((by_setting, packages, f'write spark.conf.set("{_SETTING}", sys.executable)'))
    if by_setting is None or is_stream:
        needed = (*packages, "google.protobuf") if is_stream else packages
        line = f'write os.environ["{_VARIABLE}"] = sys.executable before the Spark session starts'
        found.append((started_with, needed, line))
    return found


def check_python(python: str, packages: tuple[str, ...], remedy: str) -> None:
    """Raise why a Python cannot be that of windrow's workers."""
    version, missing, error = _probed(python, packages)
    said = f"Spark's workers would run {python!r}"
    if error:
        raise RuntimeError(f"{said}, which cannot be started ({error}): {remedy}")
    own = tuple(sys.version_info[:2])
    if version != own:
        theirs, ours = (".".join(map(str, pair)) for pair in (version, own))
        raise RuntimeError(
            f"{said}, Python {theirs}, and this is Python {ours}, which must be the same: {remedy}"
        )
    if missing:
        package = _NAMES.get(missing[0], missing[0])
        raise RuntimeError(f"{said}, which has no {package}: {remedy}, or install {package} there")


def _probed(python: str, packages: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[str, ...], str]:
    """Its version, which packages it lacks, and why it cannot be started."""
    try:
        done = subprocess.run([python, "-c", _PROBE, *packages], capture_output=True, text=True, check=False)
    except OSError as error:
        return (), (), error.strerror or str(error)
    try:
        version, missing = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        lines = done.stderr.strip().splitlines()
        return (), (), lines[-1] if lines else f"it ended with {done.returncode}"
    return tuple(version), tuple(missing), ""
