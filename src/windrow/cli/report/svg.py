"""Charts as SVG: lines over time and bars, drawn here so that a page needs nothing from outside.

Colours are variables of the page, so that a chart suits light and dark. All text is escaped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from windrow.cli.report.axes import Axis, LogAxis, number

__all__ = ["COLOURS", "Chart", "Series", "draw"]

AnyAxis = Axis | LogAxis

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 10, 34
#: points of a line; more cannot be told apart
_MOST_POINTS = 600
#: lines with at most so many points show each of them
_MOST_MARKS = 40
#: colours that the style has
COLOURS = 8


@dataclass(frozen=True)
class Series:
    """A line, or bars: points (x, y) in order of x."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Chart:
    series: Sequence[Series]
    y_label: str
    x_label: str = ""
    #: x is seconds since 1970, and is shown as time
    x_is_time: bool = False
    y_is_time: bool = False
    #: equal ratios are equally long; values of 0 and below are left out
    log_x: bool = False
    log_y: bool = False
    kind: str = "line"
    #: whether a line shows its points
    is_marked: bool = False
    colours: Sequence[int] = field(default_factory=lambda: range(COLOURS))


def draw(chart: Chart, title: str) -> str:
    """The chart; an empty text if there is nothing to draw."""
    colours = itertools.cycle(chart.colours)
    shown = [
        (colour, _thinned(_drawable(chart, s))) for colour, s in zip(colours, chart.series, strict=False)
    ]
    points = [p for _, s in shown for p in s.points]
    if not points:
        return ""
    x_axis, y_axis = _x_axis(chart, [x for x, _ in points]), _y_axis(chart, [y for _, y in points])
    mark = {"bar": _bars, "dots": _dots}.get(chart.kind, _line)
    marks = [mark(colour, series, x_axis, y_axis) for colour, series in shown]
    if chart.is_marked:
        marks += [_dots(c, s, x_axis, y_axis) for c, s in shown if len(s.points) <= _MOST_MARKS]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        + _grid(x_axis, y_axis, chart)
        + "".join(marks)
        + "</svg>"
        + _legend(shown)
    )


def _drawable(chart: Chart, series: Series) -> Series:
    """Without what has no place on a logarithmic axis."""
    kept = [(x, y) for x, y in series.points if not (chart.log_x and x <= 0) and not (chart.log_y and y <= 0)]
    return Series(series.name, kept)


def _x_axis(chart: Chart, xs: list[float]) -> AnyAxis:
    if not chart.log_x:
        return Axis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT, chart.x_is_time)
    is_binary = all(math.log2(x).is_integer() for x in xs)
    return LogAxis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT, base=2 if is_binary else 10)


def _y_axis(chart: Chart, ys: list[float]) -> AnyAxis:
    bottom = _HEIGHT - _BOTTOM
    if chart.log_y:
        return LogAxis(min(ys), max(ys), bottom, _TOP)
    low = min(ys) if chart.y_is_time else min(0.0, min(ys))
    return Axis(low, max(ys), bottom, _TOP, chart.y_is_time, wanted=4)


def _thinned(series: Series) -> Series:
    """As many points as can be seen: of neighbours the lowest and the highest stay."""
    points = list(series.points)
    size = math.ceil(len(points) / (_MOST_POINTS / 2))
    if size <= 2:
        return Series(series.name, points)
    kept: list[tuple[float, float]] = []
    for start in range(0, len(points), size):
        group = points[start : start + size]
        ends = {min(group, key=lambda p: p[1]), max(group, key=lambda p: p[1])}
        kept += sorted(ends)
    return Series(series.name, kept)


def _line(colour: int, series: Series, x_axis: AnyAxis, y_axis: AnyAxis) -> str:
    places = [f"{x_axis.place(x):.1f},{y_axis.place(y):.1f}" for x, y in series.points]
    if len(places) == 1:
        return _dots(colour, series, x_axis, y_axis)
    return f'<polyline points="{" ".join(places)}" class="line c{colour}"/>'


def _dots(colour: int, series: Series, x_axis: AnyAxis, y_axis: AnyAxis) -> str:
    return "".join(
        f'<circle cx="{x_axis.place(x):.1f}" cy="{y_axis.place(y):.1f}" r="2.5" class="dot c{colour}"/>'
        for x, y in series.points
    )


def _bars(colour: int, series: Series, x_axis: AnyAxis, y_axis: AnyAxis) -> str:
    room = (x_axis.end - x_axis.start) / max(len(series.points), 1)
    width = max(1.0, min(room * 0.7, 24.0))
    base = y_axis.place(0)
    found = []
    for x, y in series.points:
        top = y_axis.place(y)
        left = min(max(x_axis.place(x) - width / 2, x_axis.start), x_axis.end - width)
        found.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{max(base - top, 0):.1f}" '
            f'class="bar c{colour}"><title>{number(y)}</title></rect>'
        )
    return "".join(found)


def _grid(x_axis: AnyAxis, y_axis: AnyAxis, chart: Chart) -> str:
    parts = []
    for value, label in y_axis.ticks():
        y = y_axis.place(value)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
    for value, label in x_axis.ticks():
        x = x_axis.place(value)
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 15}" text-anchor="middle">{escape(label)}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 4}" text-anchor="middle">{escape(chart.x_label)}</text>')
    parts.append(
        f'<text transform="translate(12 {(_HEIGHT - _BOTTOM + _TOP) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(chart.y_label)}</text>"
    )
    return "".join(parts)


def _legend(shown: Sequence[tuple[int, Any]]) -> str:
    if len(shown) < 2:
        return ""
    items = (f'<span><i class="c{colour}"></i>{escape(s.name)}</span>' for colour, s in shown)
    return f'<p class="legend">{"".join(items)}</p>'
