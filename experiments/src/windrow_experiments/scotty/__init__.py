"""Experiments of [Scotty]: slicing, lazy and eager, beside buckets and FlatFAT."""

from __future__ import annotations

from windrow_experiments.model import Experiment, Result, Settings

__all__ = ["EXPERIMENTS"]


def _figure5a(settings: Settings) -> Result:
    from windrow_experiments.scotty.figure5a import run  # loads Numba

    return run(settings)


def _figure5b(settings: Settings) -> Result:
    from windrow_experiments.scotty.figure5b import run

    return run(settings)


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "scotty-figure5a",
        "Scotty",
        "Figure 5a",
        "Concurrent windows",
        "Throughput with 1 to 1,000 concurrent windows of 1 to 20 s and a session, 20 % of tuples out of "
        "order by up to 2 s: slicing with a lazy and an eager store, a bucket per window, FlatFAT over "
        "tuples.",
        _figure5a,
    ),
    Experiment(
        "scotty-figure5b",
        "Scotty",
        "Figure 5b",
        "Out-of-order tuples",
        "Throughput with 20 concurrent windows and a session as the share of tuples out of order grows from "
        "nothing to all.",
        _figure5b,
    ),
)
