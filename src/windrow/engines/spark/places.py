"""Rows of a key to one partition, sorted by one number: what Spark sorts fastest.

By key and time Spark compares rows, which takes longer than all else in such a query; by one integer it goes
digit by digit. What that leaves to be done is in :mod:`windrow.engines.spark.worker.rolling.placed_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windrow.engines.spark.frames import column
from windrow.engines.spark.worker.rolling.placed_rows import PLACE, TIME_BITS
from windrow.spec import Spec
from windrow.windows.relative import fixed_reach

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["placed"]

#: a step of time for timestamps, as a power of two of microseconds: 36 bits of them reach from 1899 to 2040
_STEP = 16
#: steps that the reach of frames is divided into, as a power of two
_STEPS = 16


def placed(query: Spec, frame: DataFrame, keys: Sequence[str], clock: str, *, is_integer: bool) -> DataFrame:
    """Rows of a key in one partition, sorted by their PLACE."""
    from pyspark.sql import functions

    half = 1 << (TIME_BITS - 1)
    step = functions.shiftright(column(clock), _step(query, is_integer))
    # times beyond are all in the first or the last step, which are put in order like any other
    inside = functions.least(functions.greatest(step, _long(-half)), _long(half - 1)) + _long(half)
    spread = frame.repartition(*map(column, keys)) if keys else frame.coalesce(1)
    behind = functions.coalesce(inside, _long(0))
    place = behind
    if keys:
        place = functions.shiftleft(functions.xxhash64(*map(column, keys)), TIME_BITS).bitwiseOR(behind)
    return spread.withColumn(PLACE, place).sortWithinPartitions(column(PLACE))


def _step(query: Spec, is_integer: bool) -> int:
    """How long a step is, as a power of two: short against what frames reach, so that few rows share one."""
    assert query.frames is not None
    reach = fixed_reach(frame for _, frame in query.frames.named)
    least = 0 if is_integer else _STEP
    return least if reach is None else max(least, sum(reach).bit_length() - _STEPS)


def _long(value: int) -> Column:
    from pyspark.sql import functions

    return functions.lit(value).cast("long")
