"""Experiments of [MTA]: windows that slide by a policy, in memory and on key-value stores."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from windrow_experiments.model import Experiment, Result, Settings

__all__ = ["EXPERIMENTS"]


def _run(number: int) -> Callable[[Settings], Result]:
    """What runs an experiment, loaded when it is run."""

    def run(settings: Settings) -> Result:
        result: Result = importlib.import_module(f"{__name__}.experiment{number}").run(settings)
        return result

    return run


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "mta-experiment1",
        "MTA",
        "Experiment 1, Figure 6",
        "Constant-sized windows",
        "The mean latency of inserting an update, evicting the oldest by a slide policy and asking for the "
        "result, in windows of 2^0 to 2^25 updates.",
        _run(1),
    ),
    Experiment(
        "mta-experiment2",
        "MTA",
        "Experiment 2, Figure 7",
        "Bulk eviction",
        "The latency of enforcing the slide policy when one update makes it evict 1 to 2^23 - 1 of 2^23 "
        "updates.",
        _run(2),
    ),
    Experiment(
        "mta-experiment3",
        "MTA",
        "Experiment 3, Table 2",
        "Stream analytics",
        "The mean latency of an update for six operations, two of them with policies that evict what no "
        "result can need, over 62,208,000 readings of memory usage, one a second, in windows of at most "
        "2^20.",
        _run(3),
    ),
    Experiment(
        "mta-experiment4",
        "MTA",
        "Experiment 4, Figure 8",
        "Memory limits",
        "How many updates fit in a window of capacity 2^25 when the process may use 128 MB to 32 GB.",
        _run(4),
    ),
    Experiment(
        "mta-experiment5",
        "MTA",
        "Experiment 5, Figure 9",
        "Several dimensions",
        "The mean latency of an update in a window of 2^15 on the store as it aggregates 1 to 50 dimensions, "
        "beside what as many windows would take.",
        _run(5),
    ),
)
