"""What travels between the tasks of a streaming query: rows of a bucket as one blob.

A blob holds slices (rows folded where they lay) or, where a window needs the rows themselves, an Arrow table.
Which of the two a query takes is settled before anything runs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.prefolded import folded_state, restored_folded
from windrow.engines.stream.state import State
from windrow.rows.keys import Keys
from windrow.slicing.slices import KeyedSlices
from windrow.spec import Spec
from windrow.state.codec import pack, unpack

__all__ = [
    "begin",
    "on_spark",
    "plan_on_spark",
    "read_folded",
    "read_rows",
    "sends_rows",
    "write_folded",
    "write_rows",
]

_FOLDED = "folded"


def sends_rows(query: Spec) -> bool:
    """Whether rows travel, and not slices."""
    return query.needs_rows or query.hands_rows_back or query.asof_over is not None


def on_spark(query: Spec) -> Spec:
    """The query as a bucket runs it: Spark's watermark is the only one."""
    return replace(query, watermark=None, idle_timeout=None)


def plan_on_spark(query: Spec) -> Plan:
    """The plan of a query as a bucket runs it: timestamps have no time zone, and days are those of UTC."""
    return replace(Plan.of(on_spark(query)), zone="")


@lru_cache(maxsize=32)
def begin(payload: bytes, schema: pa.Schema) -> tuple[Plan, State]:
    """The plan of a query for rows of a schema, and the state before the first of them."""
    query = unpacked(payload)
    return plan_on_spark(query).begin(State(Keys(query.by), None, (), {}), schema.empty_table())


def write_folded(folded: KeyedSlices) -> bytes:
    return pack(_FOLDED, folded_state(folded))


def read_folded(plan: Plan, data: bytes) -> KeyedSlices:
    return restored_folded(plan, unpack(_FOLDED, data))


def write_rows(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def read_rows(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()
