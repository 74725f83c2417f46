"""Draws the two pictures of README: ``docs/first_screen.svg``, rows, slices and windows of its example, and
``docs/speed.svg``, five of the figures in docs/field.md.

Run it after either has changed: ``python docs/first_screen.py``. A test checks that the files are what this
script makes, and that what is drawn is what the query returns. Colours are of medium brightness, so that
they can be read on white and on black.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["BARS", "CALLS", "CHART", "PICTURE", "Bar", "chart", "factor", "picture", "windows"]

DOCS = Path(__file__).parent
PICTURE, CHART = DOCS / "first_screen.svg", DOCS / "speed.svg"
CALLS = {
    "minute": [0, 1, 7, 8, 12],
    "caller": ["ann", "bob", "cy", "dee", "eve"],
    "len": [5, 9, 4, 7, 2],
}
SIZE, SLIDE = 10, 5
GREY, BLUE, AMBER = "#6e7f91", "#3f7fd0", "#b9770e"
_WIDTH, _LEFT, _RIGHT = 760, 110, 740


@dataclass(frozen=True)
class Bar:
    """One figure of docs/field.md: its table, the line of the table and the column."""

    title: str
    section: str
    line: str
    peer: str


BARS = (
    Bar(
        "rolling user-defined aggregate, against pandas",
        "Tables in memory",
        "frame 1,000, spread (Python) |",
        "pandas",
    ),
    Bar("rolling minimum, against DuckDB", "Rolling, 1,000,000 rows", "min |", "DuckDB"),
    Bar(
        "24 h sliding by 1 min, against Spark's window()",
        "Spark batch, 100,000 rows",
        "windows of 24 h sliding by 1 min, 10 keys",
        "window()",
    ),
    Bar("NEXMark q5 in one process, against Flink", "NEXMark, 1,000,000 events", "q5 hot items", "Flink"),
    Bar("rolling mean, against Polars", "Rolling, 1,000,000 rows", "mean |", "Polars"),
)


def factor(bar: Bar) -> float:
    """The figure, as docs/field.md has it: the largest of the lines that begin so."""
    text = (DOCS / "field.md").read_text(encoding="utf-8")
    section = text.partition(f"### {bar.section}\n")[2].partition("\n### ")[0]
    head, *lines = [line for line in section.splitlines() if line.startswith("| ")]
    column = [cell.strip() for cell in head.split("|")].index(bar.peer)
    cells = [line.split("|")[column].strip() for line in lines if line.startswith(f"| {bar.line}")]
    return max(float(re.match(r"[\d.,]+", cell)[0].replace(",", "")) for cell in cells if cell != "-")


def windows() -> list[tuple[int, int, list[int]]]:
    """Start, end and row numbers of each window that holds a row."""
    first = -((SIZE - 1) // SLIDE) * SLIDE
    starts = range(first, max(CALLS["minute"]) + 1, SLIDE)
    spans = [(start, start + SIZE) for start in starts]
    return [(low, high, held) for low, high in spans if (held := _rows(low, high))]


def _rows(low: int, high: int) -> list[int]:
    return [k for k, minute in enumerate(CALLS["minute"]) if low <= minute < high]


def _said(rows: list[int]) -> str:
    return f"longest {max(CALLS['len'][k] for k in rows)}, n {len(rows)}"


def picture() -> str:
    """Rows as dots, slices as boxes with their partial aggregates, windows as bars with their results."""
    found = windows()
    height = 128 + 30 * len(found)
    body = [_text(10, 44, "rows", bold=True), f'<path d="M{_LEFT} 40H{_RIGHT}" stroke="{GREY}"/>']
    for minute in range(-SLIDE, max(high for _, high, _ in found) + 1, SLIDE):
        x = _x(minute)
        body.append(
            f'<path d="M{x} 62V{height - 4}" stroke="{GREY}" stroke-opacity="0.3" stroke-dasharray="2 3"/>'
        )
        body.append(_text(x, 58, f"{minute}", "middle", 10))
    for k, minute in enumerate(CALLS["minute"]):
        body.append(f'<circle cx="{_x(minute)}" cy="40" r="5" fill="{BLUE}"/>')
        body.append(_text(_x(minute), 28, f"{CALLS['caller'][k]}", "middle", 10))
        body.append(_text(_x(minute), 16, f"{CALLS['len'][k]}", "middle", 11, bold=True))
    body.append(_text(10, 88, "slices", bold=True))
    for low in range(0, max(CALLS["minute"]) + 1, SLIDE):
        body += _box(low, low + SLIDE, 72, AMBER, _said(_rows(low, low + SLIDE)))
    body.append(_text(10, 134, "windows", bold=True))
    for k, (low, high, held) in enumerate(found):
        body += _box(low, high, 118 + 30 * k, BLUE, _said(held))
    return _svg(
        height, "Rows are folded once, into slices; overlapping windows are combined from slices", body
    )


def _box(low: int, high: int, top: float, colour: str, says: str) -> list[str]:
    first, last = _x(low) + 2, _x(high) - 2
    shape = f'<rect x="{first:g}" y="{top:g}" width="{last - first:g}" height="24" rx="4"'
    style = f'fill="{colour}" fill-opacity="0.16" stroke="{colour}"/>'
    return [f"{shape} {style}", _text((first + last) / 2, top + 16, says, "middle", 11)]


def _x(minute: float) -> float:
    low, high = -SLIDE, 20
    return round(_LEFT + (minute - low) / (high - low) * (_RIGHT - _LEFT), 1)


def chart() -> str:
    """The bars, on a logarithmic scale; 1 is where both take the same time."""
    factors = [factor(bar) for bar in BARS]
    left, right, most = 320, 690, max(factors)
    body = []
    for k, (bar, value) in enumerate(zip(BARS, factors, strict=True)):
        top = 8 + 30 * k
        length = max(2.0, math.log10(value) / math.log10(most) * (right - left))
        body.append(_text(left - 8, top + 15, bar.title, "end", 12))
        body.append(f'<rect x="{left}" y="{top}" width="{length:.0f}" height="20" rx="2" fill="{BLUE}"/>')
        body.append(_text(left + length + 6, top + 15, f"{value:g} x", "start", 12, bold=True))
    bottom = 8 + 30 * len(BARS)
    body.append(f'<path d="M{left} 4V{bottom}" stroke="{GREY}"/>')
    body.append(_text(left, bottom + 16, "times windrow's run time, logarithmic scale", "start", 10))
    return _svg(bottom + 24, "How many times windrow's run time other systems take", body)


def _svg(height: float, title: str, body: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img" font-family="Verdana, DejaVu Sans, sans-serif">'
    )
    return "\n".join(
        [head, f"  <title>{escape(title)}</title>", *(f"  {line}" for line in body), "</svg>", ""]
    )


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{GREY}"{weight}>'
        f"{escape(text)}</text>"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    CHART.write_text(chart(), encoding="utf-8")
