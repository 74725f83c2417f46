"""Slices in blocks, as the operator keeps them, beside a FiBA per key.

Sums over an hour that slides by a minute. Rows come with delays, evenly spread up to the watermark's. The
operator merges a push into blocks of slices of all keys; the peer gives each key's rows of the push to
``bulk_insert`` and asks ``range_query`` for each window that is due. Results are compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from common import Settings, heading, progress, table

import windrow as wr

__all__ = ["measure", "show"]

_SIZE, _SLIDE = 3600, 60
_ROWS_A_PUSH = 10_000
_ROWS_A_SECOND = 10


def measure(settings: Settings, reference: Path | None) -> list[dict[str, Any]]:
    rows = []
    for keys in (1, 100):
        for delay in (0, 600, 6 * 3600):
            progress(f"blocks and trees: {keys} keys, delays up to {delay:,} s")
            rows.append({"keys": keys, "delay s": delay, **_compare(keys, delay, settings.pick(80, 30))})
    return rows


def show(results: list[dict[str, Any]]) -> None:
    heading("Slices in blocks and a FiBA per key: ns a row, results included")
    table(results, keys=",", blocks=".0f", FiBA=".0f", ratio=".1f", **{"delay s": ","})


def _compare(keys: int, delay: int, count: int) -> dict[str, Any]:
    pushes = list(_pushes(keys, delay, count))
    sides = {"blocks": _Operator(delay).push, "FiBA": _Trees(keys, delay).push}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for push in pushes:
        totals = []
        for name, side in sides.items():
            begun = time.process_time()
            totals.append(side(push))
            seconds[name].append(time.process_time() - begun)
        assert np.isclose(*totals), f"sums of results differ: {totals}"
    found = {name: float(np.mean(each[count // 4 :])) / _ROWS_A_PUSH * 1e9 for name, each in seconds.items()}
    return {**found, "ratio": found["FiBA"] / found["blocks"]}


def _pushes(keys: int, delay: int, count: int) -> Iterator[pa.Table]:
    rng = np.random.default_rng(4)
    rows = count * _ROWS_A_PUSH
    times = np.arange(rows) // _ROWS_A_SECOND
    order = np.argsort(times + rng.random(rows) * delay, kind="stable")
    names, values = rng.integers(0, keys, rows), rng.random(rows)
    for start in range(0, rows, _ROWS_A_PUSH):
        part = order[start : start + _ROWS_A_PUSH]
        yield pa.table({"t": times[part], "k": names[part], "v": values[part]})


class _Operator:
    def __init__(self, delay: int) -> None:
        query = wr.query(time="t", by="k", watermark=delay).window(wr.Sliding(_SIZE, slide=_SLIDE))
        self._operator = query.agg(total=wr.sum("v")).open()

    def push(self, rows: pa.Table) -> float:
        return pc.sum(self._operator.push(rows)["total"]).as_py() or 0.0


class _Trees:
    def __init__(self, keys: int, delay: int) -> None:
        self._trees = [wr.swag.FiBA(wr.sum) for _ in range(keys)]
        self._delay, self._latest = delay, 0
        #: the end of the next window
        self._end = _SLIDE

    def push(self, rows: pa.Table) -> float:
        times, keys, values = (column.to_numpy() for column in rows.columns)
        order = np.argsort(keys, kind="stable")
        cuts = np.searchsorted(keys[order], np.arange(len(self._trees) + 1))
        self._latest = max(self._latest, int(times.max()))
        total = 0.0
        for k, tree in enumerate(self._trees):
            part = order[cuts[k] : cuts[k + 1]]
            tree.bulk_insert(times[part], values[part])
            total += self._due(tree)
        self._end = max(self._end, (self._latest - self._delay) // _SLIDE * _SLIDE + _SLIDE)
        return total

    def _due(self, tree: wr.swag.FiBA) -> float:
        total, end = 0.0, self._end
        while end <= self._latest - self._delay:
            total += tree.range_query(end - _SIZE, end) or 0.0
            tree.evict_before(end + _SLIDE - _SIZE)
            end += _SLIDE
        return total
