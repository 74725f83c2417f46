"""The local engine's benchmarks: rolling and windows on tables, against Polars, pandas and DuckDB in the
same run.

    python bench/local.py [--quick] [--only rolling|callback|windows|concurrent|aggregates|...]

Peers compute the same results, which are compared. Figures are seconds and how many times windrow's time a
peer takes: the median of three turns or more, with the least and the most of them beside it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter, process_time
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from common import Settings, heading, least_seconds, progress, table
from sections.aggregates import aggregates, sketches_against_sums
from sections.alternating import Figure, Part, alternate, clocked
from sections.field_command import add_outcome, ask
from sections.folds import folds
from sections.state import state
from sections.threads import threads

import windrow as wr

AGGREGATES = {"sum": wr.sum("v"), "max": wr.max("v"), "stddev": wr.stddev("v")}


def events(rows: int, keys: int) -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "t": np.sort(rng.integers(0, 30 * 86_400, rows)),
            "k": rng.integers(0, keys, rows),
            "v": rng.random(rows),
        }
    )


#: of sections whose ratios are of several turns
FIGURES: list[Figure] = []


def compare(
    what: dict[str, Any],
    ours: Callable[[], Any],
    peers: dict[str, Callable[[], Any]],
    in_one_thread: bool = False,
) -> dict[str, Any]:
    """Check that the numbers agree, then time all in turn. What runs in one thread is measured in processor
    time, so that a peer that takes seconds is not charged for what else the machine does meanwhile."""
    wanted = np.sort(np.asarray(ours(), float))
    for name, peer in peers.items():
        found = np.sort(np.asarray(peer(), float))
        assert np.allclose(wanted, found, rtol=1e-6, equal_nan=True), f"{name} disagrees at {what}"
    clock = process_time if in_one_thread else perf_counter
    seconds = alternate({name: clocked(run, clock) for name, run in {"windrow": ours, **peers}.items()})
    row: dict[str, Any] = {**what, "windrow s": median(seconds["windrow"])}
    title = ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else str(value) for name, value in what.items()
    )
    for name in peers:
        against = name.removesuffix(" x")
        figure = Figure(title, "windrow", against, len(wanted), seconds["windrow"], seconds[name])
        FIGURES.append(figure)
        row |= {
            name: figure.ratio,
            f"{against} from": min(figure.ratios),
            f"{against} to": max(figure.ratios),
        }
    return row


def rolling(settings: Settings) -> list[dict[str, Any]]:
    rows = settings.pick(5_000_000, 500_000)
    found = []
    for keys in (1, 10_000):
        data = events(rows, keys)
        frame, relation = pl.from_arrow(data), data
        by = "k" if keys > 1 else None
        pandas_frame = data.to_pandas()
        for size in settings.pick((10, 1_000, 100_000), (10, 1_000)):
            for name, aggregate in AGGREGATES.items():
                progress(f"rolling {name} over {size:,} rows, {keys:,} keys")
                query = wr.query(time="t", by=by).rolling(rows=size).agg(r=aggregate)
                found.append(
                    compare(
                        {"keys": keys, "frame": size, "aggregate": name},
                        lambda q=query, d=data: q.run(d)["r"].to_numpy(),
                        {
                            "Polars x": lambda n=name, s=size, f=frame, b=by: _polars(f, n, s, b),
                            **_slow_peers(settings, name, size, pandas_frame, relation, by, keys),
                        },
                    )
                )
    return found


def _polars(frame: Any, name: str, size: int, by: str | None) -> Any:
    function = {"sum": "rolling_sum", "max": "rolling_max", "stddev": "rolling_std"}[name]
    expression = getattr(pl.col("v"), function)(size, min_samples=1)
    return frame.select(r=expression.over(by) if by else expression)["r"].to_numpy()


def _slow_peers(
    settings: Settings, name: str, size: int, frame: Any, relation: Any, by: str | None, keys: int
) -> dict[str, Callable[[], Any]]:
    """pandas, and DuckDB, whose stddev frames recompute: left out where a turn would take minutes."""
    method = {"sum": "sum", "max": "max", "stddev": "std"}[name]
    database = duckdb.connect()
    database.register("relation", relation)

    def pandas() -> Any:
        column = frame.groupby(by)["v"] if by else frame["v"]
        return getattr(column.rolling(size, min_periods=1), method)().to_numpy()

    def duck() -> Any:
        over = (
            f"{'PARTITION BY k ' if by else ''}ORDER BY t ROWS BETWEEN {size - 1} PRECEDING AND CURRENT ROW"
        )
        text = {"sum": "sum", "max": "max", "stddev": "stddev_samp"}[name]
        # rows of equal time have no order in SQL: number them first
        numbered = "(SELECT row_number() OVER () AS t, k, v FROM relation)"
        result = database.execute(f"SELECT {text}(v) OVER ({over}) AS r FROM {numbered}").fetchnumpy()["r"]
        return np.ma.filled(result, np.nan)

    return {"pandas x": pandas, "DuckDB x": duck}


def callback(settings: Settings) -> list[dict[str, Any]]:
    """A user's own aggregate: the spread of the last 1,000 values, against callbacks of the peers."""
    rows = settings.pick(200_000, 50_000)
    data = events(rows, 1)
    spread = wr.monoid(
        name="spread",
        lift=lambda v: (v, v),
        combine=lambda a, b: (a[0] if a[0] < b[0] else b[0], a[1] if a[1] > b[1] else b[1]),
        lower=lambda a: a[1] - a[0],
        identity=(np.inf, -np.inf),
    )
    query = wr.query(time="t").rolling(rows=1_000).agg(r=spread("v"))
    values = data["v"].to_pandas()
    series = pl.from_arrow(data)["v"]
    progress("callbacks")
    return [
        compare(
            {"frame": 1_000, "aggregate": "spread (Python)"},
            lambda: query.run(data)["r"].to_numpy(),
            {
                "pandas x": lambda: (
                    values.rolling(1_000, min_periods=1)
                    .apply(lambda w: w.max() - w.min(), raw=True)
                    .to_numpy()
                ),
                "Polars x": lambda: series.rolling_map(
                    lambda w: w.max() - w.min(), 1_000, min_samples=1
                ).to_numpy(),
            },
            in_one_thread=True,
        )
    ]


