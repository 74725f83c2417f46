"""Axes of charts: a range of values on a range of pixels, with ticks at round values."""

from __future__ import annotations

import datetime as dt
import math

__all__ = ["Axis", "LogAxis", "number"]

_STEPS = (1, 2, 2.5, 5, 10)
_TIME_STEPS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800)


#: seconds, on average
_YEAR = 31_556_952


class Axis:
    """Equal differences are equally long. Of whole numbers, such as counts, ticks are whole, too."""

    def __init__(
        self,
        low: float,
        high: float,
        start: float,
        end: float,
        is_time: bool,
        wanted: int = 6,
        is_whole: bool = False,
        margin: float | None = None,
    ) -> None:
        """``margin``: how far the axis goes beyond its values; None: up to the next tick."""
        if high <= low:
            pad = 30.0 if is_time else 1.0 if is_whole else max(abs(low) * 0.1, 0.5)
            low, high = (low - pad, high + pad) if is_time or low < 0 else (low, high + pad)
        rough = (high - low) / wanted
        self.step = _time_step(rough) if is_time else _round_step(rough, is_whole)
        self.low, self.high = low - (margin or 0.0), high + (margin or 0.0)
        if not is_time and margin is None:
            self.low = math.floor(low / self.step) * self.step
            self.high = math.ceil(high / self.step) * self.step
        self.start, self.end, self.is_time = start, end, is_time

    def place(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        first = math.ceil(self.low / self.step) * self.step
        count = int((self.high - first) / self.step + 1e-9) + 1
        return [(first + k * self.step, self._label(first + k * self.step)) for k in range(count)]

    def _label(self, value: float) -> str:
        if not self.is_time:
            return number(value)
        try:
            moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value)
        except OverflowError:  # beyond the years 1 to 9999
            return f"{1970 + value / _YEAR:.0f}"
        if self.step < 60:
            return moment.strftime("%H:%M:%S")
        is_day = moment.hour == moment.minute == 0
        return moment.strftime("%d %b") if self.step >= 86_400 or is_day else moment.strftime("%H:%M")


class LogAxis:
    """Equal ratios are equally long; for values above 0. ``base`` 2 suits sizes of windows, 10 the rest."""

    def __init__(self, low: float, high: float, start: float, end: float, base: int = 10) -> None:
        self.base, self.start, self.end = base, start, end
        self._low, self._high = math.log(low, base), math.log(high, base)
        if base == 10:  # room to both sides, up to a tenth of a decade
            self._low, self._high = (
                math.floor(self._low * 10 - 0.5) / 10,
                math.ceil(self._high * 10 + 0.5) / 10,
            )
        if self._high - self._low < 1e-9:
            self._low, self._high = self._low - 0.5, self._high + 0.5

    def place(self, value: float) -> float:
        share = (math.log(value, self.base) - self._low) / (self._high - self._low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        first, last = math.ceil(self._low - 1e-9), math.floor(self._high + 1e-9)
        step = max(1, math.ceil((last - first) / (12 if self.base == 2 else 6)))
        values = [float(self.base) ** k for k in range(first, last + 1, step)]
        if self.base == 10 and self._high - self._low < 2:
            values = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
        shown = [v for v in values if self._low - 1e-9 <= math.log(v, self.base) <= self._high + 1e-9]
        return [(value, _binary(value) if self.base == 2 else number(value)) for value in shown]


def _binary(value: float) -> str:
    """
    >>> _binary(512), _binary(4096), _binary(2**23)
    ('512', '4K', '8M')
    """
    whole = int(value)
    return f"{whole >> 20}M" if whole >= 1 << 20 else f"{whole >> 10}K" if whole >= 1 << 10 else f"{value:g}"


def _round_step(rough: float, is_whole: bool = False) -> float:
    """
    >>> _round_step(0.22), _round_step(0.22, is_whole=True), _round_step(2.2, is_whole=True)
    (0.25, 1.0, 5.0)
    """
    rough = max(rough, 1.0) if is_whole else rough
    power = 10.0 ** math.floor(math.log10(rough))
    found = (step * power for step in _STEPS if step * power >= rough * 0.999)
    return next(step for step in found if not is_whole or step.is_integer())


def _time_step(rough: float) -> float:
    return float(next((step for step in _TIME_STEPS if step >= rough), math.ceil(rough / 604_800) * 604_800))


def number(value: float) -> str:
    """A value of an axis, short.

    >>> number(0.25), number(20_000), number(3e6)
    ('0.25', '20k', '3M')
    """
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scaled = value / (1e3 if unit == "k" else limit)
            return f"{scaled:g}{unit}"
    return f"{round(value, 6):g}"
