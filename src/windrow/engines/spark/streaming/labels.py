"""An as-of query on two streams, of events and of labels: each label comes out once, when the watermark has
passed what it may see.

Both are packed by bucket and stepped together, by one stateful operator. Spark's watermark is that of the
events alone: labels are never what makes an event late, and a label waits for events, not for other labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.arrays import START_OF_TIME
from windrow.engines.frames.waiting_labels import check_ends
from windrow.engines.spark.compat import check_streams
from windrow.engines.spark.frames import arrow_schema, column, mapped, result_fields
from windrow.engines.spark.session import warn_of_partitions
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.streaming.chained import Input
from windrow.engines.spark.streaming.event_time import lag_ms
from windrow.engines.spark.streaming.packed_type import PACKED, WITHOUT_CLOCK
from windrow.engines.spark.streaming.run import (
    bucket_numbers,
    check_stream,
    packed_events,
    unfolded,
)
from windrow.engines.spark.worker.streaming.label_step import Labels, pack_labels
from windrow.rows.columns import needed_columns
from windrow.rows.points import shared_key_type
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["run_labels"]


def run_labels(
    query: Spec, events: DataFrame, labels: DataFrame, at_time: str, at_by: tuple[str, ...]
) -> DataFrame:
    """The labels with a result column per aggregate and size, as a streaming DataFrame."""
    from pyspark.sql.types import StructType

    check_streams(events.sparkSession)
    from windrow.engines.spark.streaming.processor import LabelProcessor, stepped_type

    known = _check(query, events)
    warn_of_partitions(events.sparkSession, 5)
    rows = events.select(*map(column, needed_columns(query)))
    source, payload = arrow_schema(rows), packed(query)
    asked = _labels(query, source, labels, at_time, at_by)
    buckets = bucket_numbers(query, events.sparkSession)

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        return pack_labels(asked, buckets, batches)

    lag = lag_ms(query, events) if known.has_watermark else 0
    timed = packed_events(query, rows, known, payload, buckets, START_OF_TIME, asked.key_types)
    points = mapped(labels, pack, PACKED).select(*WITHOUT_CLOCK)
    fields = StructType([*labels.schema.fields, *result_fields(query, source)])
    about = (payload, bytes(source.serialize()), fields, len(buckets), START_OF_TIME, lag)
    stepped = timed.unionByName(points).groupBy("bucket")
    processor = LabelProcessor(*about, asked)
    given = stepped.transformWithState(processor, stepped_type(fields), "Append", "eventTime")
    return unfolded(given, fields, known, {})


def _check(query: Spec, events: DataFrame) -> Input:
    known = check_stream(query, events)
    check_ends(query)
    if query.plan == "spark":
        raise ValueError(
            "plan='spark' cannot run this query: it gives a result for each label, and no windows"
        )
    if query.late == "return" or query.output == "update":
        what = "late='return'" if query.late == "return" else "output='update'"
        raise ValueError(
            f"{what} is for windows: an as-of query on streams gives each label once; leave it out"
        )
    return known


def _labels(query: Spec, source: pa.Schema, labels: DataFrame, at_time: str, at_by: Sequence[str]) -> Labels:
    schema = arrow_schema(labels)
    pairs = zip(query.by, at_by, strict=True)
    kinds = [shared_key_type(source.field(by).type, schema.field(at).type) for by, at in pairs]
    return Labels(bytes(schema.serialize()), at_time, tuple(at_by), tuple(kinds))
