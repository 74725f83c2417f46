"""As-of windows: features of 500,000 labels from 5 million events, against range joins in DuckDB and Polars.

    python bench/asof.py [--quick] [--only sums|extremes|one]

For each label the events of its key in the last 1, 7 and 30 days. Peers compute the same numbers, which are
compared:

DuckDB        one left join on key and time at the longest size, then aggregates with FILTER for the others
Polars        ``join_where`` on key and time at the longest size, then a group with filters
Polars asof   sums and counts alone: running totals, and two ``join_asof`` per size whose difference counts

Figures are seconds, the best of a few turns of each, and how many times faster windrow is. Goal: 5 times.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from common import Settings, heading, least_seconds, machine, progress, table, verdict

import windrow as wr

DAY = 86_400
SIZES = {"1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY}
GOAL = 5.0
#: rows that a join in Polars may make before it is left out: more do not fit the memory of a small machine
MOST_JOINED = 60_000_000


def tables(settings: Settings) -> tuple[pa.Table, pa.Table]:
    """Events of 90 days in order of time, and labels in no order."""
    rng = np.random.default_rng(7)
    rows, asked, keys = settings.pick((5_000_000, 500_000, 20_000), (500_000, 50_000, 5_000))
    moments = np.sort(rng.integers(0, 90 * DAY, rows)).astype("datetime64[s]")
    events = pa.table({"ts": moments, "user": rng.integers(0, keys, rows), "x": rng.random(rows)})
    at = rng.integers(30 * DAY, 91 * DAY, asked).astype("datetime64[s]")
    labels = pa.table({"at": at, "who": rng.integers(0, keys, asked), "row": np.arange(asked)})
    return events, labels


#: what is computed: the aggregate here, in SQL as far as its filter, and in Polars
AGGREGATES: dict[str, tuple[Any, str, str]] = {
    "total": (wr.sum("x"), "coalesce(sum(e.x)", "sum"),
    "n": (wr.count(), "coalesce(count(e.x)", "count"),
    "top": (wr.max("x"), "coalesce(max(e.x)", "max"),
    "sd": (wr.stddev("x"), "coalesce(stddev_samp(e.x)", "std"),
}
WORK = {"sums": ["total", "n"], "extremes": ["total", "n", "top", "sd"], "one": ["total"]}


def windrow(events: Any, labels: Any, names: list[str], sizes: list[str]) -> Any:
    query = wr.query(time="ts", by="user").asof(**{size: size for size in sizes})
    found = query.agg(**{name: AGGREGATES[name][0] for name in names}).run(
        events, at=labels, at_time="at", at_by="who"
    )
    return _numbers(found, names, sizes)


def in_duckdb(database: Any, names: list[str], sizes: list[str]) -> Any:
    longest = max(SIZES[size] for size in sizes)
    calls = ", ".join(
        f"{AGGREGATES[name][1]} FILTER (e.ts >= l.at - INTERVAL {SIZES[size]} SECOND), 0) AS {name}_{size}"
        for name in names
        for size in sizes
    )
    found = database.sql(
        f"""SELECT l.row, {calls} FROM labels l LEFT JOIN events e
        ON e.user = l.who AND e.ts < l.at AND e.ts >= l.at - INTERVAL {longest} SECOND
        GROUP BY l.row ORDER BY l.row"""
    )
    return _numbers(found.to_arrow_table(), names, sizes)


def by_join_where(events: Any, labels: Any, names: list[str], sizes: list[str]) -> Any:
    since = pl.col("at") - pl.duration(seconds=max(SIZES[size] for size in sizes))
    inside = [pl.col("user") == pl.col("who"), pl.col("ts") < pl.col("at"), pl.col("ts") >= pl.col("since")]
    joined = labels.lazy().with_columns(since=since).join_where(events.lazy(), *inside)
    expressions = {f"{name}_{size}": _within(AGGREGATES[name][2], size) for name in names for size in sizes}
    found = joined.group_by("row").agg(**expressions).collect()
    every = labels.select("row").join(found, on="row", how="left").sort("row")
    return _numbers(every.to_arrow(), names, sizes)


def _within(method: str, size: str) -> Any:
    """An aggregate over the rows of a size alone."""
    inside = pl.col("ts") >= pl.col("at") - pl.duration(seconds=SIZES[size])
    return getattr(pl.col("x").filter(inside), method)()


def by_join_asof(events: Any, labels: Any, names: list[str], sizes: list[str]) -> Any:
    """Running totals at both ends of each window."""
    running = events.sort("ts").with_columns(
        total=pl.col("x").cum_sum().over("user"), n=pl.col("x").cum_count().over("user").cast(pl.Float64)
    )
    ends = {"end": 0} | {size: SIZES[size] for size in sizes}
    columns = {}
    for end, seconds in ends.items():
        moved = labels.with_columns(at=pl.col("at") - pl.duration(seconds=seconds)).sort("at")
        joined = moved.join_asof(
            running, left_on="at", right_on="ts", by_left="who", by_right="user", allow_exact_matches=False
        )
        columns[end] = joined.sort("row").select(pl.col(names).fill_null(0.0))
    found = {f"{n}_{size}": columns["end"][n] - columns[size][n] for n in names for size in sizes}
    return _numbers(pl.DataFrame(found).to_arrow(), names, sizes)


def _numbers(found: Any, names: list[str], sizes: list[str]) -> Any:
    columns = [found[f"{name}_{size}"].to_numpy() for name in names for size in sizes]
    return np.nan_to_num(np.stack([np.asarray(column, float) for column in columns]))


def measure(settings: Settings, only: list[str]) -> list[dict[str, Any]]:
    events, labels = tables(settings)
    frames = pl.from_arrow(events), pl.from_arrow(labels)
    database = duckdb.connect()
    database.register("events", events)
    database.register("labels", labels)
    held = len(labels) * len(events) / len(set(events["user"].to_pylist())) / 3  # in 30 of 90 days
    found = []
    for what, names in WORK.items():
        if only and what not in only:
            continue
        sizes = ["7d"] if what == "one" else list(SIZES)
        peers: dict[str, Callable[[], Any]] = {"DuckDB x": lambda n=names, s=sizes: in_duckdb(database, n, s)}
        if held * (7 / 30 if what == "one" else 1) < MOST_JOINED:
            peers["Polars x"] = lambda n=names, s=sizes: by_join_where(*frames, n, s)
        if set(names) <= {"total", "n"}:
            peers["Polars asof x"] = lambda n=names, s=sizes: by_join_asof(*frames, n, s)
        ours = lambda n=names, s=sizes: windrow(events, labels, n, s)  # noqa: E731
        found.append(compare(settings, what, ", ".join(names), ", ".join(sizes), ours, peers))
    return found


def compare(
    settings: Settings, what: str, names: str, sizes: str, ours: Callable[[], Any], peers: dict[str, Any]
) -> dict[str, Any]:
    wanted = ours()
    for name, peer in peers.items():
        progress(f"{what}: {name.removesuffix(' x')}")
        assert np.allclose(wanted, peer(), rtol=1e-6, atol=1e-6), f"{name} disagrees at {what}"
    progress(f"{what}: all in turn")
    times = least_seconds([ours, *peers.values()], repeats=2, patience=0)
    row: dict[str, Any] = {"aggregates": names, "sizes": sizes, "windrow s": times[0]}
    row |= dict.fromkeys(("DuckDB x", "Polars x", "Polars asof x"))
    row |= {name: seconds / times[0] for name, seconds in zip(peers, times[1:], strict=True)}
    row["goal"] = verdict(min(seconds for seconds in times[1:]) >= GOAL * times[0])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--only", action="append", choices=list(WORK), help="may be given again")
    arguments = parser.parse_args()
    settings = Settings(quick=arguments.quick)
    print(machine())
    rows = measure(settings, arguments.only or [])
    counts = settings.pick(
        "5,000,000 events, 500,000 labels, 20,000 keys", "500,000 events, 50,000 labels, 5,000 keys"
    )
    heading(f"as-of windows: {counts}", f"peers: their time by windrow's; goal {GOAL:g} times")
    formats = {"windrow s": ".3f", "DuckDB x": ".1f", "Polars x": ".1f", "Polars asof x": ".1f"}
    table(rows, **formats)


if __name__ == "__main__":
    main()
