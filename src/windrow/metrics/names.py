"""The metrics of windrow: their names, kinds and labels, defined here and nowhere else.

Each has the label ``query``, the name of a job or of a query in a program, besides those that are named here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["METRICS", "Metric"]


class Metric(NamedTuple):
    """A name as Prometheus has it; ``labels`` besides ``query``."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    about: str
    labels: tuple[str, ...] = ()


ROWS = Metric(
    "windrow_rows_total",
    "counter",
    "Rows that came in, by outcome: aggregated, late (for all of their windows) or rejected.",
    ("outcome",),
)
FILTERED = Metric("windrow_rows_filtered_total", "counter", "Rows that the job's where left out.")
FIRED = Metric("windrow_windows_fired_total", "counter", "Windows that came out, and results of rolling.")
CORRECTED = Metric("windrow_windows_corrected_total", "counter", "Windows that came out again, corrected.")
LATE_PAIRS = Metric(
    "windrow_late_pairs_total",
    "counter",
    "Pairs of a row and a window that lacks it because the row came too late, by reason.",
    ("reason",),
)
BATCH = Metric(
    "windrow_batch_seconds", "histogram", "Seconds of a micro-batch, until results and state were kept."
)
STATE = Metric("windrow_state_bytes", "gauge", "Bytes of state that are held.")
WATERMARK = Metric(
    "windrow_watermark_timestamp_seconds", "gauge", "The watermark, in seconds since 1970 of event time."
)
LAG = Metric("windrow_watermark_lag_seconds", "gauge", "Seconds by which the watermark is behind the clock.")
LARGEST = Metric(
    "windrow_largest_event_timestamp_seconds", "gauge", "The largest event time seen, in seconds since 1970."
)

METRICS: tuple[Metric, ...] = (
    ROWS,
    FILTERED,
    FIRED,
    CORRECTED,
    LATE_PAIRS,
    BATCH,
    STATE,
    WATERMARK,
    LAG,
    LARGEST,
)
