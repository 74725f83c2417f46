"""A watermark as users give and see it: a value of the time column, or a number where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.rows.times import TimeAxis
from windrow.windows.timeline.times import to_us

__all__ = ["is_integer_time", "moment_of", "shown_watermark"]


def is_integer_time(watermark: Any) -> bool:
    return isinstance(watermark, (int, np.integer)) and not isinstance(watermark, bool)


def moment_of(watermark: Any, plan: Plan, state: State) -> int:
    """A watermark that the user gives, as the query counts time."""
    axis, is_integer = state.axis, is_integer_time(watermark)
    asked = plan.counts_integers if axis is None else axis.is_integer
    asked = state.advanced_by_integer if asked is None else asked
    if asked not in (None, is_integer):
        wanted = "an integer" if asked else "a datetime or ISO 8601 text"
        raise TypeError(f"watermark {watermark!r}: column {plan.query.time!r} asks for {wanted}")
    moment = int(watermark) if is_integer else to_us(watermark, "watermark")
    return max(START_OF_TIME, min(moment, END_OF_TIME - 1))


def shown_watermark(state: State) -> Any:
    """The watermark as a value of the time column; None before there is one, and after the last."""
    if not START_OF_TIME < state.watermark < END_OF_TIME:
        return None
    return _shown(state.watermark, state.axis)


def _shown(watermark: int, axis: TimeAxis | None) -> Any:
    """A number where Python has no such time."""
    if axis is None:
        return watermark
    try:
        return axis.column(np.array([watermark]))[0].as_py()
    except (OverflowError, ValueError):
        return watermark
