"""Charts with their titles, as a page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files

from windrow.cli.charts.svg import Chart, draw

__all__ = ["chart_style", "figures"]


def chart_style() -> str:
    """The rules that charts need of a page, in light and dark."""
    return files("windrow.cli.charts").joinpath("charts.css").read_text(encoding="utf-8")


def figures(charts: Iterable[tuple[str, str, Chart]]) -> str:
    """Charts, each with a title and what it shows, beside each other where there is room."""
    found = []
    for title, about, chart in charts:
        if drawn := draw(chart, title):
            found.append(
                f"<figure><h3>{escape(title)}</h3><figcaption>{escape(about)}</figcaption>{drawn}</figure>"
            )
    return f'<div class="charts">{"".join(found)}</div>' if found else ""
