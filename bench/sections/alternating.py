"""Sides of a comparison, run in turn several times; and the figures that come of it, on paper and in JSON.

A ratio is of times of the same turn: the peer's over windrow's, so that above 1 windrow is ahead and below 1
it is behind. Its figure is the median of all turns, with the least and the largest beside it.
"""

from __future__ import annotations

import gc
import json
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from common import heading, machine, table

__all__ = ["TURNS", "Figure", "Part", "alternate", "clocked"]

#: the fewest that have a median with a spread
TURNS = 3
#: where turns are short, so many of them at most, for so long
_MOST_TURNS, _PATIENCE_S = 15, 2.0
Side = Callable[[], float]


def clocked(run: Callable[[], Any], clock: Side = time.perf_counter) -> Side:
    """A side that takes as long as ``run`` does."""

    def side() -> float:
        begun = clock()
        run()
        return clock() - begun

    return side


def alternate(sides: Mapping[str, Side], turns: int = TURNS) -> dict[str, list[float]]:
    """The seconds of each side in each turn: so many turns, and more where all of them take no time. Every
    other turn goes backwards, so that none always follows the same one."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    begun = time.perf_counter()
    for turn in range(max(turns, _MOST_TURNS)):
        if turn >= turns and time.perf_counter() - begun > _PATIENCE_S:
            break
        for name in list(sides)[:: 1 if turn % 2 == 0 else -1]:
            gc.collect()
            found[name].append(sides[name]())
    return found


@dataclass(frozen=True)
class Figure:
    """How a peer compares with windrow at one question."""

    what: str
    #: which of windrow's engines, and which peer
    ours: str
    against: str
    rows: int
    windrow_s: list[float]
    peer_s: list[float]

    @property
    def ratios(self) -> list[float]:
        return [peer / mine for mine, peer in zip(self.windrow_s, self.peer_s, strict=True)]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    def as_dict(self) -> dict[str, Any]:
        ends = {"ratio": self.ratio, "least": min(self.ratios), "most": max(self.ratios)}
        return asdict(self) | ends

    def as_row(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "windrow": self.ours,
            "against": self.against,
            "windrow s": statistics.median(self.windrow_s),
            "peer s": statistics.median(self.peer_s),
            "ratio": self.ratio,
            "least": min(self.ratios),
            "most": max(self.ratios),
            "windrow rows/s": self.rows / statistics.median(self.windrow_s),
        }


def _command(typed: list[str]) -> str:
    """What was typed, without where the figures go, how long it may take, and where a checkout is.

    >>> _command(["/windrow/bench/rollfun.py", "--quick", "--budget", "60", "--json", "here.json"])
    'bench/rollfun.py --quick'
    >>> _command(["bench/scotty.py", "--scotty", "/home/me/scotty"])
    'bench/scotty.py --scotty CHECKOUT'
    """
    program, *options = typed
    if "--scotty" in options:
        options[options.index("--scotty") + 1] = "CHECKOUT"
    for aside in ("--json", "--budget"):
        if aside in options:
            place = options.index(aside)
            options[place : place + 2] = []
    return shlex.join([f"bench/{Path(program).name}", *options])


@dataclass
class Part:
    """What one benchmark of the field found."""

    name: str
    title: str
    command: str = field(default_factory=lambda: _command(sys.argv))
    about: dict[str, str] = field(default_factory=machine)
    figures: list[Figure] = field(default_factory=list)
    #: peers that were left out, each with the reason
    skipped: dict[str, str] = field(default_factory=dict)
    #: further columns, such as sizes of state: a title, and rows
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    #: how long all of it took, once it is written
    seconds: float = 0.0
    #: whether all questions were asked, or left out for want of time
    is_complete: bool = False
    _begun: float = field(default_factory=time.perf_counter)

    def add(
        self, what: str, rows: int, seconds: Mapping[str, list[float]], pairs: Mapping[str, tuple[str, ...]]
    ) -> None:
        """``pairs``: to a windrow side the peers that it is compared with, as far as they ran."""
        for ours, peers in pairs.items():
            for peer in peers:
                if peer in seconds:
                    self.figures.append(Figure(what, ours, peer, rows, seconds[ours], seconds[peer]))

    def show(self) -> None:
        print(", ".join(f"{name} {what}" for name, what in self.about.items()))
        heading(self.title, "ratio: the peer's time over windrow's, the median of all turns")
        numbers = dict.fromkeys(("ratio", "least", "most"), ".2f")
        seconds = {"windrow s": ".4f", "peer s": ".4f", "windrow rows/s": ",.0f"}
        table([figure.as_row() for figure in self.figures], **numbers, **seconds)
        for title, rows in self.tables.items():
            heading(title)
            table(rows, **{name: ",.0f" for row in rows for name, v in row.items() if not isinstance(v, str)})
        for peer, reason in self.skipped.items():
            print(f"   {peer} was left out: {reason}")

    def so_far(self) -> float:
        """Seconds since the benchmark began."""
        return time.perf_counter() - self._begun

    def write(self, path: str | None) -> None:
        """As JSON; to nowhere if no path is given."""
        if path:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self.seconds = self.so_far()
            figures = [figure.as_dict() for figure in self.figures]
            plain = {name: value for name, value in vars(self).items() if not name.startswith("_")}
            Path(path).write_text(json.dumps(plain | {"figures": figures}, indent=1) + "\n")
