"""Processes that need one kernel: one compiles it, the others wait and load it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from windrow.compile import compile_lock
from windrow.compile.compile_lock import turn

#: calls a kernel, and says when it waits for a turn, and whether it compiled it
PROGRAM = """
import numpy as np
import sys
import windrow as wr
from numba.core import compiler
from windrow.compile import compile_lock
from windrow.rows import sorting
compiled, waits = [], []
original = compiler.compile_extra
def counting(*a, **k):
    compiled.append(a[2].__qualname__)
    return original(*a, **k)
compiler.compile_extra = counting
def pause(seconds):
    if not waits:
        print("waits", flush=True)
    waits.append(seconds)
    pause_for(seconds)
pause_for, compile_lock.time.sleep = compile_lock.time.sleep, pause
compile_lock.PATIENCE = 3600.0
result = eval(sys.argv[1])
print(result, sys.argv[2] in str(compiled), flush=True)
"""
#: kernels of an aggregate and of windrow's own: what calls one, its name, and the result
CALLS = [
    ("wr.swag.DABALite(wr.sum).roll(np.arange(5.0), 3)[-1]", "process", "9.0"),
    ("sorting.first_rows(np.array([0, 1, 1]), 2)", "first_rows", "[0 1]"),
]


def started(folder: Path, call: str, name: str) -> subprocess.Popen[str]:
    environment = os.environ | {"WINDROW_CACHE_DIR": str(folder), "WINDROW_COMPILE": "always"}
    command = [sys.executable, "-c", PROGRAM, call, name]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(("call", "name", "result"), CALLS, ids=[name for _, name, _ in CALLS])
def test_a_process_that_had_to_wait_for_a_kernel_loads_it(
    tmp_path: Path, call: str, name: str, result: str
) -> None:
    with started(tmp_path / "first", call, name) as first:
        assert said(first) == f"{result} True"
    (kernel,) = (tmp_path / "first").glob("*/*/*.kernel")
    place = tmp_path / "second" / kernel.parent.relative_to(tmp_path / "first")
    place.mkdir(parents=True)
    (tmp_path / "second").chmod(0o700)
    with turn(place), started(tmp_path / "second", call, name) as second:
        assert said(second) == "waits"
        (place / kernel.name).write_bytes(kernel.read_bytes())
        os.close(os.open(place / "turn.lock", os.O_RDWR))  # any close by the holder unlocks
        assert said(second) == f"{result} False"


def test_a_holder_that_was_killed_holds_up_nobody(tmp_path: Path) -> None:
    code = "from windrow.compile.compile_lock import turn; from pathlib import Path; import sys, time\n"
    code += "with turn(Path(sys.argv[1])): print('in', flush=True); time.sleep(3600)"
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert said(holder) == "in"
    with (tmp_path / "turn.lock").open("r+") as lock, pytest.raises(BlockingIOError):
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    holder.kill()
    holder.communicate()
    with turn(tmp_path):
        pass


def test_patience_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_lock, "PATIENCE", 0.0)
    monkeypatch.setattr("fcntl.lockf", refused)
    with turn(tmp_path):
        pass


def refused(*_: object) -> None:
    raise BlockingIOError


@pytest.mark.parametrize("folder", [None, Path("/dev/null/kernels")])
def test_there_is_no_turn_where_nothing_can_be_kept(folder: Path | None) -> None:
    with turn(folder):
        pass
