"""Rows that are further ahead than the query allows: they would move the watermark past all others.

Timestamps are held against the clock of the machine, at the moment of the push: rows that come after a pause
are as good as any. Integers have no clock. They are held against the largest time before them, in the order
in which they came; the first row is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from windrow.arrays import START_OF_TIME, Ints
from windrow.rows.times import TimeAxis
from windrow.spec import Spec

__all__ = ["too_far_ahead"]


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
