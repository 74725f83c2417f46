"""Visits to a web site, as clicks come in: a visit ends after 30 minutes of silence.

Clicks of phones arrive late. With an allowance, a visit that had been given out is taken back (``retracted``)
and comes out anew, so that kept results are always right.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import windrow as wr

PAGES = ["/", "/search", "/item", "/basket", "/pay"]


def clicks(count: int = 20_000, seed: int = 3) -> pa.Table:
    """Clicks of an afternoon in the order in which they arrive."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.uniform(0, 6 * 3_600, count))
    delay = np.where(rng.random(count) < 0.02, rng.uniform(1_200, 4_800, count), rng.uniform(0, 60, count))
    order = np.argsort(seconds + delay, kind="stable")
    start = np.datetime64("2024-05-01T12:00", "us")
    return pa.table(
        {
            "ts": (start + (seconds * 1e6).astype("m8[us]"))[order],
            "visitor": rng.integers(0, count // 12, count)[order],
            "page": np.array(PAGES)[rng.choice(5, count, p=[0.3, 0.3, 0.25, 0.1, 0.05])][order],
        }
    )


def main(count: int = 20_000) -> dict[str, int]:
    query = (
        wr.query(time="ts", by="visitor", watermark="5m", allowed_lateness="1h", late="return")
        .window(wr.Session("30m"))
        .agg(pages=wr.count(), first=wr.first("page"), last=wr.last("page"))
    )
    operator, table = query.open(), clicks(count)
    visits: dict[tuple[object, ...], dict[str, object]] = {}
    counted = {"given": 0, "taken back": 0}
    step = max(1, table.num_rows // 60)
    for start in range(0, table.num_rows, step):
        keep(operator.push(table.slice(start, step)), visits, counted)
    keep(operator.finish(), visits, counted)
    paid = sum(visit["last"] == "/pay" for visit in visits.values())
    late = operator.metrics.rows_late
    print(f"{table.num_rows:,} clicks, {len(visits):,} visits, of which {paid:,} ended at /pay")
    print(f"  results {counted['given']:,}, taken back {counted['taken back']:,}, late clicks {late:,}")
    return counted | {"visits": len(visits), "late": late}


def keep(
    results: pa.Table, visits: dict[tuple[object, ...], dict[str, object]], counted: dict[str, int]
) -> None:
    """What a table of visits would do with results: write by key, delete what is taken back."""
    for row in results.to_pylist():
        key = (row["visitor"], row["window_start"], row["window_end"])
        counted["taken back" if row["retracted"] else "given"] += 1
        if row["retracted"]:
            visits.pop(key, None)
        else:
            visits[key] = row


if __name__ == "__main__":
    main()
