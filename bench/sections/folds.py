"""Sums and maxima over windows by time, of rows in order of time and of the same rows shuffled: against
Polars, DuckDB and chDB (where it is installed: the extra ``bench``)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter, process_time
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from common import Row, Settings, progress

import windrow as wr

__all__ = ["folds"]

_DAYS = 30
_TURNS = 3
_SHAPES = (("1h", "1h"), ("1m", "1m"), ("1h", "1m"))
_SECONDS = {"1m": 60, "1h": 3_600}
_INSTALL = "python -m pip install --constraint constraints.txt --editable '.[bench]'"


def folds(settings: Settings) -> list[Row]:
    """Sum and max over windows by time. wall: with their threads; cpu: of all threads together."""
    rows = settings.pick(5_000_000, 500_000)
    found = []
    for keys in (1, 100, 10_000):
        for order in ("sorted", "shuffled"):
            data = _events(rows, keys, order == "shuffled")
            for size, slide in _SHAPES:
                window = size if size == slide else f"{size} by {slide}"
                what = {"keys": keys, "rows": order, "window": window}
                progress(", ".join(f"{name} {each}" for name, each in what.items()))
                # a row is in 60 windows where they overlap: fewer rows, about as many results
                some = data if size == slide else data.take(np.arange(0, rows, 50))
                found.append(what | _compared(some, size, slide, "k" if keys > 1 else None))
    return found


def _events(rows: int, keys: int, is_shuffled: bool) -> pa.Table:
    rng = np.random.default_rng(7)
    seconds = np.sort(rng.integers(0, _DAYS * 86_400, rows))
    times = rng.permutation(seconds) if is_shuffled else seconds
    stamps = pa.array(times * 1_000_000, pa.timestamp("us"))
    return pa.table({"t": stamps, "k": rng.integers(0, keys, rows), "v": rng.random(rows)})


def _compared(data: pa.Table, size: str, slide: str, by: str | None) -> Row:
    window = wr.Tumbling(size) if size == slide else wr.Sliding(size, slide=slide)
    query = wr.query(time="t", by=by).window(window).agg(s=wr.sum("v"), m=wr.max("v"))
    wall, cpu, wanted = _measured(lambda: query.run(data)["s"].to_numpy())
    row: Row = {"windrow s": wall, "windrow cpu s": cpu}
    for name, peer in _peers(data, size, slide, by).items():
        row |= {f"{name} wall x": None, f"{name} cpu x": None}
        if peer is not None:
            took, worked, found = _measured(peer)
            assert np.allclose(np.sort(wanted), np.sort(found)), f"{name} disagrees"
            row |= {f"{name} wall x": took / wall, f"{name} cpu x": worked / cpu}
    return row


def _measured(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """The least wall and processor time of a few turns after a first one; and the result."""
    found, walls, cpus = run(), [], []
    for _ in range(_TURNS):
        wall, cpu = perf_counter(), process_time()
        run()
        walls.append(perf_counter() - wall)
        cpus.append(process_time() - cpu)
    return min(walls), min(cpus), found


def _peers(data: pa.Table, size: str, slide: str, by: str | None) -> dict[str, Callable[[], Any] | None]:
    frame = pl.from_arrow(data)
    assert isinstance(frame, pl.DataFrame)
    results = pl.col("v").sum().alias("s"), pl.col("v").max().alias("m")
    if size != slide:  # SQL has no sliding windows but by joins
        return {
            "Polars": lambda: (
                frame.sort("t")
                .group_by_dynamic(
                    "t", every=slide, period=size, offset=f"-{size}", group_by=by, start_by="window"
                )
                .agg(*results, pl.len().alias("n"))
                .filter(pl.col("n") > 0)["s"]
                .to_numpy()
            ),
            "DuckDB": None,
            "chDB": None,
        }
    keys = [by] if by else []
    database = duckdb.connect()
    database.register("data", data)
    bucket = f"time_bucket(INTERVAL {_SECONDS[size]} SECOND, t)"
    text = f"SELECT {', '.join([*keys, bucket])}, sum(v) AS s, max(v) AS m FROM data GROUP BY ALL"
    return {
        "Polars": lambda: frame.group_by(*keys, pl.col("t").dt.truncate(size)).agg(*results)["s"].to_numpy(),
        "DuckDB": lambda: database.execute(text).fetchnumpy()["s"],
        "chDB": _chdb(data, size, keys),
    }


@functools.cache
def _has_chdb() -> bool:
    """Whether chDB is there; if it is not, say once how to get it."""
    found = find_spec("chdb") is not None
    if not found:
        progress(f"chDB is left out: install it with {_INSTALL}")
    return found


def _chdb(data: pa.Table, size: str, keys: list[str]) -> Callable[[], Any] | None:
    if not _has_chdb():
        return None
    import chdb

    columns = ", ".join([*keys, f"toStartOfInterval(t, INTERVAL {_SECONDS[size]} SECOND) AS b"])
    text = f"SELECT {columns}, sum(v) AS s, max(v) AS m FROM Python(data) GROUP BY {', '.join([*keys, 'b'])}"
    return lambda: chdb.query(text, "ArrowTable")["s"].to_numpy()
