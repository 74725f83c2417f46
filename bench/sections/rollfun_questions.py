"""The ten rolling questions of the public db-benchmark (its task "rollfun"), and their rows.

With n rows, ``w`` is n / 1,000: the small window is a tenth of it, the large one ten times as long. ``v1``
and ``v2`` are prices that wander, ``id1`` counts rows, ``id2`` and ``id3`` are uneven times: n of 1.1 n and
of 2 n moments. A frame at the beginning has as many rows as there are, for everyone.

Every peer works on its own kind of table, made before, and leaves results in its own memory: a DataFrame, or
in DuckDB a table. pandas and DuckDB's own scripts in db-benchmark leave out some of the questions; here each
is answered by the shortest expression that has the same results.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import windrow as wr

__all__ = ["QUESTIONS", "Question", "Tables"]


class Tables:
    """The same rows for each library."""

    def __init__(self, rows: int, seed: int = 108) -> None:
        rng = np.random.default_rng(seed)
        self.rows, self.w = rows, rows // 1_000
        self.small, self.large = self.w // 10, self.w * 10
        self.arrow = pa.table(
            {
                "id1": np.arange(1, rows + 1),
                "id2": _moments(rng, rows, rows + rows // 10),
                "id3": _moments(rng, rows, 2 * rows),
                "v1": np.cumprod(rng.normal(1, 0.005, rows)),
                "v2": np.cumprod(rng.normal(1, 0.001, rows)),
                "weights": rng.normal(1, 0.1, rows),
            }
        )
        self.pandas = self.arrow.to_pandas()
        self.polars: Any = pl.from_arrow(self.arrow)
        self.duckdb = duckdb.connect()
        self.duckdb.register("given", self.arrow)
        self.duckdb.execute("CREATE TABLE x AS SELECT * FROM given")
        # pandas rolls over times of its own type alone
        self.by_time = {
            name: pd.Series(self.pandas["v1"].to_numpy(), pd.to_datetime(self.pandas[name], unit="s"))
            for name in ("id2", "id3")
        }


def _moments(rng: np.random.Generator, rows: int, among: int) -> Any:
    return np.sort(rng.choice(among, rows, replace=False)) + 1


@dataclass(frozen=True)
class Question:
    """Each side runs, and gives what it found: columns of numbers in the order of rows."""

    name: str
    windrow: Callable[[Tables], Any]
    pandas: Callable[[Tables], Any]
    polars: Callable[[Tables], Any]
    #: columns with their windows, of the table x
    duckdb: Callable[[Tables], str]
    #: columns of windrow's result
    columns: tuple[str, ...] = ("r",)


def _rolled(tables: Tables, rows: Any, time: str = "id1", **aggregates: Any) -> pa.Table:
    frame = {"size": rows} if time != "id1" else {"rows": rows}
    query = wr.query(time=time).rolling(**frame).agg(**aggregates)
    return query.run(tables.arrow, threads=os.cpu_count())


def _mean(size: Callable[[Tables], int]) -> dict[str, Any]:
    return {
        "windrow": lambda t: _rolled(t, size(t), r=wr.mean("v1")),
        "pandas": lambda t: t.pandas["v1"].rolling(size(t), min_periods=1).mean(),
        "polars": lambda t: t.polars.select(r=pl.col("v1").rolling_mean(size(t), min_samples=1)),
        "duckdb": lambda t: f"avg(v1) {_rows(size(t))}",
    }


def _uneven(time: str) -> dict[str, Any]:
    return {
        "windrow": lambda t: _rolled(t, t.w, time, r=wr.mean("v1")),
        "pandas": lambda t: t.by_time[time].rolling(f"{t.w}s").mean(),
        "polars": lambda t: t.polars.select(r=pl.col("v1").rolling_mean_by(time, f"{t.w}i")),
        "duckdb": lambda t: (
            f"avg(v1) OVER (ORDER BY {time} RANGE BETWEEN {t.w - 1} PRECEDING AND CURRENT ROW)"
        ),
    }


def _rows(size: int) -> str:
    return f"OVER (ORDER BY id1 ROWS BETWEEN {size - 1} PRECEDING AND CURRENT ROW)"


def _several_sizes(t: Tables) -> tuple[int, int]:
    return t.w - min(50, t.w // 2), t.w + 50


def _several_pandas(t: Tables) -> Any:
    both = [t.pandas[["v1", "v2"]].rolling(size, min_periods=1).mean() for size in _several_sizes(t)]
    return pd.concat(both, axis=1)


def _several_polars(t: Tables) -> Any:
    return t.polars.select(
        pl.col(name).rolling_mean(size, min_samples=1).alias(f"{name}_{size}")
        for size in _several_sizes(t)
        for name in ("v1", "v2")
    )


def _several_duckdb(t: Tables) -> str:
    return ", ".join(f"avg({name}) {_rows(size)}" for size in _several_sizes(t) for name in ("v1", "v2"))


def _weighted_pandas(t: Tables) -> Any:
    weighted = (t.pandas["v1"] * t.pandas["weights"]).rolling(t.w, min_periods=1).sum()
    return weighted / t.pandas["weights"].rolling(t.w, min_periods=1).sum()


def _weighted_polars(t: Tables) -> Any:
    weighted = (pl.col("v1") * pl.col("weights")).rolling_sum(t.w, min_samples=1)
    return t.polars.select(r=weighted / pl.col("weights").rolling_sum(t.w, min_samples=1))


def _squared(result: pa.Table) -> pa.Table:
    return pa.table({"r": result["r"].to_numpy() ** 2})


QUESTIONS = (
    Question("mean", **_mean(lambda t: t.w)),
    Question("window small", **_mean(lambda t: t.small)),
    Question("window large", **_mean(lambda t: t.large)),
    Question(
        "min",
        lambda t: _rolled(t, t.w, r=wr.min("v1")),
        lambda t: t.pandas["v1"].rolling(t.w, min_periods=1).min(),
        lambda t: t.polars.select(r=pl.col("v1").rolling_min(t.w, min_samples=1)),
        lambda t: f"min(v1) {_rows(t.w)}",
    ),
    Question(
        "median",
        lambda t: _rolled(t, t.w, r=wr.median("v1")),
        lambda t: t.pandas["v1"].rolling(t.w, min_periods=1).median(),
        lambda t: t.polars.select(r=pl.col("v1").rolling_median(t.w, min_samples=1)),
        lambda t: f"median(v1) {_rows(t.w)}",
    ),
    Question(
        "multiroll",
        lambda t: _rolled(t, _several_sizes(t), r=wr.mean("v1"), s=wr.mean("v2")),
        _several_pandas,
        _several_polars,
        _several_duckdb,
        ("r", "s"),
    ),
    Question(
        "weighted",
        lambda t: _rolled(t, t.w, r=wr.weighted_mean("v1", "weights")),
        _weighted_pandas,
        _weighted_polars,
        lambda t: f"sum(v1 * weights) {_rows(t.w)} / sum(weights) {_rows(t.w)}",
    ),
    Question("uneven dense", **_uneven("id2")),
    Question("uneven sparse", **_uneven("id3")),
    Question(
        "regression",
        lambda t: _squared(_rolled(t, t.w, r=wr.corr("v1", "v2"))),
        lambda t: t.pandas["v1"].rolling(t.w, min_periods=2).corr(t.pandas["v2"]) ** 2,
        lambda t: t.polars.select(r=pl.rolling_corr("v1", "v2", window_size=t.w, min_samples=2) ** 2),
        lambda t: f"regr_r2(v2, v1) {_rows(t.w)}",
    ),
)
