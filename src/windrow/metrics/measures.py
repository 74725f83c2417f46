"""The values of all metrics at one moment, whatever engine they come from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.engines.stream.metrics import Metrics

__all__ = ["Measures", "seconds_since_1970"]


@dataclass(frozen=True)
class Measures:
    """Counts are of all of the run so far; the others are as they are now.

    >>> import pyarrow as pa, windrow as wr
    >>> operator = wr.query(time="t", watermark=0).window(wr.Tumbling(10)).agg(n=wr.count()).open()
    >>> operator.push(pa.table({"t": [3, 25]})).num_rows
    1
    >>> measures = Measures.of_operator(operator.metrics)
    >>> measures.rows_aggregated, measures.windows_fired, measures.watermark
    (2, 1, 25)
    """

    rows_aggregated: int = 0
    rows_late: int = 0
    rows_rejected: int = 0
    #: None: not counted
    rows_filtered: int | None = None
    windows_fired: int = 0
    windows_corrected: int = 0
    #: by reason
    late_pairs: Mapping[str, int] = field(default_factory=dict[str, int])
    state_bytes: int = 0
    #: times of the query's time column
    watermark: Any = None
    largest: Any = None

    @classmethod
    def of_operator(cls, metrics: Metrics) -> Measures:
        """Those of ``Operator.metrics``."""
        return cls(
            rows_aggregated=metrics.rows_aggregated,
            rows_late=metrics.rows_late,
            rows_rejected=metrics.rows_rejected,
            windows_fired=metrics.windows_fired,
            windows_corrected=metrics.windows_corrected,
            late_pairs=metrics.late_pairs,
            state_bytes=metrics.state_bytes,
            watermark=metrics.watermark,
        )


def seconds_since_1970(moment: Any) -> float | None:
    """None where time is counted in integers, or is beyond the years 1 to 9999; a naive time is UTC.

    >>> seconds_since_1970(dt.datetime(1970, 1, 1, 0, 1)), seconds_since_1970(17)
    (60.0, None)
    """
    if not isinstance(moment, dt.datetime):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
