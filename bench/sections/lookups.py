"""Look-ups: how long ``op.at(labels)`` takes for one label, by how many keys there are and where events are.

Every key has ten events of three days; a label asks for the last hour and the last day of a random key. Each
look-up is timed by itself, with the clock on the wall: what a store makes it wait counts.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
from common import Settings, heading, progress, table

import windrow as wr
from windrow_experiments.mta.stores import Places

__all__ = ["measure_lookups"]

_DAY = 86_400
_PER_KEY = 10
#: keys whose events are pushed together: a store then writes each record once
_PUSHED_KEYS = 100_000


def measure_lookups(settings: Settings, where: Places, keys: int | None = None) -> None:
    keys = settings.pick(1_000_000, 10_000) if keys is None else keys
    heading(f"lookups: one label of {keys:,} keys, {_PER_KEY} events each; ms")
    query = (
        wr.query(time="ts", by="user").asof("1h", "1d").agg(total=wr.sum("x"), n=wr.count(), top=wr.max("x"))
    )
    stores = {f"on {kind}": make for kind, make in where.kinds().items()}
    rows = []
    for name, make in {"in memory": None, **stores}.items():
        progress(f"lookups: {name}")
        op = query.open() if make is None else query.open(store=make(), name=f"lookups {keys}")
        filling = fill(op, keys)
        found = look_up(op, keys, settings.pick(5_000, 1_000))
        p50, p99 = np.percentile(found, [50, 99])
        progress(f"lookups: {name}: p50 {p50:.2f} ms, p99 {p99:.2f} ms, push {filling:.1f} us a row")
        rows.append({"events": name, "p50": p50, "p99": p99, "most": found.max(), "push, us a row": filling})
        op.finish()
    table(rows, p50=".2f", p99=".2f", most=".1f", **{"push, us a row": ".1f"})


def fill(op: Any, keys: int) -> float:
    """Push all events; microseconds a row."""
    rng = np.random.default_rng(7)
    spent = 0.0
    for start in range(0, keys, _PUSHED_KEYS):
        users = np.tile(np.arange(start, min(start + _PUSHED_KEYS, keys)), _PER_KEY)
        times = (3 * _DAY * np.arange(len(users)) // len(users)).astype("datetime64[s]")
        events = pa.table({"ts": times, "user": users, "x": rng.random(len(users))})
        begun = time.perf_counter()
        op.push(events)
        spent += time.perf_counter() - begun
    return spent / (keys * _PER_KEY) * 1e6


def look_up(op: Any, keys: int, count: int) -> Any:
    """Milliseconds of each look-up."""
    users = np.random.default_rng(8).integers(0, keys, count + 20)
    found = []
    for user in users:
        label = pa.table({"ts": np.array([3 * _DAY], "datetime64[s]"), "user": [user]})
        begun = time.perf_counter()
        op.at(label)
        found.append((time.perf_counter() - begun) * 1e3)
    return np.array(found[20:])
