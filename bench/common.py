"""What the sections of a benchmark share: timing, tables, progress, and the machine it ran on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from windrow_experiments.measure import least_seconds, machine, power

__all__ = [
    "Settings",
    "heading",
    "least_seconds",
    "machine",
    "names_among",
    "power",
    "progress",
    "table",
    "verdict",
]

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    quick: bool = False
    large: bool = False

    def pick(self, full: Any, quick: Any) -> Any:
        return quick if self.quick else full


def names_among(known: Iterable[str]) -> Callable[[str], list[str]]:
    """For argparse: names with commas between, each of them known."""
    there = list(known)

    def names(text: str) -> list[str]:
        for name in (found := text.split(",")):
            if name not in there:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(there)}")
        return found

    return names


def verdict(reached: bool) -> str:
    return "ok" if reached else "MISS"


def progress(what: str) -> None:
    print(f"... {what}", file=sys.stderr, flush=True)


def heading(title: str, *remarks: str) -> None:
    print(f"\n== {title}")
    for remark in remarks:
        print(f"   {remark}")


def table(rows: Iterable[Row], **formats: str) -> None:
    """Print rows under their keys, which need not all be there; ``formats`` has a format specification for
    columns of numbers."""
    given = list(rows)
    if not given:
        return
    names = list(dict.fromkeys(name for row in given for name in row))
    cells = [{name: _cell(row.get(name), formats.get(name, "")) for name in names} for row in given]
    widths = {name: max(len(name), *(len(row[name]) for row in cells)) for name in names}
    numeric = {name for name in names if name in formats}
    for row in [{name: name for name in names}, *cells]:
        aligned = (
            row[name].rjust(widths[name]) if name in numeric else row[name].ljust(widths[name])
            for name in names
        )
        print("   " + "  ".join(aligned).rstrip())
    sys.stdout.flush()


def _cell(value: Any, specification: str) -> str:
    if value is None:
        return "-"
    return format(value, specification) if specification and not isinstance(value, str) else str(value)
