"""The same work done in several ways, on more and more input: what each took, as a table and as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.cli.show.progress import human_seconds

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Comparison", "bar_table"]

#: of a terminal; one for each way
_COLOURS = ("yellow", "cyan", "magenta", "green")


@dataclass(frozen=True)
class Comparison:
    """Seconds by input and way. A factor is those of a way over those of the last way.

    >>> found = Comparison("Cost", "", ["theirs", "ours"], [("10 rows", [3.0, 0.5]), ("20 rows", [6.0, 0.5])])
    >>> found.factors(0), found.rows()[1]
    ([6.0, 12.0], ['10 rows', '3.0 s', '500 ms', '6.0'])
    """

    title: str
    about: str
    ways: Sequence[str]
    #: what was worked on, and the seconds of each way
    seconds: Sequence[tuple[str, Sequence[float]]]

    @property
    def longest(self) -> float:
        return max((time for _, times in self.seconds for time in times), default=0.0)

    def factors(self, way: int) -> list[float]:
        """How many times longer this way took than the last one, by input."""
        return [times[way] / times[-1] for _, times in self.seconds]

    def rows(self) -> list[list[str]]:
        """As a table of texts, with its head."""
        found = [["", *self.ways, "times longer"]]
        for (what, times), factor in zip(self.seconds, self.factors(0), strict=True):
            found.append([what, *map(human_seconds, times), f"{factor:.1f}"])
        return found


def bar_table(comparison: Comparison, width: int = 80, is_ascii: bool = False) -> Table:
    """A bar for each time, all on one scale, for a terminal so wide."""
    from rich.table import Table
    from rich.text import Text

    inputs = [what for what, _ in comparison.seconds]
    room = max(10, width - max(map(len, inputs)) - max(map(len, comparison.ways)) - 12)
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    for what, times in comparison.seconds:
        for number, (way, time) in enumerate(zip(comparison.ways, times, strict=True)):
            bar = _bar(time / comparison.longest, room, _COLOURS[number % len(_COLOURS)], is_ascii)
            table.add_row(Text("" if number else what), Text(way), bar, Text(human_seconds(time)))
    return table


def _bar(share: float, width: int, colour: str, is_ascii: bool) -> Any:
    from rich.bar import Bar
    from rich.text import Text

    if is_ascii:
        return Text("#" * max(1, round(share * width)), colour)
    return Bar(1.0, 0.0, max(share, 0.5 / width), width=width, color=colour)
