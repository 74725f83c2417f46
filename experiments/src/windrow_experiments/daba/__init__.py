"""[DABA] section 5: latency, throughput and break-even points of Two-Stacks, FOA, IOA and DABA."""

from __future__ import annotations

from windrow_experiments.model import Experiment
from windrow_experiments.registry import run_of

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "daba-table2",
        "DABA",
        "Table 2",
        "Latency of a round",
        "Mean and standard deviation of the cycles of a round (evict, insert, query), for eight operators "
        "on a window of 2^14 values over a million rounds.",
        run_of("windrow_experiments.daba.table2"),
    ),
    Experiment(
        "daba-figure13-latency",
        "DABA",
        "Figure 13, top",
        "Latency over time",
        "The cycles of each round of a single run on a window of 2^14 values, for a cheap, a medium and an "
        "expensive operator.",
        run_of("windrow_experiments.daba.figure13_latency"),
    ),
    Experiment(
        "daba-figure13-throughput",
        "DABA",
        "Figure 13, bottom",
        "Throughput by window size",
        "Million rounds a second against the size of the window, for six algorithms and three operators.",
        run_of("windrow_experiments.daba.figure13_throughput"),
    ),
    Experiment(
        "daba-table3",
        "DABA",
        "Table 3",
        "Break-even points",
        "The window size from which an algorithm is faster than to fold the window anew for each query.",
        run_of("windrow_experiments.daba.table3"),
    ),
)
