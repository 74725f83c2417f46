"""Charts with their titles, as a page shows them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from html import escape
from importlib.resources import files

from windrow.cli.charts.svg import COLOURS, LETTER, WIDTH, Chart, draw, legend
from windrow.cli.show.comparison import Comparison
from windrow.cli.show.progress import human_seconds, human_time

__all__ = ["chart_style", "comparison_figure", "figures", "without_constants"]


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


Titled = tuple[str, str, Chart]


def without_constants(charts: Iterable[Titled]) -> tuple[list[Titled], list[str]]:
    """The charts in which something changes, and a sentence for each of the others."""
    kept: list[Titled] = []
    sentences: list[str] = []
    for title, about, chart in charts:
        if any(len(_values(chart, number)) > 1 for number in range(len(chart.series))):
            kept.append((title, about, chart))
        elif any(series.points for series in chart.series):
            sentences.append(f"{title}: {_said(chart)}.")
    return kept, sentences


def _values(chart: Chart, number: int) -> set[float]:
    return {y for _, y in chart.series[number].points}


def _said(chart: Chart) -> str:
    """
    >>> from windrow.cli.charts.svg import Series
    >>> north, south = Series("north", [(0, 1), (1, 1)]), Series("south", [(0, 2.5), (1, 2.5)])
    >>> _said(Chart([north], "")), _said(Chart([north, south], "rows"))
    ('always 1', 'always 1 rows for north, 2.5 rows for south')
    """
    unit = f" {chart.y_label}" if chart.y_label and not chart.y_is_time else ""
    often = "always " if any(len(series.points) > 1 for series in chart.series) else ""
    found = {s.name: f"{_shown(chart, s.points[0][1])}{unit}" for s in chart.series if s.points}
    if len(set(found.values())) == 1:
        return often + next(iter(found.values()))
    return often + ", ".join(f"{value} for {name}" for name, value in found.items())


def _shown(chart: Chart, value: float) -> str:
    if chart.y_is_time:
        return human_time(dt.datetime.fromtimestamp(value, dt.UTC))
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


_BAR, _GAP = 18, 6


def comparison_figure(comparison: Comparison) -> str:
    """The figure; an empty text if nothing was compared."""
    if not comparison.longest:
        return ""
    groups = [
        f"<h4>{escape(what)}</h4>{_group(comparison, what, list(times))}"
        for what, times in comparison.seconds
    ]
    names = [(f"c{number % COLOURS}", way) for number, way in enumerate(comparison.ways)]
    return f'<figure class="bars">{"".join(groups)}{legend(names)}</figure>'


def _group(comparison: Comparison, what: str, times: list[float]) -> str:
    longest_label = max(len(human_seconds(time)) for _, all_times in comparison.seconds for time in all_times)
    room = WIDTH - longest_label * LETTER - _GAP
    parts = []
    for number, time in enumerate(times):
        top = number * (_BAR + _GAP)
        width = max(room * time / comparison.longest, 1.0)
        parts.append(
            f'<rect x="0" y="{top}" width="{width:.1f}" height="{_BAR}" class="bar c{number % COLOURS}"/>'
            f'<text x="{width + _GAP:.1f}" y="{top + _BAR - 5}">{human_seconds(time)}</text>'
        )
    height = len(times) * (_BAR + _GAP)
    title = f"{comparison.title}: {what}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
