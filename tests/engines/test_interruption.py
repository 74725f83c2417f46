"""Native loops that take long can be interrupted: they run in pieces, which changes no result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.compile import pieces

RANDOM = np.random.default_rng(7)
COUNT = 300
TABLE = pa.table(
    {
        "t": np.sort(RANDOM.integers(0, 900, COUNT)),
        "k": RANDOM.integers(0, 4, COUNT),
        "v": RANDOM.integers(0, 50, COUNT).astype(float),
        "d": np.arange(COUNT) // 7,
    }
)


def asked(window: Any, **settings: Any) -> wr.Query:
    query = wr.query(time="t", by="k", **settings)
    query = query.window(**window) if isinstance(window, dict) else query.window(window)
    return query.agg(n=wr.count(), m=wr.max("v"), s=wr.stddev("v"), f=wr.first("v"))


def rolling(*args: Any, **settings: Any) -> wr.Query:
    return wr.query(time="t", by="k").rolling(*args, **settings).agg(m=wr.max("v"), s=wr.stddev("v"))


KINDS = {"a": wr.Sliding(40, slide=3), "b": wr.Cumulative(60, step=6), "c": wr.Tumbling(25)}
QUERIES: dict[str, wr.Query] = {
    "tumbling": asked(wr.Tumbling(40)),
    "one window": asked(wr.Tumbling(1000)),
    "sliding": asked(wr.Sliding(90, slide=1)),
    "cumulative": asked(wr.Cumulative(60, step=2)),
    "kinds": asked(KINDS),
    "many kinds": asked({f"w{k}": wr.Sliding(10 * k, slide=k) for k in range(1, 8)}),
    "empty": asked(KINDS, empty="include"),
    "delta": asked(wr.Delta("d", size=9, slide=2)),
    "rolling": rolling(50),
    "rolling rows": rolling(rows=11),
    "corrections": asked(KINDS, watermark=0, allowed_lateness=200),
    "updates": asked(KINDS, watermark=0, output="update"),
    "sessions": asked(wr.Session(gap=30), watermark=0, allowed_lateness=100),
}


def at_once(query: wr.Query) -> list[pa.Table]:
    return [query.run(TABLE)]


def in_pushes(query: wr.Query) -> list[pa.Table]:
    """Some rows come late."""
    operator = query.open()
    found = [operator.push(TABLE.take(places)) for places in np.array_split(np.roll(np.arange(COUNT), 40), 4)]
    return [*found, operator.finish()]


@pytest.mark.parametrize("units", [1, 7])
@pytest.mark.parametrize("results", [at_once, in_pushes])
@pytest.mark.parametrize("name", QUERIES)
def test_results_do_not_depend_on_pieces(
    name: str, results: Callable[[wr.Query], list[pa.Table]], units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = results(QUERIES[name])
    counted: list[float] = []
    monkeypatch.setattr(pieces, "FIRST", units)
    monkeypatch.setattr(pieces, "_adapted", lambda units, seconds: counted.append(seconds) or units)
    found = results(QUERIES[name])
    assert all(a.equals(b) for a, b in zip(whole, found, strict=True))
    assert len(counted) > 10


# -- Ctrl-C --------------------------------------------------------------------------------------------------

#: an aggregate whose combine takes long, and hours of work for it
SLOW = """
import math, warnings
import numpy as np, pyarrow as pa, windrow as wr

def combine(a, b):
    spun = a
    for _ in range(20_000):
        spun = math.sin(spun)
    return max(a, b) if spun < 2 else spun

def same(value):
    return value

warnings.simplefilter("error")  # it compiles
slow = wr.monoid(lift=same, combine=combine, lower=same, identity=0.0, name="slow")
table = pa.table({"t": np.arange(1 << 22), "v": np.ones(1 << 22)})
query = wr.query(time="t")
def ask(table):
    return ASKED
ask(table.slice(0, 20))
print("begun", flush=True)
try:
    ask(table)
    print("finished")
except KeyboardInterrupt:
    print("interrupted")
"""
ASKED = {
    "one window": 'query.window(wr.Tumbling(1 << 40)).agg(s=slow("v")).run(table)',
    "rolling": 'query.rolling(5).agg(s=slow("v")).run(table)',
    "rolling rows": 'query.rolling(rows=5).agg(s=slow("v")).run(table)',
    "operator": 'query.window(wr.Sliding(8, slide=2)).agg(s=slow("v")).open().push(table)',
    "roll": 'wr.swag.DABALite(slow).roll(table["v"].to_numpy(), 5)',
}


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(running: subprocess.Popen[str]) -> str:
    """What it says when it is interrupted. A kernel may still be compiled, and a signal that comes while LLVM
    calls Python is lost: the next one is not."""
    for _ in range(60):
        os.kill(running.pid, signal.SIGINT)
        try:
            return running.communicate(timeout=5)[0]
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("no signal has ended it")


@pytest.mark.parametrize("case", ASKED)
def test_a_long_native_loop_can_be_interrupted(case: str) -> None:
    """It would run for an hour: what ends it is the signal."""
    script = SLOW.replace("ASKED", ASKED[case])
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "begun\n"
            before = processor_seconds(running.pid)
            while processor_seconds(running.pid) < before + 0.5:  # it is in the loop by now
                time.sleep(0.05)
            assert interrupted(running) == "interrupted\n"
        finally:
            running.kill()
