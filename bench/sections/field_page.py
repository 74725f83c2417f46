"""What a run of the field comes to: one page with charts.

A ratio is drawn as a bar from 1, to the right where windrow is ahead and to the left where it is behind, on a
logarithmic scale that both directions share; a thin line goes from the least to the most of all turns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Any

from sections.field_tables import shown_ratio

from windrow.cli.report.parts import head, list_of, table_of

__all__ = ["field_page"]

_WIDTH, _HEIGHT = 360, 16
_STYLE = """
.ratios { width: 100%; } .ratios td { vertical-align: middle; max-width: none; }
.ratios td.bar { width: 45%; min-width: 180px; } .ratios svg { min-width: 160px; }
.ahead { fill: var(--c2); } .behind { fill: var(--c1); } .whisker { stroke: var(--ink); }
"""
Part = dict[str, Any]
Figure = dict[str, Any]


def field_page(parts: list[Part], failed: dict[str, str]) -> str:
    return "\n".join(_lines(parts, failed))


def _lines(parts: list[Part], failed: dict[str, str]) -> Iterator[str]:
    yield head("windrow beside other systems", _STYLE)
    yield "<h1>windrow beside other systems</h1>"
    yield (
        "<p>Each figure is how many times windrow's time the other system takes for the same results on the "
        "same rows of this machine: above 1 windrow is ahead, below 1 it is behind. It is the median of "
        "turns in which all sides run one after the other; the range is from the least to the most.</p>"
    )
    yield _numbers(parts)
    yield list_of(f"{name} failed: {reason}" for name, reason in failed.items())
    for part in parts:
        yield from _section(part)
    yield "</body></html>"


def _numbers(parts: list[Part]) -> str:
    figures = [figure for part in parts for figure in part["figures"]]
    found = [
        (f"{len(figures)}", "comparisons"),
        (f"{sum(f['least'] > 1 for f in figures)}", "windrow ahead in every turn"),
        (f"{sum(f['most'] < 1 for f in figures)}", "windrow behind in every turn"),
        (f"{sum(part['seconds'] for part in parts) / 60:.0f} min", "took all of it"),
    ]
    cells = (f"<div><b>{escape(value)}</b><span>{escape(what)}</span></div>" for value, what in found)
    return f'<div class="numbers">{"".join(cells)}</div>'


def _section(part: Part) -> Iterator[str]:
    yield f"<h2>{escape(part['title'])}</h2>"
    about = ", ".join(f"{name} {what}" for name, what in part["about"].items())
    yield f'<p class="soft">python {escape(part["command"])}<br>{escape(about)}</p>'
    yield _chart(part["figures"])
    for title, rows in part["tables"].items():
        names = list(rows[0])
        cells = [[_text(row.get(name, "")) for name in names] for row in rows]
        yield f'<h3>{escape(title)}</h3><div class="scroll">{table_of([names, *cells])}</div>'
    yield list_of(f"{peer} was left out: {reason}" for peer, reason in part["skipped"].items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:,.0f}"


def _chart(figures: list[Figure]) -> str:
    least = min([0.5, *(figure["least"] for figure in figures)])
    most = max([2.0, *(figure["most"] for figure in figures)])
    names = "<tr><th>what</th><th>windrow</th><th>against</th><th></th>"
    names += "<th class=n>ratio</th><th class=n>range</th></tr>"
    rows = [
        f"<tr><td>{escape(f['what'])}</td><td>{escape(f['ours'])}</td><td>{escape(f['against'])}</td>"
        f"<td class=bar>{_bar(f, least, most)}</td><td class=n>{shown_ratio(f['ratio'])}</td>"
        f"<td class=n>{shown_ratio(f['least'])} to {shown_ratio(f['most'])}</td></tr>"
        for f in figures
    ]
    return f'<div class="scroll"><table class="ratios">{names}{"".join(rows)}</table></div>'


def _bar(figure: Figure, least: float, most: float) -> str:
    low, high = math.log(least), math.log(most)

    def place(ratio: float) -> float:
        return (math.log(ratio) - low) / (high - low) * _WIDTH

    one, end = place(1.0), place(figure["ratio"])
    look = "ahead" if end >= one else "behind"
    middle = _HEIGHT / 2
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{shown_ratio(figure["ratio"])}">'
        f'<rect x="{min(one, end):.1f}" y="3" width="{max(abs(end - one), 1):.1f}" height="{_HEIGHT - 6}" '
        f'class="{look}"/>'
        f'<line x1="{one:.1f}" x2="{one:.1f}" y1="0" y2="{_HEIGHT}" class="dash"/>'
        f'<line x1="{place(figure["least"]):.1f}" x2="{place(figure["most"]):.1f}" '
        f'y1="{middle}" y2="{middle}" class="whisker"/></svg>'
    )
