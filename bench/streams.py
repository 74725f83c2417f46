"""The operator's benchmarks: endless input through ``query.open()``, beside the peers of [Scotty] figure 5.

    python bench/streams.py [--quick] [--only concurrent|state|latency]

Workload and peers are those of ``windrow_experiments.scotty``, which has the figure itself; here windows are
sliding as well. Results of all are compared on a small input first. Rates are per second of processor time,
the best of a few turns of each: all of it runs in one thread, and what else the machine does should not
count.
"""

from __future__ import annotations

import argparse
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
from common import Settings, heading, machine, progress, table

import windrow as wr
from windrow_experiments.scotty.rates import best_steady, peer_rate
from windrow_experiments.scotty.workload import (
    BATCH,
    DENSITY,
    Kinds,
    arrays,
    batches,
    events,
    peers,
    query,
    results_of_peer,
    results_of_windrow,
    through_windrow,
)

SECTIONS = ("concurrent", "state", "latency")


def kinds(count: int) -> Kinds:
    """Distinct (size, slide) of 1 to 20 s in steps of 100 ms, half of them tumbling as far as there are
    sizes."""
    rng = np.random.default_rng(11)
    found = dict.fromkeys([(10_000, 1_000)])
    tumbling = iter(rng.permutation(np.arange(1_000, 20_001, 100)).tolist())
    while len(found) < count:
        size = next(tumbling, None) if len(found) % 2 else None
        if size is not None:
            found[(size, size)] = None
            continue
        size = int(rng.integers(10, 201)) * 100
        found[(size, int(rng.integers(5, size // 100 + 1)) * 100)] = None
    return list(found)


def check_results() -> None:
    """All compute the same on a small input."""
    data = events(30_000, 0.2)
    parts = batches(data, 5_000)
    for count in (1, 10, 100):
        wanted = results_of_windrow(kinds(count), parts)
        for name, make in peers(kinds(count), data.num_rows).items():
            found = results_of_peer(make(), parts)
            assert found.shape == wanted.shape, f"{name}: {found.shape} windows, not {wanted.shape}"
            assert np.allclose(found, wanted), f"{name} disagrees with windrow"


def concurrent(settings: Settings) -> list[dict[str, Any]]:
    """1 to 1,000 windows of 1 to 20 s and a session; 20 % of rows out of order by up to 2 s."""
    rows = settings.pick(5_000_000, 1_000_000)
    counts = (1, 10, 100, 1_000)
    found = []
    for density in (DENSITY, 2_000):
        parts = batches(events(rows, 0.2, density))
        runs, results = [], []
        for count in counts:
            progress(f"{count:,} windows, {density:,} rows a second of event time")
            runs.append((query(kinds(count)), parts))
            results.append(sum(result.num_rows for result in through_windrow(*runs[-1])))
        seconds, first = best_steady(runs).T
        for k, count in enumerate(counts):
            row = {
                "rows/s of time": density,
                "windows": count,
                "results": results[k],
                "first batch ms": 1_000 * float(first[k]),
                "windrow rows/s": int(BATCH / seconds[k]),
                "of one window": float(seconds[0] / seconds[k]),
            }
            found.append(row | _peer_rates(settings, count, BATCH / seconds[k], density))
    return found


def _peer_rates(settings: Settings, count: int, rate: float, density: int) -> dict[str, Any]:
    """Peers run on fewer rows where all of them would take minutes."""
    found: dict[str, Any] = {}
    if density != DENSITY:
        names = ("buckets rows/s", "windrow / buckets", "FlatFAT rows/s", "windrow / FlatFAT")
        return dict.fromkeys(names)
    chosen = kinds(count)
    for name, most in (("buckets", 2_000_000 // max(count // 10, 1)), ("FlatFAT", 200_000)):
        rows = max(50_000, most // settings.pick(1, 4))
        progress(f"{name}, {count:,} windows, {rows:,} rows")
        of_peer = peer_rate(peers(chosen, rows)[name], arrays(batches(events(rows, 0.2))))
        found[f"{name} rows/s"] = int(of_peer)
        found[f"windrow / {name}"] = float(rate / of_peer)
    return found


def _day(keys: int, minutes: int, first: int, rows_a_minute: int) -> pa.Table:
    """Rows of some minutes, of all keys in turn; times in seconds."""
    rng = np.random.default_rng(first)
    rows = minutes * rows_a_minute
    times = np.sort(rng.integers(60 * first, 60 * (first + minutes), rows))
    whose = (np.arange(rows) + first * rows_a_minute) % keys
    return pa.table({"t": times, "k": whose, "v": rng.random(rows)})


def _sliding_day() -> Any:
    day = wr.Sliding(86_400, slide=60)
    return wr.query(time="t", by="k", watermark=60).window(day).agg(total=wr.sum("v"), top=wr.max("v"))


def state(settings: Settings) -> list[dict[str, Any]]:
    """Sliding 24 h / 1 min, sum and max: bytes per key as a stream goes on, and when it is finished."""
    keys = settings.pick(1_000, 50)
    found = []
    for name, rows_a_minute in (("a minute", keys), ("an hour", max(1, keys // 60))):
        operator = _sliding_day().open()
        for step in range(16):
            progress(f"a row {name} of each key: {6 * (step + 1)} hours")
            for hour in range(6):
                operator.push(_day(keys, 60, 360 * step + 60 * hour, rows_a_minute))
            if step in (3, 7, 11, 15):
                found.append(_held(name, f"{6 * (step + 1)} h", operator, keys))
        operator.finish()
        found.append(_held(name, "finished", operator, keys))
    return found


def _held(name: str, when: str, operator: Any, keys: int) -> dict[str, Any]:
    """A bucket per window has 1,440 of them open a key: key, start, count, sum and maximum of each."""
    metrics = operator.metrics
    return {
        "a row of each key": name,
        "after": when,
        "rows in": metrics.rows_in,
        "slices a key": metrics.slices // keys,
        "state bytes": metrics.state_bytes,
        "bytes per key": metrics.state_bytes // keys,
        "buckets: bytes per key": 1_440 * 40 if metrics.slices else 0,
    }


def latency(settings: Settings) -> list[dict[str, Any]]:
    """A push of 100 rows into 24 h / 1 min of many keys: milliseconds of processor time."""
    found = []
    for keys in settings.pick((1, 100, 1_000), (1, 50)):
        progress(f"24 h of {keys:,} keys")
        operator = _sliding_day().open()
        for hour in range(25):
            operator.push(_day(keys, 60, 60 * hour, keys))
        took: dict[bool, list[float]] = {True: [], False: []}
        rng = np.random.default_rng(1)
        for k in range(400):
            # every tenth push begins a minute, so that windows of all keys are due
            times = np.sort(rng.integers(0, 6, 100)) + 90_000 + 6 * k
            small = pa.table({"t": times, "k": rng.integers(0, keys, 100), "v": rng.random(100)})
            begun = process_time()
            result = operator.push(small)
            took[result.num_rows > 0].append(1_000 * (process_time() - begun))
        row: dict[str, Any] = {"keys": keys, "slices": operator.metrics.slices}
        for due, name in ((False, "nothing due"), (True, "windows due")):
            if took[due]:
                row[f"{name}: median ms"] = float(np.median(took[due]))
                row[f"{name}: 99 %"] = float(np.quantile(took[due], 0.99))
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmarks of windrow's operator for endless input.")
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section; may be given again")
    options = parser.parse_args()
    settings = Settings(quick=options.quick)
    print(", ".join(f"{name} {what}" for name, what in machine().items()))
    progress("comparing results")
    check_results()
    for name in options.only or SECTIONS:
        section = globals()[name]
        found = section(settings)
        heading(name, *(section.__doc__ or "").splitlines()[:1])
        numbers = {k: ".2f" for row in found for k, v in row.items() if isinstance(v, float)}
        table(found, **(numbers | {k: ",d" for row in found for k, v in row.items() if isinstance(v, int)}))


if __name__ == "__main__":
    main()
