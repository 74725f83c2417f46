"""A checkpoint, held against the query that is to go on from it: before a stream starts, not when rows come.

A stream on a checkpoint of another query refuses at its first micro-batch, which is run when there is data.
Here the headers of its state are read with Spark's own reader and loaded as that micro-batch would load them:
what it would refuse is refused, in the same words. Nothing is written. Cost: Spark loads the state once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.engines.spark.compat import condition_of, setting
from windrow.engines.spark.streaming.plan_of_checkpoint import (
    check_is_windrows,
    check_same_query,
    descriptions_in,
)
from windrow.engines.spark.worker.streaming.step import BUCKETS, bucket_place, kept_by
from windrow.engines.spark.worker.streaming.wire import plan_on_spark
from windrow.engines.stream.persistence.bound_entries import read_header
from windrow.errors import ChangedQuery, CorruptState
from windrow.rows.times import TimeAxis
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "BUCKETS_SETTING",
    "bucket_count",
    "buckets_of",
    "check_checkpoint",
    "entries_of",
    "headers_of",
    "operators_of",
    "running_session",
    "time_axis",
]

#: into how many buckets keys are spread, where that is not the number of partitions
BUCKETS_SETTING = "spark.windrow.buckets"
_MOST_BUCKETS = 100_000
#: what Spark's reader says where no micro-batch was completed
_NOTHING_YET = "STDS_COMMITTED_BATCH_UNAVAILABLE"


def check_checkpoint(query: Spec, checkpoint: str, spark: SparkSession | None = None) -> list[str]:
    """Raise what a stream of this query would raise on this checkpoint, once it had rows. Gives the names of
    windows and aggregates that were added: they see the rows from now on.

    What is raised is a ``ValueError`` which says what has changed: the query, except for what was added or
    removed, or the number of partitions of a shuffle. A checkpoint that is not there, or in which nothing was
    completed yet, is fine; one of something else than a windrow query is not."""
    spark = running_session(spark)
    try:
        own = operators_of(checkpoint, spark)
    except ValueError:
        stored = descriptions_in(checkpoint, spark)
        if not stored:
            raise
        check_same_query(query, checkpoint, stored)
        return []
    if own:
        check_is_windrows(query, checkpoint)
    compared = [_compared(query, checkpoint, spark, number) for number in own]
    fitting = [found for found in compared if isinstance(found, list)]
    if compared and not fitting:  # of a stream with several windrow queries, it fits none
        refusal = compared[0]
        assert isinstance(refusal, ChangedQuery)
        raise refusal
    return fitting[0] if fitting else []


def _compared(query: Spec, checkpoint: str, spark: SparkSession, operator: int) -> ChangedQuery | list[str]:
    """What was added to the query since; or why the state is of another one."""
    plan, buckets = plan_on_spark(query), bucket_count(spark, bool(query.by))
    added: list[str] = []
    for bucket, data in _header_entries(checkpoint, spark, operator):
        try:
            added = kept_by(_Header(bucket_place(bucket), data), buckets).check(plan)
        except ChangedQuery as changed:
            return changed
    return added


def bucket_count(session: SparkSession, has_keys: bool) -> int:
    """Over how many buckets a stream of this Spark session spreads its keys: ``spark.windrow.buckets``, or
    one for each partition of a shuffle. State stays in its bucket for as long as a stream lives."""
    if not has_keys:
        return 1
    given = setting(session, BUCKETS_SETTING)
    if given is None:
        return int(str(session.conf.get("spark.sql.shuffle.partitions")))
    if not given.isdigit() or not 0 < int(given) <= _MOST_BUCKETS:
        raise ValueError(f"{BUCKETS_SETTING}={given!r}: give a whole number from 1 to {_MOST_BUCKETS:,}")
    return int(given)


def buckets_of(checkpoint: str, spark: SparkSession) -> int | None:
    """Over how many buckets a stream has spread its keys; None: it has completed nothing yet."""
    for stored in headers_of(checkpoint, spark):
        return int(stored.get("marks", {}).get(BUCKETS, 1))
    return None


def headers_of(checkpoint: str, spark: SparkSession) -> Iterator[dict[str, Any]]:
    """The headers of all buckets, as plain values; none: nothing was completed yet."""
    for operator in operators_of(checkpoint, spark):
        for bucket, data in _header_entries(checkpoint, spark, operator):
            yield read_header(data, bucket_place(bucket))


def time_axis(header: dict[str, Any]) -> TimeAxis:
    """How the stream with this header counts time."""
    schema, settings = header["state"]["schema"].schema, header["query"]["settings"]
    return TimeAxis(schema.field(settings["time"]).type)


def _header_entries(checkpoint: str, spark: SparkSession, operator: int) -> Iterator[tuple[int, bytes]]:
    from windrow.engines.spark.streaming.processor import HEADER

    found = entries_of(checkpoint, spark, operator).where(f"name = '{HEADER}'").collect()
    return ((bucket, bytes(data)) for bucket, _, data in found)


def running_session(spark: SparkSession | None) -> SparkSession:
    from pyspark.sql import SparkSession

    found = spark or SparkSession.getActiveSession()
    if found is None:
        raise RuntimeError("there is no Spark session: start one with wr.spark.session()")
    return found


def entries_of(checkpoint: str, spark: SparkSession, operator: int) -> DataFrame:
    """The entries of all buckets: bucket, name, value."""
    columns = ("key.bucket AS bucket", "user_map_key.name AS name", "user_map_value.value AS value")
    return _reader(checkpoint, spark, operator).load().selectExpr(*columns)


def _reader(checkpoint: str, spark: SparkSession, operator: int) -> Any:
    from windrow.engines.spark.streaming.processor import ENTRIES

    # Spark 4.1 coordinates state, even to read it, once somebody has asked for streams
    _ = spark.streams.active
    reader = spark.read.format("statestore").option("path", checkpoint).option("stateVarName", ENTRIES)
    return reader.option("operatorId", operator)


def operators_of(checkpoint: str, spark: SparkSession) -> list[int]:
    """Which stateful operators of a stream are windrow's; none: it has completed nothing yet."""
    metadata = spark.read.format("state-metadata").load(checkpoint)
    found = metadata.select("operatorId", "operatorName", "operatorProperties").collect()
    own = sorted({number for number, _, properties in found if _is_own(properties)})
    if own or not found:
        is_fresh = _is_fresh(checkpoint, spark)  # a first micro-batch that failed leaves the operator's name
        if own or is_fresh:
            return [] if is_fresh else own
    if descriptions_in(checkpoint, spark):
        raise ValueError(
            f"the checkpoint {checkpoint!r} is of a query on Spark's own plan, whose state is Spark's: read "
            f"it with spark.read.format('statestore'), or run the query with plan='windrow' on another one"
        )
    others = ", ".join(sorted({name for _, name, _ in found}))
    held = f"state of {others}" if others else "a stream without state"
    raise ValueError(
        f"the checkpoint {checkpoint!r} is not of a windrow query: it holds {held}. "
        f"Give each stream a checkpoint of its own"
    )


def _is_own(properties: str | None) -> bool:
    from windrow.engines.spark.streaming.processor import ENTRIES

    variables = json.loads(properties or "{}").get("stateVariables", [])
    return any((v["stateName"], v["stateVariableType"]) == (ENTRIES, "MapState") for v in variables)


def _is_fresh(checkpoint: str, spark: SparkSession) -> bool:
    """Whether no micro-batch was completed, of whatever query."""
    from pyspark.errors import PySparkException

    try:
        _reader(checkpoint, spark, 0).load().schema  # noqa: B018 (on Spark Connect nothing is read before)
    except PySparkException as error:
        return condition_of(error) == _NOTHING_YET
    return False


@dataclass(frozen=True)
class _Header:
    """The entries of a bucket of which only the header is looked at."""

    place: bytes
    data: bytes

    def header(self) -> bytes:
        return self.data

    def block(self, name: str) -> bytes:
        raise CorruptState(f"block {name!r} of a bucket is not read to check a query")

    def set_header(self, data: bytes) -> None:
        raise AssertionError("checking writes nothing")

    def set_block(self, name: str, data: bytes) -> None:
        raise AssertionError("checking writes nothing")

    def delete_block(self, name: str) -> None:
        raise AssertionError("checking writes nothing")
