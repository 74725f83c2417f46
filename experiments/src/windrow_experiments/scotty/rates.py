"""Rows a second of windrow's operator and of the peers, and what each combines, on the same workload.

Rates are per second of processor time: all of it runs in one thread, and what else the machine does should
not count. Combines of the operator are those of a plain Python aggregate, split into what adding rows takes
and what results take; peers count their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.monoids.base import Monoid, itself
from windrow.monoids.own import monoid
from windrow_experiments.measure import Counter
from windrow_experiments.scotty.workload import (
    DELAY,
    Kinds,
    arrays,
    lazy_or_eager,
    peers,
    query,
    through_peer,
)

__all__ = ["Combines", "best_steady", "combines", "lazy_and_eager", "peer_rate"]

#: an operator's query and its batches
Run = tuple[Any, list[pa.Table]]


def steady(asked: Any, parts: list[pa.Table]) -> tuple[float, float]:
    """Seconds that an operator takes for a batch, once it runs; and for the first, with opening it."""
    begun = process_time()
    operator = asked.open()
    operator.push(parts[0])
    opened = process_time()
    for part in parts[1:]:
        operator.push(part)
    done = process_time()
    operator.finish()
    return (done - opened) / (len(parts) - 1), opened - begun


def best_steady(runs: Sequence[Run], turns: int = 5) -> Any:
    """The shortest times of each, all in turn; rows of (a batch, the first)."""
    return np.min([[steady(*run) for run in runs] for _ in range(turns)], axis=0)


def lazy_and_eager(runs: Sequence[Run], turns: int) -> Any:
    """Rows a second of each run with the lazy and with the eager store; rows of (lazy, eager)."""
    found = []
    for asked, parts in runs:
        with lazy_or_eager(False):  # the first use loads or compiles kernels
            steady(asked, parts[:2])
    for _ in range(turns):
        for eager in (False, True):
            with lazy_or_eager(eager):
                found.append(best_steady(runs, turns=1)[:, 0])
    seconds = [np.min(found[eager::2], axis=0) for eager in (0, 1)]
    return np.array([[len(parts[0]) for _, parts in runs] / each for each in seconds]).T


def peer_rate(make: Callable[[], Any], parts: list[tuple[Any, Any]]) -> float:
    """Rows a second of a peer, kernels being loaded."""
    through_peer(make(), [(times[:1_000], values[:1_000]) for times, values in parts[:1]])
    peer = make()
    begun = process_time()
    through_peer(peer, parts)
    return sum(len(times) for times, _ in parts) / (process_time() - begun)


@dataclass(frozen=True)
class Combines:
    """Combines per row: to add it, and for results; and how many results per row there were."""

    adding: float
    results: float
    results_a_row: float


def combines(chosen: Kinds, parts: list[pa.Table], density: int) -> dict[str, Combines]:
    """What each technique combines for the same rows."""
    rows = sum(part.num_rows for part in parts)
    found = {}
    for name, eager in (("lazy", False), ("eager", True)):
        with lazy_or_eager(eager):
            found[name] = _of_operator(chosen, parts, rows)
    for name, make in peers(chosen, rows, density).items():
        peer = make()
        results = sum(len(out) for out in through_peer(peer, arrays(parts)))
        tally = peer.tally
        found[name] = Combines(int(tally.adding[0]) / rows, int(tally.results[0]) / rows, results / rows)
    return found


def _of_operator(chosen: Kinds, parts: list[pa.Table], rows: int) -> Combines:
    counter = Counter(_plain_sum())
    operator = query(chosen, watermark=None, total=counter.monoid("v")).open()
    adding = results = came = latest = 0
    for part in parts:
        adding += counter.cost(operator.push, part)
        latest = max(latest, int(part["t"].to_numpy().max()))
        before = counter.combines
        came += operator.advance(latest - DELAY).num_rows
        results += counter.combines - before
    before = counter.combines
    came += operator.finish().num_rows
    results += counter.combines - before
    return Combines(adding / rows, results / rows, came / rows)


def _plain_sum() -> Monoid:
    """Commutative, so that a slice reaches from edge to edge and is not a single moment."""
    return monoid(
        name="total", lift=itself, combine=lambda a, b: a + b, identity=0.0, commutative=True, compile=False
    )
