"""Charts as SVG: lines over time and bars, drawn here so that a page needs nothing from outside.

Colours are variables of the page, so that a chart suits light and dark. All text is escaped.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

__all__ = ["Chart", "Series", "draw"]

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 10, 34
#: points of a line; more cannot be told apart
_MOST_POINTS = 600
_STEPS = (1, 2, 2.5, 5, 10)
_TIME_STEPS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800)


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
    kind: str = "line"
    colours: Sequence[int] = field(default_factory=lambda: range(8))


def draw(chart: Chart, title: str) -> str:
    """The chart; an empty text if there is nothing to draw."""
    shown = [(colour, _thinned(s)) for colour, s in zip(chart.colours, chart.series, strict=False)]
    points = [p for _, s in shown for p in s.points]
    if not points:
        return ""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    x_axis = _Axis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT, chart.x_is_time)
    low = min(ys) if chart.y_is_time else min(0.0, min(ys))
    y_axis = _Axis(low, max(ys), _HEIGHT - _BOTTOM, _TOP, chart.y_is_time, wanted=4)
    mark = {"bar": _bars, "dots": _dots}.get(chart.kind, _line)
    marks = [mark(colour, series, x_axis, y_axis) for colour, series in shown]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        + _grid(x_axis, y_axis, chart)
        + "".join(marks)
        + "</svg>"
        + _legend(shown)
    )


class _Axis:
    """A range of values on a range of pixels, with ticks at round values."""

    def __init__(
        self, low: float, high: float, start: float, end: float, is_time: bool, wanted: int = 6
    ) -> None:
        if high <= low:
            pad = 30.0 if is_time else max(abs(low) * 0.1, 0.5)
            low, high = (low - pad, high + pad) if is_time or low < 0 else (low, high + pad)
        self.step = _time_step((high - low) / wanted) if is_time else _round_step((high - low) / wanted)
        self.low = low if is_time else math.floor(low / self.step) * self.step
        self.high = high if is_time else math.ceil(high / self.step) * self.step
        self.start, self.end, self.is_time = start, end, is_time

    def place(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        first = math.ceil(self.low / self.step) * self.step
        count = int((self.high - first) / self.step + 1e-9) + 1
        return [(first + k * self.step, self._label(first + k * self.step)) for k in range(count)]

    def _label(self, value: float) -> str:
        if not self.is_time:
            return _number(value)
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value)
        if self.step < 60:
            return moment.strftime("%H:%M:%S")
        is_day = moment.hour == moment.minute == 0
        return moment.strftime("%d %b") if self.step >= 86_400 or is_day else moment.strftime("%H:%M")


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in _STEPS if step * power >= rough * 0.999)


def _time_step(rough: float) -> float:
    return float(next((step for step in _TIME_STEPS if step >= rough), math.ceil(rough / 604_800) * 604_800))


def _number(value: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scaled = value / (1e3 if unit == "k" else limit)
            return f"{scaled:g}{unit}"
    return f"{round(value, 6):g}"


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


def _line(colour: int, series: Series, x_axis: _Axis, y_axis: _Axis) -> str:
    places = [f"{x_axis.place(x):.1f},{y_axis.place(y):.1f}" for x, y in series.points]
    if len(places) == 1:
        return _dots(colour, series, x_axis, y_axis)
    return f'<polyline points="{" ".join(places)}" class="line c{colour}"/>'


def _dots(colour: int, series: Series, x_axis: _Axis, y_axis: _Axis) -> str:
    return "".join(
        f'<circle cx="{x_axis.place(x):.1f}" cy="{y_axis.place(y):.1f}" r="2.5" class="dot c{colour}"/>'
        for x, y in series.points
    )


def _bars(colour: int, series: Series, x_axis: _Axis, y_axis: _Axis) -> str:
    room = (x_axis.end - x_axis.start) / max(len(series.points), 1)
    width = max(1.0, min(room * 0.7, 24.0))
    base = y_axis.place(0)
    found = []
    for x, y in series.points:
        top = y_axis.place(y)
        left = min(max(x_axis.place(x) - width / 2, x_axis.start), x_axis.end - width)
        found.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{max(base - top, 0):.1f}" '
            f'class="bar c{colour}"><title>{_number(y)}</title></rect>'
        )
    return "".join(found)


def _grid(x_axis: _Axis, y_axis: _Axis, chart: Chart) -> str:
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