def windows(settings: Settings) -> list[dict[str, Any]]:
    """Sliding by time, and sessions, per key."""
    rows = settings.pick(5_000_000, 500_000)
    data = events(rows, 100)
    stamped = data.set_column(0, "t", pa.array(data["t"].to_numpy().astype("M8[s]")))
    frame = pl.from_arrow(stamped)
    found = []
    for size, slide in (("1h", "1h"), ("1h", "1m"), ("24h", "1m")):
        progress(f"sliding {size} / {slide}")
        query = wr.query(time="t", by="k").window(wr.Sliding(size, slide=slide)).agg(r=wr.sum("v"))
        peers: dict[str, Callable[[], Any]] = {
            "Polars x": lambda s=size, e=slide: (
                frame.group_by_dynamic(
                    "t",
                    every=e,
                    period=s,
                    offset=f"-{s}" if s != e else "0s",
                    group_by="k",
                    start_by="window",
                )
                .agg(pl.col("v").sum().alias("r"), pl.len().alias("n"))
                .filter(pl.col("n") > 0)["r"]
                .to_numpy()
            )
        }
        if size == "24h":
            peers = {}  # a row is in 1,440 windows there: no peer finishes in reasonable time
        found.append(
            compare(
                {"window": f"sliding {size} / {slide}"},
                lambda q=query: q.run(stamped)["r"].to_numpy(),
                peers,
            )
        )
    progress("sessions")
    database = duckdb.connect()
    database.register("stamped", stamped)
    session = wr.query(time="t", by="k").window(wr.Session("10m")).agg(r=wr.sum("v"))
    # RANGE takes rows of equal time together: which of them lag() finds behind a gap is up to DuckDB, and by
    # ROWS the others could be put into the session before
    text = """
        SELECT sum(v) AS r FROM (
            SELECT k, v, sum(starts) OVER (PARTITION BY k ORDER BY t RANGE UNBOUNDED PRECEDING) AS session
            FROM (
                SELECT k, t, v,
                       coalesce(t - lag(t) OVER (PARTITION BY k ORDER BY t) > INTERVAL 10 MINUTE, false)::INT
                       AS starts
                FROM stamped))
        GROUP BY k, session"""
    peer = {"DuckDB x": lambda: database.execute(text).fetchnumpy()["r"]}
    found.append(compare({"window": "session 10m"}, lambda: session.run(stamped)["r"].to_numpy(), peer))
    return found


