"""Frames of rows in a partition name them by their time: their numbers say nothing."""

from __future__ import annotations

import functools
from dataclasses import replace

import pyarrow as pa

from windrow.rows.frame import Frame
from windrow.rows.times import TimeAxis

__all__ = ["named_by_clock", "named_by_time"]


def named_by_time(frame: Frame, time: str) -> Frame:
    """Name the rows of a frame by their time."""
    return replace(frame, row_name=functools.partial(_with_time, frame.table, time))


def named_by_clock(frame: Frame, time: str, axis: TimeAxis) -> Frame:
    """Name the rows of a frame without a time column by its times, on the axis of events."""

    def name(row: int) -> str:
        return f"the row with {time}={axis.column(frame.unordered_times[row : row + 1])[0].as_py()!s}"

    return replace(frame, row_name=name)


def _with_time(table: pa.Table, time: str, row: int) -> str:
    return f"the row with {time}={table.column(time)[row].as_py()!s}"
