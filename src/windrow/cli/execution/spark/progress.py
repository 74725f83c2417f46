"""Spark's progress of a micro-batch, and windrow's counts in it, as one step."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from windrow.cli.show import Progress
from windrow.engines.spark.observed import stream_counts
from windrow.engines.stream.late import REASONS

__all__ = ["step_of"]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def step_of(progress: Mapping[str, Any], at: float, is_integer_time: bool = False, held: int = 0) -> Progress:
    """``held``: the bytes of state after the step before.

    >>> step = step_of({"batchId": 3, "durationMs": {"triggerExecution": 1500}, "numInputRows": 10}, 2.0)
    >>> step.batch, step.rows, step.seconds, step.watermark
    (3, 10, 1.5, None)
    """
    counts = next(iter(stream_counts(progress).values()), {})
    times = progress.get("eventTime") or {}
    return Progress(
        batch=int(progress.get("batchId", 0)),
        at=at,
        rows=_rows(counts, progress),
        late=_counted(counts, progress, "rows_late", "numRowsDroppedByWatermark"),
        late_pairs={reason: n for reason in REASONS if (n := int(counts.get(f"late_pairs_{reason}") or 0))},
        late_at=[_at(moment, is_integer_time) for moment in sorted(set(counts.get("late_at") or ()))],
        rejected=int(counts.get("rows_rejected") or 0),
        windows=_counted(counts, progress, "windows_fired", "numRowsRemoved"),
        corrected=int(counts.get("windows_corrected") or 0),
        seconds=int((progress.get("durationMs") or {}).get("triggerExecution", 0)) / 1000,
        state_bytes=_state_bytes(counts, held),
        watermark=_moment(times.get("watermark"), is_integer_time),
        largest=_moment(times.get("max"), is_integer_time),
    )


def _rows(counts: dict[str, Any], progress: Mapping[str, Any]) -> int:
    """Rows that came in. Spark's own number has those that ``where`` left out, too."""
    counted = counts.get("rows_in")
    return int((progress.get("numInputRows") or 0) if counted is None else counted)


def _counted(counts: dict[str, Any], progress: Mapping[str, Any], name: str, of_spark: str) -> int:
    """What windrow counted; on Spark's own plan what Spark did."""
    if name in counts:
        return int(counts[name] or 0)
    return sum(int(each.get(of_spark) or 0) for each in progress.get("stateOperators") or ())


def _state_bytes(counts: dict[str, Any], held: int) -> int:
    """What windrow holds; as before where no rows came and no watermark moved, so that no bucket counted."""
    has_counted = any(counts.get(name) for name in ("rows_in", "state_bytes_read", "state_bytes"))
    return int(counts.get("state_bytes") or 0) if has_counted else held


def _at(units: int, is_integer_time: bool) -> Any:
    """A time of the query; one beyond the years 1 to 9999 is a number of microseconds."""
    try:
        return units if is_integer_time else _EPOCH + dt.timedelta(microseconds=units)
    except OverflowError:
        return units


def _moment(text: str | None, is_integer_time: bool) -> Any:
    """A time from Spark's words. Spark begins with the epoch where there is no watermark yet."""
    if text is None:
        return None
    if is_integer_time:
        return _milliseconds(text)
    try:
        moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:  # beyond the years 1 to 9999
        return text
    return None if moment == _EPOCH else moment


def _milliseconds(text: str) -> int:
    """Since 1970, of any year: the calendar repeats itself every 400 years.

    >>> _milliseconds("1970-01-01T00:00:00.017Z"), _milliseconds("+12000-01-01T00:00:00Z")
    (17, 316516204800000)
    """
    year, rest = re.fullmatch(r"([+-]?\d+)(-\d\d-\d\dT.+)", text).groups()  # type: ignore[union-attr]
    cycles, within = divmod(int(year), 400)
    moment = dt.datetime.fromisoformat(f"{2000 + within}{rest}".replace("Z", "+00:00"))
    days = (cycles - 5) * 146_097
    return int((moment - _EPOCH) / dt.timedelta(milliseconds=1)) + days * 86_400_000
