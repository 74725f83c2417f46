"""What is in the state of a stream: its slices, read from its checkpoint with Spark's own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME
from windrow.engines.kept_rows.entries import is_of_rows
from windrow.engines.spark.streaming.checkpoint import entries_of, operators_of, running_session, time_axis
from windrow.engines.spark.worker.streaming.entry_names import FENCE, HEADER, SILENCE
from windrow.engines.spark.worker.streaming.step import bucket_place
from windrow.engines.stream.persistence.bound_entries import read_block, read_header
from windrow.engines.stream.snapshot import read_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["inspect_state"]


def inspect_state(checkpoint: str, spark: SparkSession | None = None) -> pa.Table:
    """The slices that a stream holds: bucket, key columns, what they belong to, times, rows.

    ``part`` names the windows of a slice: ``time`` (all time-based windows share it), or ``session n`` for
    the n-th window of the query. Times are those of the slice's first and last row, in the stream's own
    type. The stream need not run; only its checkpoint is read."""
    spark = running_session(spark)
    operators = operators_of(checkpoint, spark)
    if not operators:
        raise ValueError(
            f"there is no state at {checkpoint!r}: no micro-batch of a stream was completed there"
        )
    found = [
        table for number in operators for table in _tables(entries_of(checkpoint, spark, number).collect())
    ]
    return pa.concat_tables(found, promote_options="permissive") if found else _empty()


def _tables(entries: list[Any]) -> list[pa.Table]:
    """The slices in each bucket that has some."""
    headers: dict[int, bytes] = {}
    blocks: dict[int, dict[str, bytes]] = {}
    for bucket, name, data in entries:
        if name == HEADER:
            headers[bucket] = bytes(data)
        elif name not in (FENCE, SILENCE) and not name.endswith("w") and not is_of_rows(name):
            blocks.setdefault(bucket, {})[name] = bytes(data)
    tables = [_bucket(bucket, data, blocks.get(bucket, {})) for bucket, data in headers.items()]
    return [table for table in tables if table is not None]


def _bucket(bucket: int, header: bytes, blocks: dict[str, bytes]) -> pa.Table | None:
    place = bucket_place(bucket)
    stored = read_header(header, place)
    state = stored["state"]
    parts = [("time", read_block(data, place, name)) for name, data in blocks.items()]
    for number, session in state["sessions"].items():
        if session["slices"] is not None:
            parts.append((f"session {number}", session["slices"]))
    found = [_slices(bucket, stored, part, slices) for part, slices in parts]
    return pa.concat_tables(found, promote_options="permissive") if found else None


def _slices(bucket: int, stored: dict[str, Any], part: str, slices: dict[str, Any]) -> pa.Table:
    state = stored["state"]
    keys, firsts, lasts, _, since = read_places(slices)
    axis = time_axis(stored)
    count = len(keys)
    columns: dict[str, Any] = {"bucket": pa.array(np.full(count, bucket), pa.int32())}
    if state["keys"] is not None:
        taken = state["keys"].take(pa.array(keys))
        columns |= {name: taken.column(name) for name in taken.column_names}
    late = np.zeros(count, np.bool_) if since is None else since > START_OF_TIME
    return pa.table(
        columns
        | {
            "part": pa.array([part] * count, pa.string()),
            "first": axis.column(firsts),
            "last": axis.column(lasts),
            "rows": pa.array(slices["partials"]["rows"]),
            "came_late": pa.array(late),
        }
    )


def _empty() -> pa.Table:
    names = [("bucket", pa.int32()), ("part", pa.string()), ("first", pa.null()), ("last", pa.null())]
    return pa.schema([*names, ("rows", pa.int64()), ("came_late", pa.bool_())]).empty_table()
