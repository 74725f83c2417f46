"""Aggregates that are answered from values: quantiles, distinct values, lists, sketches, against the best of
DuckDB, Polars and pandas, with their threads on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from common import Row, Settings, least_seconds, progress

import windrow as wr

__all__ = ["aggregates", "sketches_against_sums"]

_MINUTE = 60_000_000
_SHAPES = {
    "tumbling 10 m": ("10m", "10m"),
    "sliding 1 h by 10 m": ("1h", "10m"),
}
_ROWS = 1_000


def _events(rows: int, keys: int) -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "i": np.arange(rows),
            "t": pa.array(np.sort(rng.integers(0, 3 * 1440 * _MINUTE, rows)), pa.timestamp("us")),
            "k": rng.integers(0, keys, rows),
            "v": rng.normal(size=rows),
            "w": rng.normal(size=rows),
            "text": pa.array([f"caller {n}" for n in rng.integers(0, 2_000, rows)]),
            "n": rng.integers(0, 200, rows),
        }
    )


#: aggregate, Polars' expression and DuckDB's text; whether results are the same numbers
_CASES: dict[str, tuple[Any, Any, str | None, bool]] = {
    "quantile": (
        wr.quantile("v", 0.95),
        pl.col("v").quantile(0.95, "linear"),
        "quantile_cont(v, 0.95)",
        True,
    ),
    "median": (wr.median("v"), pl.col("v").median(), "median(v)", True),
    "approx_quantile": (
        wr.approx_quantile("v", 0.95),
        pl.col("v").quantile(0.95),
        "approx_quantile(v, 0.95)",
        False,
    ),
    "count_distinct, text": (
        wr.count_distinct("text"),
        pl.col("text").n_unique(),
        "count(DISTINCT text)",
        True,
    ),
    "count_distinct, numbers": (wr.count_distinct("v"), pl.col("v").n_unique(), "count(DISTINCT v)", True),
    "approx_distinct, text": (
        wr.approx_distinct("text"),
        pl.col("text").approx_n_unique(),
        "approx_count_distinct(text)",
        False,
    ),
    "approx_distinct, numbers": (
        wr.approx_distinct("v"),
        pl.col("v").approx_n_unique(),
        "approx_count_distinct(v)",
        False,
    ),
    "collect, text": (wr.collect("text"), pl.col("text"), "list(text)", False),
    "collect, numbers": (wr.collect("v"), pl.col("v"), "list(v)", False),
    "collect_distinct, text": (
        wr.collect_distinct("text"),
        pl.col("text").unique(maintain_order=True),
        "list(DISTINCT text)",
        False,
    ),
    "mode, text": (wr.mode("text"), pl.col("text").mode().min(), "mode(text)", False),
    "mode, numbers": (wr.mode("n"), pl.col("n").mode().min(), "mode(n)", False),
    "top_k": (wr.top_k("v", 5), pl.col("v").top_k(5), "max(v, 5)", False),
    "corr": (wr.corr("v", "w"), pl.corr("v", "w"), "corr(v, w)", True),
}


def aggregates(settings: Settings) -> list[Row]:
    rows = settings.pick(300_000, 60_000)
    data = _events(rows, 20)
    few = data.slice(0, rows // 3)
    found = []
    for name, (ours, polars, duck, is_same) in _CASES.items():
        for shape, (size, slide) in _SHAPES.items():
            window = wr.Tumbling(size) if size == slide else wr.Sliding(size, slide=slide)
            query = wr.query(time="t", by="k").window(window).agg(r=ours)
            peers = {"Polars x": _polars_windows(data, polars, size, slide)}
            if size == slide and duck is not None:
                peers["DuckDB x"] = _duck_windows(data, duck, size)
            found.append(_compare(name, shape, lambda q=query: q.run(data)["r"], peers, is_same))
        query = wr.query(time="i").rolling(rows=_ROWS).agg(r=ours)
        lists = name.startswith("collect")
        if not lists:
            peers = _rolling_peers(few, name, polars, duck)
            found.append(
                _compare(name, f"rolling {_ROWS:,} rows", lambda q=query: q.run(few)["r"], peers, is_same)
            )
    return found


def _compare(
    name: str, shape: str, ours: Callable[[], Any], peers: dict[str, Callable[[], Any]], is_same: bool
) -> Row:
    progress(f"{name}, {shape}")
    if is_same:
        wanted = np.sort(np.asarray(ours(), float))
        for peer, run in peers.items():
            got = np.sort(np.asarray(run(), float))
            assert np.allclose(wanted, got, rtol=1e-6, equal_nan=True), f"{peer} disagrees at {name}, {shape}"
    times = least_seconds([ours, *peers.values()], repeats=3, patience=0)
    row: Row = {"aggregate": name, "windows": shape, "windrow s": times[0]}
    for peer in ("Polars x", "DuckDB x", "pandas x"):
        row[peer] = times[1 + list(peers).index(peer)] / times[0] if peer in peers else None
    known = [row[peer] for peer in peers]
    row["the best x"] = min(known)
    return row


def _polars_windows(data: pa.Table, expression: Any, size: str, slide: str) -> Callable[[], Any]:
    frame = pl.from_arrow(data)
    assert isinstance(frame, pl.DataFrame)
    offset = f"-{size}" if size != slide else "0s"
    return lambda: (
        frame.group_by_dynamic("t", every=slide, period=size, offset=offset, group_by="k", start_by="window")
        .agg(r=expression, n=pl.len())
        .filter(pl.col("n") > 0)["r"]
    )


def _duck_windows(data: pa.Table, text: str, size: str) -> Callable[[], Any]:
    database = duckdb.connect()
    database.register("data", data)
    minutes = int(size.removesuffix("m"))
    statement = f"SELECT {text} AS r FROM data GROUP BY k, time_bucket(INTERVAL {minutes} MINUTE, t)"
    return lambda: database.execute(statement).to_arrow_table()["r"]


def _rolling_peers(data: pa.Table, name: str, expression: Any, text: str | None) -> dict[str, Any]:
    frame, series = pl.from_arrow(data), data["v"].to_pandas()
    assert isinstance(frame, pl.DataFrame)
    peers: dict[str, Any] = {}
    if name == "quantile":
        peers["pandas x"] = lambda: series.rolling(_ROWS, min_periods=1).quantile(0.95)
        peers["Polars x"] = lambda: frame.select(
            r=pl.col("v").rolling_quantile(0.95, "linear", window_size=_ROWS, min_samples=1)
        )["r"]
    elif name == "median":
        peers["pandas x"] = lambda: series.rolling(_ROWS, min_periods=1).median()
        peers["Polars x"] = lambda: frame.select(
            r=pl.col("v").rolling_median(window_size=_ROWS, min_samples=1)
        )["r"]
    else:
        peers["Polars x"] = lambda: frame.rolling("i", period=f"{_ROWS}i").agg(r=expression)["r"]
    database = duckdb.connect()
    database.register("data", data)
    if text is not None and "DISTINCT" not in text and name in ("quantile", "median"):
        over = f"ORDER BY i ROWS BETWEEN {_ROWS - 1} PRECEDING AND CURRENT ROW"
        statement = f"SELECT {text} OVER ({over}) AS r FROM data"
        peers["DuckDB x"] = lambda: database.execute(statement).to_arrow_table()["r"]
    return peers


def sketches_against_sums(settings: Settings) -> list[Row]:
    """How much longer a sketch as bytes takes than a sum over the same windows."""
    data = _events(settings.pick(300_000, 60_000), 20)
    found = []
    for shape, (size, slide) in _SHAPES.items():
        window = wr.Tumbling(size) if size == slide else wr.Sliding(size, slide=slide)
        queries = {
            name: wr.query(time="t", by="k").window(window).agg(r=aggregate)
            for name, aggregate in {
                "sum": wr.sum("v"),
                "bloom": wr.bloom("text"),
                "count_min": wr.count_min("text"),
            }.items()
        }
        progress(f"sketches as bytes, {shape}")
        runs = [lambda q=query: q.run(data) for query in queries.values()]
        plain, *sketches = least_seconds(runs, repeats=3, patience=0)
        for name, seconds in zip(("bloom", "count_min"), sketches, strict=True):
            found.append({"aggregate": name, "windows": shape, "seconds": seconds, "sums": seconds / plain})
    return found
