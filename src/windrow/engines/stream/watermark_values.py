"""A watermark as users give and see it: a value of the time column, or a number where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.rows.times import TimeAxis
from windrow.windows.timeline.times import to_us

__all__ = ["is_integer_time", "moment_of", "read_moment", "shown_moment", "shown_watermark"]


def is_integer_time(watermark: Any) -> bool:
    return isinstance(watermark, (int, np.integer)) and not isinstance(watermark, bool)


def moment_of(watermark: Any, plan: Plan, state: State) -> int:
    """A watermark that the user gives, as the query counts time."""
    axis = state.axis
    asked = plan.counts_integers if axis is None else axis.is_integer
    asked = state.advanced_by_integer if asked is None else asked
    return read_moment(watermark, asked, "watermark", plan.query.time)


def read_moment(value: Any, asks_integer: bool | None, what: str, column: str) -> int:
    """A time that the user gives, as the query counts it; None: times may be of either kind.

    >>> read_moment("1970-01-01T00:00:01", False, "history_until", "ts")
    1000000
    >>> read_moment(5, False, "history_until", "ts")
    Traceback (most recent call last):
    TypeError: history_until 5: column 'ts' asks for a datetime or ISO 8601 text
    """
    is_integer = is_integer_time(value)
    if asks_integer not in (None, is_integer):
        wanted = "an integer" if asks_integer else "a datetime or ISO 8601 text"
        raise TypeError(f"{what} {value!r}: column {column!r} asks for {wanted}")
    moment = int(value) if is_integer else to_us(value, what)
    return max(START_OF_TIME, min(moment, END_OF_TIME - 1))


def shown_watermark(state: State) -> Any:
    """The watermark as a value of the time column; None before there is one, and after the last."""
    if not START_OF_TIME < state.watermark < END_OF_TIME:
        return None
    return shown_moment(state.watermark, state.axis)


def shown_moment(moment: int, axis: TimeAxis | None) -> Any:
    """A time as a value of the time column; a number where Python has no such time."""
    if axis is None:
        return moment
    try:
        return axis.column(np.array([moment]))[0].as_py()
    except (OverflowError, ValueError):
        return moment
