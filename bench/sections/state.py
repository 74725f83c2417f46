"""What an operator holds of aggregates that are answered from values: a dense day of minutes of each key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from common import Row, Settings, progress

import windrow as wr

__all__ = ["state"]

_MINUTES = 1_440
_ROWS_A_MINUTE = 20
_USERS = 2_000
_CASES = {
    "sum": wr.sum("wait"),
    "approx_distinct": wr.approx_distinct("user"),
    "bloom": wr.bloom("user"),
    "count_min": wr.count_min("user"),
    "approx_quantile": wr.approx_quantile("wait", 0.95),
    "quantile": wr.quantile("wait", 0.95),
}


def state(settings: Settings) -> list[Row]:
    """Bytes per key for 24 h by 1 min, 20 values in each of the 1,440 slices."""
    keys = settings.pick(50, 5)
    found = []
    for name, aggregate in _CASES.items():
        progress(f"state of {name}")
        window = wr.Sliding(86_400, slide=60)
        operator = wr.query(time="t", by="k", watermark=60).window(window).agg(r=aggregate).open()
        for hour in range(24):
            operator.push(_hour(hour, keys))
        metrics = operator.metrics
        values = _MINUTES * _ROWS_A_MINUTE
        wide = aggregate.monoid.wide
        found.append(
            {
                "aggregate": name,
                "slices per key": metrics.slices // keys,
                "values per key": values,
                "bytes per key": metrics.state_bytes // keys,
                "bytes per value": metrics.state_bytes / keys / values,
                "snapshot: bytes per key": len(operator.snapshot()) // keys,
                "a whole sketch per slice": None if wide is None else _MINUTES * _width(wide),
            }
        )
    return found


def _hour(hour: int, keys: int) -> pa.Table:
    """Rows of an hour, as many of each key in each minute; times in seconds."""
    rng = np.random.default_rng(hour)
    minutes = np.repeat(np.arange(60 * hour, 60 * hour + 60), keys * _ROWS_A_MINUTE)
    rows = len(minutes)
    return pa.table(
        {
            "t": 60 * minutes + np.sort(rng.integers(0, 60, (60, rows // 60)), axis=1).ravel(),
            "k": np.arange(rows) % keys,
            "user": rng.integers(0, _USERS, rows),
            "wait": rng.lognormal(3.0, 1.0, rows),
        }
    )


def _width(wide: Any) -> int:
    return int(wide.width) * np.dtype(wide.dtype).itemsize
