"""The event time of results, which Spark's later operators go by: none of them drops a result as late, and
each is done with a time once no result of it can follow.

Spark's watermark is declared once, below the query, and passes through it. A micro-batch with watermark W,
after one with V, emits windows that end in (V, W] and rolling rows of times in [V, W). Later operators drop
rows up to V, and finish what ends up to W. So the end of a window is an event time as it is. One inside the
window is the last microsecond of the millisecond before: watermarks are whole milliseconds.

Spark knows an event time by the metadata of its column, which ``withWatermark`` writes. They are written here
without it: were a watermark declared twice, Spark would wait for the second before there is a first result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.frames.bounds import rows_ahead
from windrow.engines.spark.frames import arrow_schema, column, microseconds
from windrow.engines.stream.watermark import delay_ms
from windrow.spec import Spec
from windrow.windows.relative import TimeFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["SPARK_DELAY", "WINDOW_TIME", "lag_ms", "marks_of", "with_window_time"]

#: the column that ``with_window_time`` adds
WINDOW_TIME = "window_time"
#: the metadata of an event time in Spark: the delay of its watermark, for which duplicates are remembered
SPARK_DELAY = "spark.watermarkDelayMs"
#: the same in windrow, also where the column itself cannot be Spark's event time; and whether it is an end
_DELAY, _IS_END = "windrow.watermarkDelayMs", "windrow.isWindowEnd"


def lag_ms(query: Spec, frame: DataFrame) -> int:
    """Return by how much a query on a stream that has a watermark stays behind it: the delay of the query,
    less that of the time column where the watermark is of this column."""
    assert query.watermark is not None
    known = frame.schema[query.time].metadata
    return max(0, delay_ms(query.watermark) - max(known.get(SPARK_DELAY, 0), known.get(_DELAY, 0)))


def marks_of(query: Spec, results: StructType, lag: int) -> dict[str, dict[str, Any]]:
    """Return the metadata of the result column that has the event time, by its name; nothing where results
    are emitted again, or after the watermark has passed them."""
    from pyspark.sql.types import TimestampType

    assert query.watermark is not None
    comes_late = lag > 0 or query.corrects or query.output == "update" or query.empty == "include"
    if comes_late or _waits(query):
        return {}
    name = query.time if query.is_rolling else "window_end"
    mark = {_DELAY: delay_ms(query.watermark), _IS_END: not query.is_rolling}
    if not query.is_rolling and isinstance(results[name].dataType, TimestampType):
        mark[SPARK_DELAY] = mark[_DELAY]
    return {name: mark}


def _waits(query: Spec) -> bool:
    """Whether results wait for more than the watermark to pass them."""
    frames = [] if query.frames is None else [frame for _, frame in query.frames.named]
    uppers = [frame.upper for frame in frames if isinstance(frame, TimeFrame)]
    looks_ahead = rows_ahead(frames) > 0 or any(upper is None or upper.is_ahead for upper in uppers)
    return looks_ahead or any(window.decided_by == "data" for _, window in query.windows)


def with_window_time(results: DataFrame) -> DataFrame:
    """Return results of a stream with their event time as ``window_time``: the last microsecond of the
    window, like Spark's function of this name. Spark's ``window()`` and a second windrow query need it.

    The event time of results as they are is ``window_end``. By it, a window that ends at 10:00 counts from
    10:00 on; by ``window_time``, before. Where ends are finer than milliseconds, as those of sessions may be,
    ``window_time`` is the last microsecond of the millisecond; for a rolling result, of that of its row.
    Times without a zone are taken as UTC.

    ::

        hourly = wr.spark.with_window_time(query.run(stream)).groupBy(window("window_time", "1 hour"))
    """
    from pyspark.sql import functions

    found = next((field for field in results.schema.fields if _DELAY in field.metadata), None)
    if found is None:
        raise ValueError(
            "the DataFrame has no event time of results: give what query.run(stream) returned, with its "
            "window_end, or the time column of rolling. Results have none with output='update', "
            "allowed_lateness or empty='include', nor those of data-driven windows, of frames that look "
            "ahead, and of a second query whose watermark is longer than that of its time column"
        )
    if WINDOW_TIME in results.columns:
        raise ValueError(f"the DataFrame has a column {WINDOW_TIME!r} already: rename it")
    schema = arrow_schema(results, [found.name])
    last = microseconds(found.name, schema)
    if pa.types.is_integer(schema.field(0).type):
        last = f"({last} * 1000L)"
    if found.metadata[_IS_END]:
        last = f"({last} - 1L)"
    mark = {SPARK_DELAY: found.metadata[_DELAY], _DELAY: found.metadata[_DELAY], _IS_END: False}
    moment = functions.expr(f"timestamp_micros({last} - pmod({last}, 1000L) + 999L)")
    kept = [
        column(field.name).alias(field.name, metadata=_unmarked(field.metadata))
        if _DELAY in field.metadata or SPARK_DELAY in field.metadata
        else column(field.name)
        for field in results.schema.fields
    ]
    return results.select(*kept, moment.alias(WINDOW_TIME, metadata=mark))


def _unmarked(metadata: dict[str, Any]) -> dict[str, Any]:
    """Without an event time: Spark goes by one column."""
    return {name: value for name, value in metadata.items() if name not in (SPARK_DELAY, _DELAY, _IS_END)}
