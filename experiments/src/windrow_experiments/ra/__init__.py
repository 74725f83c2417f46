"""[RA] section 6: FlatFAT (RA) against folding the window anew (ISS) and against B-Int (AW)."""

from __future__ import annotations

from windrow_experiments.model import Experiment
from windrow_experiments.registry import run_of

__all__ = ["EXPERIMENTS"]

_PACKAGE = "windrow_experiments.ra"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "ra-table3",
        "RA",
        "Table 3",
        "Break-even points",
        "The smallest window size at which RA is faster, and 10 times faster, than to fold the window anew.",
        run_of(f"{_PACKAGE}.table3"),
    ),
    Experiment(
        "ra-figure6",
        "RA",
        "Figure 6",
        "Throughput of small windows",
        "Million tuples a second of RA and ISS for Max and StdDev, for windows of 1 to 1,024.",
        run_of(f"{_PACKAGE}.figure6"),
    ),
    Experiment(
        "ra-figure7",
        "RA",
        "Figure 7",
        "Logarithmic cost",
        "The cost of a tuple of RA and its best fit to a logarithm, for windows of up to 8 million.",
        run_of(f"{_PACKAGE}.figure7"),
    ),
    Experiment(
        "ra-figure8",
        "RA",
        "Figure 8",
        "Tumbling windows",
        "The time to aggregate a window of which nothing can be used again, with RA and with ISS.",
        run_of(f"{_PACKAGE}.figure8"),
    ),
    Experiment(
        "ra-figure9",
        "RA",
        "Figure 9",
        "Windows that grow and shrink",
        "The cost of a tuple where the capacity stays, and where it goes back and forth between n and 2n.",
        run_of(f"{_PACKAGE}.figure9"),
    ),
    Experiment(
        "ra-figure10",
        "RA",
        "Figure 10",
        "Coarse-grained sliding",
        "The cost of a tuple where m tuples come and go between two results: m = 1, 4, 64, n/16, n/4, n.",
        run_of(f"{_PACKAGE}.figure10"),
    ),
    Experiment(
        "ra-figure11",
        "RA",
        "Figure 11",
        "Against B-Int",
        "The cost of a tuple of RA and of Arasu and Widom's base intervals, for Max, with m = 1 and n/16.",
        run_of(f"{_PACKAGE}.figure11"),
    ),
    Experiment(
        "ra-table4",
        "RA",
        "Table 4",
        "Against B-Int, by operator",
        "The time of B-Int over that of RA, for five operators and windows of 8, 8 thousand and 8 million.",
        run_of(f"{_PACKAGE}.table4"),
    ),
    Experiment(
        "ra-figure12",
        "RA",
        "Figure 12",
        "Memory",
        "The resident memory of a process that keeps one window, with RA and with ISS.",
        run_of(f"{_PACKAGE}.figure12"),
    ),
)
