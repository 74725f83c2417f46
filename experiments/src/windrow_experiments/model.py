"""What an experiment is, and what it gives: tables, charts, and findings on the paper's statements.

All of it is plain data that goes to JSON and back unchanged; docs/papers.md describes the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

__all__ = ["Cell", "Chart", "Experiment", "Finding", "Result", "Series", "Settings", "Source", "Table"]

Cell = str | int | float | None
#: where numbers come from: measured here, or printed in the paper
Source = Literal["ours", "paper"]
T = TypeVar("T")


def _silent(what: str) -> None:
    pass


@dataclass(frozen=True)
class Settings:
    """How much an experiment measures, and whom it tells how far it is."""

    quick: bool = False
    seed: int = 7
    #: called with a few words whenever another part begins
    progress: Callable[[str], None] = _silent

    def pick(self, full: T, quick: T) -> T:
        """The value for a full or a quick run."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Table:
    """Numbers under column names. A cell without a value is None; "never" and the like are text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    source: Source = "ours"
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r}: {len(row)} cells under {len(self.columns)} columns: {row}"
                )


@dataclass(frozen=True)
class Series:
    """A line of a chart: points (x, y) in order of x."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Chart:
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    source: Source = "ours"
    note: str = ""
    #: "line", or "dots" for points that are not to be joined
    kind: Literal["line", "dots"] = "line"


@dataclass(frozen=True)
class Finding:
    """One statement of the paper, in our words, and what was measured here.

    ``agrees`` is None where the statement cannot be tested here; ``why`` then says why, and otherwise where a
    difference comes from.
    """

    claim: str
    agrees: bool | None
    measured: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.agrees is not True and not self.why:
            raise ValueError(f"finding {self.claim!r} does not agree: say why")

    @classmethod
    def judged(cls, claim: str, agrees: bool, measured: str, otherwise: str) -> Finding:
        """A finding whose reason is given only where it does not agree."""
        return cls(claim, agrees, measured, "" if agrees else otherwise)


@dataclass(frozen=True)
class Result:
    """What an experiment gives."""

    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    findings: Sequence[Finding] = ()
    #: how it was measured here, where that differs from the paper
    how: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: dictionaries, lists, numbers and texts only."""
        return _plain(asdict(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Result:
        """What :meth:`as_dict` made."""
        return cls(
            tables=[Table(**table) for table in data["tables"]],
            charts=[_chart(chart) for chart in data["charts"]],
            findings=[Finding(**finding) for finding in data["findings"]],
            how=data["how"],
        )


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper, and what measures it here."""

    #: what it is called on the command line, such as "daba-table2"
    name: str
    #: the paper as this project cites it: DABA, RA, MTA, Scotty
    paper: str
    #: the table or figure: "Table 2"
    where: str
    title: str
    #: what is measured, and how the paper did it, in a sentence or two
    what: str
    run: Callable[[Settings], Result] = field(repr=False, compare=False)


def _chart(data: dict[str, Any]) -> Chart:
    lines = [Series(line["name"], [(x, y) for x, y in line["points"]]) for line in data["series"]]
    return Chart(**(data | {"series": lines}))


def _plain(value: Any) -> Any:
    """Lists for tuples and Python's numbers for numpy's."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value
