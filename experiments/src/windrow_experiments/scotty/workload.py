"""The workload of [Scotty] section VII, and how it goes through windrow and through the peers.

The paper replays readings of a football match. These are generated: so many rows per second of event time, a
silence of 1.5 s five times a minute that parts sessions of gap 1 s, a share of rows that arrive up to 2 s
after their time, evenly spread. Queries ask for the sum and the maximum of windows of 1 to 20 s and of
sessions; the watermark follows the latest row at 2 s, so that no row is too late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr
from windrow.slicing import time_manager
from windrow_experiments.scotty.peers import Buckets, FlatFATRows

__all__ = [
    "BATCH",
    "DELAY",
    "DENSITY",
    "GAP",
    "Kinds",
    "arrays",
    "batches",
    "events",
    "lazy_or_eager",
    "peers",
    "query",
    "results_of_peer",
    "results_of_windrow",
    "through_peer",
    "through_windrow",
    "tumbling",
]

#: milliseconds by which rows may be late, and which part sessions
DELAY = 2_000
GAP = 1_000
BATCH = 100_000
#: rows a second of event time
DENSITY = 15_000
#: (size, slide) of each kind of window, in milliseconds
Kinds = list[tuple[int, int]]


def events(rows: int, disorder: float, density: int = DENSITY, seed: int = 5) -> pa.Table:
    """Times in milliseconds, in the order of arrival; a share of rows arrives late."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, max(rows * 1_000 // density, 1), rows))
    times += 1_500 * (times // 12_000)  # five silences a minute
    delays = (rng.random(rows) < disorder) * rng.integers(0, DELAY, rows)
    order = np.argsort(times + delays, kind="stable")
    return pa.table({"t": times[order], "v": rng.random(rows)})


def batches(data: pa.Table, rows: int = BATCH) -> list[pa.Table]:
    return [data.slice(first, rows) for first in range(0, data.num_rows, rows)]


def tumbling(count: int) -> Kinds:
    """Tumbling windows whose lengths are spread evenly from 1 to 20 s: every row is in ``count`` of them.

    >>> tumbling(3)
    [(1000, 1000), (10500, 10500), (20000, 20000)]
    """
    lengths = np.linspace(1_000, 20_000, count).round().astype(int) if count > 1 else [20_000]
    return [(int(length), int(length)) for length in lengths]


def query(chosen: Kinds, watermark: int | None = DELAY, **aggregates: Any) -> Any:
    """Those windows and a session; sum and max unless other aggregates are given."""
    windows = {
        f"w{k}": wr.Tumbling(size) if size == slide else wr.Sliding(size, slide=slide)
        for k, (size, slide) in enumerate(chosen)
    }
    waits: dict[str, Any] = {} if watermark is None else {"watermark": watermark}
    named = wr.query(time="t", **waits).window(**windows, visit=wr.Session(GAP))
    return named.agg(**(aggregates or {"total": wr.sum("v"), "top": wr.max("v")}))


@contextmanager
def lazy_or_eager(eager: bool) -> Iterator[None]:
    """Operators that take their first rows in here keep slices in a lazy store, or in an eager one. Otherwise
    the operator chooses, by the number of slices of its longest window."""
    chosen = time_manager.MOST_LAZY
    time_manager.MOST_LAZY = 0 if eager else 1 << 62
    try:
        yield
    finally:
        time_manager.MOST_LAZY = chosen


def through_windrow(asked: Any, parts: list[pa.Table]) -> list[pa.Table]:
    operator = asked.open()
    return [operator.push(part) for part in parts] + [operator.finish()]


def arrays(parts: list[pa.Table]) -> list[tuple[Any, Any]]:
    return [(part["t"].to_numpy(), part["v"].to_numpy()) for part in parts]


def through_peer(peer: Any, parts: list[tuple[Any, Any]]) -> list[Any]:
    found, largest = [], 0
    for times, values in parts:
        largest = max(largest, int(times.max()))
        found.append(peer.push(times, values, largest - DELAY))
    return [*found, peer.fire(largest + 60_000)]


def peers(chosen: Kinds, rows: int, density: int = DENSITY) -> dict[str, Callable[[], Any]]:
    """What makes each peer, with room for so many rows."""
    span = rows * 1_125 // density + 100_000
    held = min(rows, 24 * density + 2 * BATCH)
    return {
        "buckets": lambda: Buckets(chosen, GAP, min(span, BATCH * 1_125 // density + 60_000)),
        "FlatFAT": lambda: FlatFATRows(chosen, GAP, held),
    }


def results_of_windrow(chosen: Kinds, parts: list[pa.Table]) -> Any:
    """Rows of (kind, start, end, sum, max) as peers give them, sorted; the session is the last kind."""
    ours = pa.concat_tables(through_windrow(query(chosen), parts))
    numbers = {f"w{k}": k for k in range(len(chosen))} | {"visit": len(chosen)}
    kinds = np.array([numbers[name] for name in ours["window"].to_pylist()])
    columns = [ours[name].to_numpy() for name in ("window_start", "window_end", "total", "top")]
    return _sorted(np.column_stack([kinds, *columns]))


def results_of_peer(peer: Any, parts: list[pa.Table]) -> Any:
    """The same of a peer."""
    return _sorted(np.concatenate(through_peer(peer, arrays(parts))))


def _sorted(found: Any) -> Any:
    return found[np.lexsort(found.T[2::-1])]
