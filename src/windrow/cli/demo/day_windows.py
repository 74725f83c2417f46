"""What the results of the 24-hour windows show: how they rise as calls come, and fall as calls leave."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Fall", "day_windows", "largest_fall", "noons"]


@dataclass(frozen=True)
class Fall:
    """A call that was the longest of its region has become 24 hours old."""

    region: str
    at: Any
    longest: int
    who: str
    then: int

    def __str__(self) -> str:
        return (
            f"At {self.at:%Y-%m-%d %H:%M} the longest call of the region {self.region} fell from\n"
            f"{self.longest:,} s to {self.then:,} s: the call of {self.who} was 24 hours old, and left the "
            "window."
        )


def day_windows(results: pa.Table) -> pa.Table:
    """The results of 24-hour windows, by region and time."""
    found = results.filter(pc.equal(results.column("window"), "day"))
    return found.sort_by([("region", "ascending"), ("window_end", "ascending")])


def largest_fall(day: pa.Table) -> Fall | None:
    """From one window to the next of a region; None if the longest call never falls."""
    rows = day.select(["region", "window_end", "longest", "who"]).to_pylist()
    falls = [
        Fall(now["region"], now["window_end"], before["longest"], before["who"], now["longest"])
        for before, now in itertools.pairwise(rows)
        if before["region"] == now["region"] and before["longest"] > now["longest"]
    ]
    return max(falls, key=lambda fall: fall.longest - fall.then, default=None)


def noons(day: pa.Table, region: str) -> pa.Table:
    """The windows of a region that end at noon."""
    ends = day.column("window_end")
    is_noon = pc.and_(pc.equal(pc.hour(ends), 12), pc.equal(pc.minute(ends), 0))
    found = day.filter(pc.and_(is_noon, pc.equal(day.column("region"), region)))
    return found.select(["window_end", "longest", "ties", "who", "mean", "calls"])
