"""One row far ahead of all others moves the watermark past them: that is said aloud.

What is far: ten thousand times as far ahead as rows usually lie apart, by the spread of the batch (for a
batch that is far ahead as a whole, of all rows before it) and the delay of the watermark; never less than a
week where times are timestamps.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.errors import WatermarkJump
from windrow.spec import Spec

__all__ = ["warn_of_jump"]


_FAR = 10_000
_MINUTE_US, _DAY_US = 60_000_000, 86_400_000_000


def warn_of_jump(query: Spec, earliest: int, latest: int, times: Ints) -> None:
    """For a batch that moved the watermark; ``earliest`` and ``latest`` times until then, if there were
    any. Where the query says how far ahead rows may be, what is left is as it should be."""
    if query.max_ahead is not None:
        return
    delay: Any = query.watermark
    is_integer = delay.kind == "integer"
    middle, largest = int(np.median(times)), int(times.max())
    least = 1 if is_integer else _MINUTE_US
    usual = max(least, delay.units, int(np.median(np.abs(times - middle))))
    ahead, of_what = largest - middle, "the middle of its batch"
    if ahead <= _FAR * usual and earliest <= latest:
        span = latest - earliest
        usual = max(usual, span if is_integer else min(span, _DAY_US))
        ahead, of_what = largest - latest, "all rows before"
    if ahead > _FAR * usual:
        warnings.warn(
            f"a row is {ahead:,} {'units' if is_integer else 'us'} ahead of {of_what} and moved the "
            f"watermark: rows that come now may all be late. Say how far ahead rows may be with "
            f"max_ahead=, filter such rows, or give the watermark with advance() instead of watermark=",
            WatermarkJump,
            stacklevel=5,
        )
