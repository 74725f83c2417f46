"""Charts as SVG: lines over time and bars, drawn here so that a page needs nothing from outside.

Colours are variables of the page, so that a chart suits light and dark. Names of axes and lines, which may be
of any length, stand around the drawing, where a browser breaks lines; in it there are only ticks, and room
for them. All text is escaped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from windrow.cli.charts.axes import Axis, LogAxis, number
from windrow.cli.charts.lanes import LANE_GAP, Lane, draw_lanes
from windrow.cli.show.out import visible

__all__ = ["COLOURS", "LETTER", "WIDTH", "Chart", "Series", "draw", "legend"]

AnyAxis = Axis | LogAxis
Point = tuple[float, float]

#: of a drawing, in its own units; a page of one column on a phone shows about two thirds of a pixel for each
WIDTH = 480
_HEIGHT = 200
_RIGHT, _TOP, _BOTTOM = 14, 10, 24
#: at most so wide is a letter of a tick: that of style.css on narrow screens
LETTER = 9.0
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
    #: dashed lines across, each with a name: a height, or a place on the x axis
    levels: Sequence[tuple[float, str]] = ()
    moments: Sequence[tuple[float, str]] = ()
    #: whether a line shows its points
    is_marked: bool = False
    colours: Sequence[int] = field(default_factory=lambda: range(COLOURS))
    #: whether there are no more points than can be seen
    is_thin: bool = False
    #: the stretch of x that is shown; None: all that there is
    shown: tuple[float, float] | None = None
    #: below the x axis, on the same scale
    lanes: Sequence[Lane] = ()
    width: float = WIDTH
    height: float = _HEIGHT


def draw(chart: Chart, title: str) -> str:
    """The chart; an empty text if there is nothing to draw."""
    colours = itertools.cycle(chart.colours)
    shown = [
        (colour, _drawable(chart, s) if chart.is_thin else _thinned(_drawable(chart, s)))
        for colour, s in zip(colours, chart.series, strict=False)
    ]
    points = [p for _, s in shown for p in s.points]
    if not points and not chart.lanes:
        return ""
    y_axis = _y_axis(chart, [*(y for _, y in points), *(level for level, _ in chart.levels)] or [0.0])
    names = [*(label for _, label in y_axis.ticks()), *(lane.label for lane in chart.lanes)]
    left = 10 + LETTER * max(map(len, names))
    x_axis = _x_axis(chart, [*(x for x, _ in points), *(x for x, _ in chart.moments)] or [0.0], left)
    mark = {"bar": _bars, "dots": _dots}.get(chart.kind, _line)
    marks = [mark(colour, series, x_axis, y_axis) for colour, series in shown]
    if chart.is_marked:
        marks += [_dots(c, s, x_axis, y_axis) for c, s in shown if len(s.points) <= _MOST_MARKS]
    bottom = chart.height + sum(lane.height + LANE_GAP for lane in chart.lanes)
    places = ""
    if chart.shown is not None:  # for whoever points at it
        low, high = chart.shown
        places = (
            f' data-left="{left:.1f}" data-right="{x_axis.end:.1f}" data-low="{low!r}" data-high="{high!r}"'
        )
    name = escape(visible(title))
    drawn = (
        f'<svg viewBox="0 0 {chart.width:g} {bottom:g}" role="img" aria-label="{name}"{places}>'
        f"{_grid(chart, x_axis, y_axis)}{''.join(marks)}{_dashes(chart, x_axis, y_axis, bottom)}"
        f"{draw_lanes(chart.lanes, x_axis, chart.height)}</svg>"
    )
    return _axis_name(chart.y_label) + drawn + _axis_name(chart.x_label, " below") + _names(chart, shown)


def _within(points: Sequence[Point], low: float, high: float) -> list[Point]:
    """The part of a line that is shown: where it crosses an end, a point between two.

    >>> _within([(0, 0), (10, 100), (20, 0)], 5, 10)
    [(5, 50.0), (10, 100)]
    """
    found: list[Point] = []
    for k, (x, y) in enumerate(points):
        if low <= x <= high:
            found.append((x, y))
            continue
        edge, other = (low, k + 1) if x < low else (high, k - 1)
        if 0 <= other < len(points) and (points[other][0] - edge) * (x - edge) < 0:
            (x2, y2) = points[other]
            found.append((edge, y + (y2 - y) * (edge - x) / (x2 - x)))
    return found


def _drawable(chart: Chart, series: Series) -> Series:
    """Without what is not shown, and what has no place on a logarithmic axis."""
    if chart.shown is not None:
        within = [p for p in series.points if chart.shown[0] <= p[0] <= chart.shown[1]]
        kept = within if chart.kind == "dots" else _within(series.points, *chart.shown)
        series = Series(series.name, kept)
    kept = [(x, y) for x, y in series.points if not (chart.log_x and x <= 0) and not (chart.log_y and y <= 0)]
    return Series(series.name, kept)


def _x_axis(chart: Chart, xs: list[float], left: float) -> AnyAxis:
    right = chart.width - _RIGHT
    if chart.shown is not None:
        return Axis(*chart.shown, left, right, chart.x_is_time, wanted=int(chart.width / 110), margin=0.0)
    if not chart.log_x:
        is_whole = _are_whole(xs)
        margin = 0.5 if chart.kind == "bar" and is_whole and not chart.x_is_time else 0.0
        return Axis(
            min(xs), max(xs), left, right, chart.x_is_time, wanted=5, is_whole=is_whole, margin=margin
        )
    is_binary = all(math.log2(x).is_integer() for x in xs)
    return LogAxis(min(xs), max(xs), left, right, base=2 if is_binary else 10)


def _y_axis(chart: Chart, ys: list[float]) -> AnyAxis:
    bottom = chart.height - _BOTTOM
    if chart.log_y:
        return LogAxis(min(ys), max(ys), bottom, _TOP)
    low = min(ys) if chart.y_is_time else min(0.0, min(ys))
    return Axis(low, max(ys), bottom, _TOP, chart.y_is_time, wanted=4, is_whole=_are_whole(ys))


def _are_whole(values: Sequence[float]) -> bool:
    return all(float(value).is_integer() for value in values)


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


def _grid(chart: Chart, x_axis: AnyAxis, y_axis: AnyAxis) -> str:
    parts = []
    for value, label in y_axis.ticks():
        y = y_axis.place(value)
        parts.append(
            f'<line x1="{x_axis.start:.1f}" x2="{x_axis.end:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{x_axis.start - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>'
        )
    for value, label in x_axis.ticks():
        half = len(label) * LETTER / 2
        x = min(max(x_axis.place(value), half), chart.width - half)  # at the ends, too, all of it is seen
        parts.append(
            f'<text x="{x:.1f}" y="{chart.height - 5:g}" text-anchor="middle">{escape(label)}</text>'
        )
    return "".join(parts)


def _dashes(chart: Chart, x_axis: AnyAxis, y_axis: AnyAxis, bottom: float) -> str:
    lines = [(x_axis.start, x_axis.end, *(y_axis.place(level),) * 2) for level, _ in chart.levels]
    low = bottom if chart.lanes else y_axis.start
    lines += [(*(x_axis.place(moment),) * 2, low, y_axis.end) for moment, _ in _seen_moments(chart)]
    return "".join(
        f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" class="dash"/>'
        for x1, x2, y1, y2 in lines
    )


def _seen_moments(chart: Chart) -> list[tuple[float, str]]:
    low, high = chart.shown or (-math.inf, math.inf)
    return [(moment, name) for moment, name in chart.moments if low <= moment <= high]


def _axis_name(name: str, where: str = "") -> str:
    return f'<p class="axis{where}">{escape(name)}</p>' if name else ""


def _names(chart: Chart, shown: Sequence[tuple[int, Series]]) -> str:
    names = [(f"c{colour}", series.name) for colour, series in shown]
    names += [("dashed", name) for _, name in chart.levels]
    names += [("dashed upright", name) for _, name in _seen_moments(chart)]
    return legend(names) if len(names) > 1 else ""


def legend(names: Sequence[tuple[str, str]]) -> str:
    """What is what: a class of the style, and a name."""
    items = (f'<span><i class="{look}"></i>{escape(visible(name))}</span>' for look, name in names)
    return f'<p class="legend">{"".join(items)}</p>'
