"""What ``make chaos`` counts: how often each scenario was tried, and how often it held.

Tests count whatever they are run by; only where WINDROW_CHAOS_RECORD names a file is a line of JSON added to
it, from which ``tests/chaos.py`` makes its table. A scenario is counted in several tests, or in several
processes, and its lines add up.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["RECORD", "SCENARIOS", "Tally", "counted", "how_many", "read_counts", "table"]

#: the environment variable that names the file of counts
RECORD = "WINDROW_CHAOS_RECORD"

#: what is tried, and what it means that it held
SCENARIOS: dict[str, str] = {
    "Operators on RocksDB, process killed": (
        "opened again, no step is missing that had returned; every result ever returned, and all counts, "
        "are those of a run never killed"
    ),
    "Operators on Redis, process killed": "the same",
    "Operators on Redis, server killed and started again": "the same, in the process that continued",
    "Windows (AMTA) on RocksDB, process killed": (
        "opened again, the window is one that it was between two operations, not before the last that was "
        "confirmed"
    ),
    "Windows (AMTA) on Redis, process killed": "the same",
    "RocksDB's log damaged": "refused by name, and stays refused, or nothing is missing",
    "RocksDB's log cut off after the last confirmed write": (
        "all confirmed writes are there, and of the others the first ones, each of them whole"
    ),
    "Disk full": "the write fails by name and is repeated; results are those of a disk never full",
    "Two writers of one operator": (
        "the earlier one gets WindowTaken and has written nothing; every step was emitted once, from one of "
        "them"
    ),
    "Store put back to an older state under a live operator": (
        "WindowTaken at the next step, and nothing written; opened again, it continues from there"
    ),
    "Forged state with a right checksum": (
        "a named error or results; no access outside of an array, no crash"
    ),
    "Stream on Spark, driver, executor or worker killed": (
        "once it is through, the output is that of a run never killed: nothing twice, nothing lost"
    ),
    "Stream on Spark, killed while history is folded in batch": "the same, with history taken once",
    "Stream on Spark, killed while its first micro-batch loads the state of history": "the same",
    "Checkpoint built from history being rescaled, process killed": (
        "the old checkpoint is as it was, and the new one is not there, or whole; started again, the output "
        "is that of a run never killed"
    ),
}


def how_many(variable: str, few: int) -> int:
    """How often a test tries: few times, unless an environment variable says otherwise."""
    return int(os.environ.get(variable, few))


class Tally:
    """How often a scenario was tried and held."""

    def __init__(self) -> None:
        self.tried = self.held = 0

    def add(self, tried: int, held: int) -> None:
        self.tried, self.held = self.tried + tried, self.held + held

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """One more, which has held if nothing is raised."""
        self.tried += 1
        yield
        self.held += 1


@contextmanager
def counted(scenario: str) -> Iterator[Tally]:
    """Count a scenario; what was counted is recorded however it ends."""
    assert scenario in SCENARIOS, f"{scenario!r} is not among the scenarios"
    tally = Tally()
    try:
        yield tally
    finally:
        path = os.environ.get(RECORD)
        if path:
            line = json.dumps({"scenario": scenario, "tried": tally.tried, "held": tally.held})
            with Path(path).open("a") as file:
                file.write(line + "\n")


def read_counts(lines: Iterable[str]) -> dict[str, tuple[int, int]]:
    """How often each scenario was tried and held, in the order of SCENARIOS.

    >>> lines = [
    ...     '{"scenario": "Disk full", "tried": 2, "held": 2}',
    ...     '{"scenario": "Disk full", "tried": 1, "held": 0}',
    ... ]
    >>> read_counts(lines)
    {'Disk full': (3, 2)}
    """
    found: dict[str, tuple[int, int]] = {}
    for line in lines:
        count = json.loads(line)
        tried, held = found.get(count["scenario"], (0, 0))
        found[count["scenario"]] = tried + count["tried"], held + count["held"]
    return {name: found[name] for name in SCENARIOS if name in found}


def table(counts: Mapping[str, tuple[int, int]]) -> str:
    """The counts as a table in markdown.

    >>> print(table({"Disk full": (3, 2)}))
    | scenario | tried | held | held means |
    |---|---|---|---|
    | Disk full | 3 | 2 | the write fails by name and is repeated; results are those of a disk never full |
    """
    lines = ["| scenario | tried | held | held means |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {tried:,} | {held:,} | {SCENARIOS[name]} |" for name, (tried, held) in counts.items()
    ]
    return "\n".join(lines)
