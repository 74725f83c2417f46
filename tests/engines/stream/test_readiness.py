"""Kernels that later pushes need are loaded with the first one, from a cache on disk that has them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import windrow as wr
from windrow.compile.native import NotOnDisk, native, only_loading
from windrow.engines.stream import readiness

#: pushes of one query, in a process that prints in which of them a kernel was loaded, and how many were
PUSHES = """
import pyarrow as pa, windrow as wr
from windrow.compile import cache

loads, load = [], cache._KernelCache.load_overload

def counted(self, signature, target):
    loads.append(push)
    return load(self, signature, target)

cache._KernelCache.load_overload = counted
minutes = wr.query(time="t", by="k", watermark=5).window(wr.Sliding(640, slide=1))
operator, fired = minutes.agg(total=wr.sum("v"), n=wr.count()).open(), 0
for push in range(40):
    late = [-200] if push == 30 else []
    rows = [(10 * push + k, key, 1.0) for k, key in zip([*late, 3, 5], ["b", "b", "a"][-2 - len(late) :])]
    fired += operator.push(pa.table(dict(zip("tkv", map(list, zip(*rows)))))).num_rows
print(fired, len([push for push in loads if push == 0]), sorted({push for push in loads if push > 0}))
"""


#: a rehearsal that compiles what is not on disk, as other programs may have done
COMPILED = """
import contextlib
from windrow.engines.stream import readiness

readiness.only_loading = contextlib.nullcontext
"""


def pushed_in_a_process(before: str = "") -> list[str]:
    environment = os.environ | {"WINDROW_COMPILE": "always"}
    command = [sys.executable, "-c", before + PUSHES]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert not ran.returncode, ran.stderr
    return ran.stdout.split(maxsplit=2)


def test_no_kernel_is_loaded_after_the_first_push() -> None:
    pushed_in_a_process(COMPILED)
    fired, at_first, later = pushed_in_a_process()
    assert int(fired) > 0
    assert int(at_first) > 10
    assert later.strip() == "[]"


def test_what_is_not_on_disk_is_not_compiled_and_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path))
    largest = wr.max("v").monoid
    form = native(largest, (pa.array([1.0]).to_numpy().dtype,))
    assert form is not None
    form.kernels.clear()
    form.variants.clear()
    query = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(top=wr.max("v"))
    with only_loading(), pytest.raises(NotOnDisk):
        query.run(pa.table({"t": [1], "v": [1.0]}))
    assert query.run(pa.table({"t": [1], "v": [1.0]}))["top"].to_pylist() == [1.0]


def test_functions_of_users_are_called_for_rows_alone() -> None:
    calls = []

    def combine(a: float, b: float) -> float:
        calls.append(b)
        return a + b

    own = wr.monoid(identity=0.0, combine=combine, lift=float, lower=float, commutative=True, compile=False)
    operator = wr.query(time="t", watermark=0).window(wr.Sliding(10, slide=5)).agg(total=own("v")).open()
    operator.push(pa.table({"t": [1], "v": [1.0]}))
    assert calls == []
    operator.push(pa.table({"t": [2], "v": [2.0]}))
    assert calls == [2.0]


def test_a_rehearsal_that_raises_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError("not today")

    monkeypatch.setattr(readiness, "_rehearse", fails)
    monkeypatch.setattr(readiness, "_rehearsed", set())
    operator = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open()
    assert operator.push(pa.table({"t": [1, 12]}))["n"].to_pylist() == [1]


#: small pushes, which are interpreted until Numba is loaded in one of them; it prints in which one that was
#: and in which later ones Python went through all objects
COLLECTIONS = """
import gc, sys
import pyarrow as pa, windrow as wr

full, loaded = [], None
gc.callbacks.append(lambda phase, info: full.append(push) if info["generation"] == 2 else None)
operator = wr.query(time="t", by="k", watermark=5).window(wr.Tumbling(60)).agg(total=wr.sum("v")).open()
for push in range(3000):
    times = list(range(10 * push, 10 * push + 10))
    operator.push(pa.table({"t": times, "k": ["a", "b"] * 5, "v": [1.0] * 10}))
    if loaded is None and "numba" in sys.modules:
        loaded = push
print(loaded, [push for push in full if push > loaded])
"""


def test_a_full_collection_comes_with_the_loading_and_not_later() -> None:
    ran = subprocess.run([sys.executable, "-c", COLLECTIONS], capture_output=True, text=True)
    assert not ran.returncode, ran.stderr
    loaded, later = ran.stdout.split(maxsplit=1)
    assert 0 <= int(loaded) < 2_900
    assert later.strip() == "[]"
