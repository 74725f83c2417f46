"""Charts of which no line ever changes are sentences instead: a flat line says less than a number."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from windrow.cli.charts.svg import Chart
from windrow.cli.show.progress import human_time

__all__ = ["without_constants"]

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
