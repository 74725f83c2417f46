"""Finds experiments by name; a paper's package is imported when its experiments are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable

from windrow_experiments.model import Experiment, Result, Settings

__all__ = ["PAPERS", "UnknownExperiment", "all_experiments", "chosen", "run_of"]

#: packages of this one, each with EXPERIMENTS, in the order in which they are shown, and the papers' titles
PAPERS = {
    "daba": "Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time (DEBS 2017)",
    "ra": "General Incremental Sliding-Window Aggregation (VLDB 2015)",
    "mta": "Monoid Tree Aggregators",
    "scotty": "Scotty: Efficient Window Aggregation for out-of-order Stream Processing (ICDE 2018)",
}


class UnknownExperiment(KeyError):
    """A name that is neither an experiment nor a paper."""

    def __str__(self) -> str:
        return str(self.args[0])


def all_experiments() -> list[Experiment]:
    """The experiments of all papers."""
    return [experiment for paper in PAPERS for experiment in _of(paper)]


def chosen(names: Iterable[str]) -> list[Experiment]:
    """The experiments of the given names, or of papers so named; all of them where no name is given.

    >>> [experiment.where for experiment in chosen(["daba-table2"])]
    ['Table 2']
    """
    wanted = list(names)
    known = all_experiments()
    by_name = {experiment.name: experiment for experiment in known}
    for name in wanted:
        if name not in by_name and name not in PAPERS:
            raise UnknownExperiment(
                f"no experiment {name!r}: name one of {', '.join(by_name)}, or a paper: {', '.join(PAPERS)}"
            )
    picked = {name for name in wanted if name in by_name}
    picked |= {e.name for name in wanted if name in PAPERS for e in _of(name)}
    return [experiment for experiment in known if not wanted or experiment.name in picked]


def run_of(module: str, name: str = "run") -> Callable[[Settings], Result]:
    """What runs an experiment, imported when it is called: a list of experiments needs no numba."""

    def run(settings: Settings) -> Result:
        result: Result = getattr(importlib.import_module(module), name)(settings)
        return result

    return run


def _of(paper: str) -> tuple[Experiment, ...]:
    return tuple(importlib.import_module(f"windrow_experiments.{paper}").EXPERIMENTS)
