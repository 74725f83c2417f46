"""Rows far ahead of all others, which would move the watermark past them: rejected where the query says how
far ahead rows may be (``max_ahead=``), and else reported by a warning.

Rejected: timestamps are held against the clock of the machine, at the moment of the push: rows that come
after a pause are as good as any. Integers have no clock. They are held against the largest time before them,
in the order in which they came; the first row is taken as it is.

Reported: rows that are ten thousand times as far ahead as rows usually lie apart, by the spread of the batch
(for a batch that is far ahead as a whole, of all rows before it) and the delay of the watermark; never less
than a week where times are timestamps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from windrow.arrays import START_OF_TIME, Ints
from windrow.errors import WatermarkJump, warn_caller
from windrow.rows.times import Moments, TimeAxis
from windrow.spec import Spec
from windrow.windows import Duration
from windrow.windows.timeline.durations import rough_duration

__all__ = ["is_far_ahead", "too_far_ahead", "warn_of_jump"]


_FAR = 10_000
_MINUTE_US, _DAY_US = 60_000_000, 86_400_000_000


def too_far_ahead(
    query: Spec, axis: TimeAxis, times: Ints, now: Callable[[], float], largest: int
) -> npt.NDArray[np.bool_]:
    """Which rows are; ``now`` tells the seconds since 1970, ``largest`` is that of all rows before.

    >>> from windrow.query import query
    >>> import pyarrow as pa
    >>> axis, times = TimeAxis(pa.int64()), np.array([7, 900, 12, 15])
    >>> too_far_ahead(query(time="t", max_ahead=5), axis, times, lambda: 0.0, 3).tolist()
    [False, True, False, False]
    """
    most = query.max_ahead
    assert most is not None
    if not axis.is_integer:
        return times > round(now() * 1e6) + most.units
    if largest == START_OF_TIME:
        largest = int(times[0])
    if times.max() <= largest + most.units:
        return np.zeros(len(times), np.bool_)
    ahead = np.empty(len(times), np.bool_)
    for k, moment in enumerate(times.tolist()):
        ahead[k] = moment > largest + most.units
        if not ahead[k]:
            largest = max(largest, moment)
    return ahead


def is_far_ahead(query: Spec, latest: int, moments: Moments) -> bool:
    """Whether a row of a batch may be far ahead of others: of all rows up to the ``latest`` before, or of
    some in the batch. Where the query says how far ahead rows may be, what is left is as it should be."""
    if query.max_ahead is not None or query.watermark is None or moments.high <= latest:
        return False
    before = moments.low if latest == START_OF_TIME else min(moments.low, latest)
    return moments.high - before > _FAR * _usual(query.watermark)


def _usual(delay: Duration) -> int:
    return max(1 if delay.kind == "integer" else _MINUTE_US, delay.units)


def warn_of_jump(query: Spec, earliest: int, latest: int, moments: Moments) -> None:
    """For a batch that is far ahead and moved the watermark; ``earliest`` and ``latest`` times until then, if
    there were any."""
    assert query.watermark is not None
    is_integer = query.watermark.kind == "integer"
    usual, largest, times = _usual(query.watermark), moments.high, moments.times
    middle = int(np.median(times))
    usual = max(usual, int(np.median(np.abs(times - middle))))
    ahead, of_what = largest - middle, "the middle of its batch"
    if ahead <= _FAR * usual and earliest <= latest:
        span = latest - earliest
        usual = max(usual, span if is_integer else min(span, _DAY_US))
        ahead, of_what = largest - latest, "all rows before"
    if ahead > _FAR * usual:
        warn_caller(
            f"a row is {f'{ahead:,}' if is_integer else rough_duration(ahead)} ahead of {of_what} and moved "
            f"the watermark: rows that come now may all be late. Say how far ahead rows may be with "
            f"max_ahead=, filter such rows, or give the watermark with advance() instead of watermark=",
            WatermarkJump,
        )
