"""The state that a stream begins with, computed in batch from a DataFrame of what was before.

History goes through the same folding as the stream's rows; blobs go to the stream's first micro-batch, as
Spark's initial state, and each bucket's step begins with the state that they lead to. Nothing runs before the
stream starts. Where the stream goes on from its checkpoint, Spark does not look at history again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.arrays import START_OF_TIME
from windrow.engines.spark.compat import is_streaming
from windrow.engines.spark.frames import arrow_schema, column, mapped, microseconds
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.streaming.packed_type import PACKED
from windrow.engines.spark.worker.streaming.history_task import LATER
from windrow.engines.spark.worker.streaming.pack_task import pack_batches
from windrow.engines.stream.watermark_values import read_moment
from windrow.names import check_columns
from windrow.rows.times import TimeAxis
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["cut_of", "history_blobs"]


def cut_of(query: Spec, schema: pa.Schema, until: Any) -> int:
    """Where history ends, as the query counts time."""
    if until is None:
        return START_OF_TIME
    axis = TimeAxis(schema.field(query.time).type)
    return read_moment(until, axis.is_integer, "history_until", query.time)


def history_blobs(
    query: Spec, rows: DataFrame, history: DataFrame, buckets: list[int], until: int
) -> DataFrame:
    """History in blobs, with its clocks: bucket, microseconds, blob. ``rows``: the stream's, with the columns
    it needs."""
    past = _like(rows, history)
    payload, encoded = packed(query), bytes(arrow_schema(past).serialize())

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        schema = pa.ipc.read_schema(pa.py_buffer(encoded))
        return pack_batches(payload, schema, buckets, batches, never_late=True)

    def blobs(some: DataFrame, clock: str, blob: str) -> DataFrame:
        return mapped(some, pack, PACKED).selectExpr("bucket", f"{clock} AS clock", f"{blob} AS blob")

    if until == START_OF_TIME:
        return blobs(past, "unix_micros(clock)", "blob")
    time = microseconds(query.time, arrow_schema(past))
    found = blobs(past.where(f"{time} < BIGINT('{until}')"), "unix_micros(clock)", "blob")
    if query.empty != "include":
        return found
    later = past.where(f"{time} >= BIGINT('{until}')")
    later = later.dropDuplicates([*query.by]) if query.by else later.limit(1)
    marked = blobs(later, "CAST(NULL AS BIGINT)", f"concat(X'{LATER.hex()}', blob)")
    return found.unionAll(marked.where("blob IS NOT NULL"))


def _like(rows: DataFrame, history: DataFrame) -> DataFrame:
    """The columns of history that the stream has, which must be of the same types."""
    if is_streaming(history):
        raise ValueError("history is a stream: give a DataFrame that is not, such as spark.read.load(path)")
    check_columns(rows.columns, history.columns, "history")
    past = history.select(*map(column, rows.columns))
    was, is_ = arrow_schema(past), arrow_schema(rows)
    for name in rows.columns:
        if was.field(name).type != is_.field(name).type:
            raise TypeError(
                f"column {name!r} is of type {was.field(name).type} in history and of type "
                f"{is_.field(name).type} in the stream: cast one of them"
            )
    return past