def concurrent(settings: Settings) -> list[dict[str, Any]]:
    """1 to 1,000 windows of 1 to 20 s over one table ([Scotty] figure 5's windows): rows a second, all
    windows done."""
    rows = settings.pick(2_000_000, 300_000)
    rng = np.random.default_rng(3)
    seconds = rows // 2_000
    times = np.sort(rng.integers(0, seconds * 1_000, rows)) + (rng.random(rows) < 0.2) * rng.integers(
        -2_000, 0, rows
    )
    data = pa.table({"t": times, "v": rng.random(rows)})
    found: list[dict[str, Any]] = []
    for count in (1, 10, 100, 1_000):
        progress(f"{count:,} windows")
        chosen = {
            f"w{k}": wr.Sliding((1 + k % 20) * 1_000, slide=1_000)
            if k % 2
            else wr.Tumbling((1 + k % 20) * 1_000)
            for k in range(count)
        }
        query = wr.query(time="t").window(**chosen).agg(r=wr.sum("v"))
        query.run(data)
        (seconds_taken,) = least_seconds([lambda q=query: q.run(data)], repeats=2, patience=0)
        rate = rows / seconds_taken
        found.append(
            {
                "windows": count,
                "rows/s": rate,
                "of one window": rate / (found[0]["rows/s"] if found else rate),
                "results": query.run(data).num_rows,
            }
        )
    return found


_SECTIONS: dict[str, Callable[[Settings], list[dict[str, Any]]]] = {
    "rolling": rolling,
    "callback": callback,
    "windows": windows,
    "concurrent": concurrent,
    "folds": folds,
    "aggregates": aggregates,
    "sketches_against_sums": sketches_against_sums,
    "threads": threads,
    "state": state,
}


def show(name: str, settings: Settings) -> None:
    section = _SECTIONS[name]
    found = section(settings)
    remarks = (section.__doc__ or "").splitlines()[:1]
    if any(column.endswith(" x") for row in found for column in row):
        remarks.append("x: how many times windrow's time the peer takes; from, to: in all turns")
    heading(name, *remarks)
    numbers = {k: ".2f" for row in found for k, v in row.items() if isinstance(v, float)}
    numbers |= {"windrow s": ".4f", "windrow cpu s": ".4f"}
    table(found, **(numbers | {k: ",d" for row in found for k, v in row.items() if isinstance(v, int)}))


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmarks of windrow's local engine.")
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--only", action="append", choices=_SECTIONS, help="this section; may be given again")
    add_outcome(parser)
    options = parser.parse_args()
    settings = Settings(quick=options.quick)
    part = Part("local", "Tables in memory", figures=FIGURES)
    part.about |= {"polars": pl.__version__, "pandas": pd.__version__, "duckdb": duckdb.__version__}
    print(", ".join(f"{name} {what}" for name, what in part.about.items()))
    ask(part, {name: partial(show, name, settings) for name in _SECTIONS}, options)


if __name__ == "__main__":
    main()
