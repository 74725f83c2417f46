"""Windows: which rows belong together.

The way through windrow: rows -> **windows** -> slicing -> swag -> monoids -> results. The classes here are
what a user says; they hold no rows and no state, and importing them loads nothing but the standard library.

- Time decides: `Tumbling`, `Sliding`, `Cumulative`, `Fixed`. They know all their edges beforehand
  (`TimeWindow`).
- Silence decides: `Session`.
- Data decides: `Rows` (by count), `Delta` (by the value of a column), `Punctuation` and `Threshold` (by a
  flag), `Policy` (by the aggregates).

Every interval is [start, end). Time is int64 microseconds UTC, or plain integers for integer time columns.

>>> from windrow.windows import Session, Sliding
>>> Sliding("24 hours", slide="1m"), Session(gap="30m")
(Sliding('24h', slide='1m'), Session('30m'))
"""

from windrow.windows.base import TimeWindow, Window, decided_by_gaps, decided_by_time
from windrow.windows.cumulative import Cumulative
from windrow.windows.delta import Delta
from windrow.windows.fixed import Fixed
from windrow.windows.policy import Policy
from windrow.windows.punctuation import Punctuation
from windrow.windows.rows import Rows
from windrow.windows.session import Session
from windrow.windows.sliding import Sliding
from windrow.windows.threshold import Threshold
from windrow.windows.timeline.durations import Duration, DurationLike, format_duration, parse_duration
from windrow.windows.timeline.progressions import Arithmetic
from windrow.windows.timeline.times import TimeLike, format_time, to_datetime, to_us
from windrow.windows.tumbling import Tumbling

#: the kinds by name
KINDS: dict[str, type[Window]] = {
    kind.__name__: kind
    for kind in (Tumbling, Sliding, Session, Cumulative, Fixed, Rows, Delta, Punctuation, Threshold, Policy)
}

__all__ = [
    "KINDS",
    "Arithmetic",
    "Cumulative",
    "Delta",
    "Duration",
    "DurationLike",
    "Fixed",
    "Policy",
    "Punctuation",
    "Rows",
    "Session",
    "Sliding",
    "Threshold",
    "TimeLike",
    "TimeWindow",
    "Tumbling",
    "Window",
    "decided_by_gaps",
    "decided_by_time",
    "format_duration",
    "format_time",
    "parse_duration",
    "to_datetime",
    "to_us",
]
