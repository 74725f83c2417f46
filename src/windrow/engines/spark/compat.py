"""What differs from one Spark to another. Sessions are classic, with the JVM at hand, or of Spark Connect,
where only plans and settings travel; and PySpark's own helpers change from version to version.

All that windrow asks of Spark beyond the API that all have is asked here. Nothing in this module starts
a job; on Spark Connect a setting costs a round trip.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

__all__ = [
    "analyzed_plan",
    "arrow_type",
    "check_streams",
    "check_table_functions",
    "condition_of",
    "cores_of",
    "has_own_server",
    "is_connect",
    "is_streaming",
    "jvm_environment",
    "observed",
    "on_start",
    "optimized_plan",
    "parallelism",
    "repartition_state",
    "set_setting",
    "setting",
]

#: the first version with transformWithState on rows, and with table functions that say their schema
_STREAMS, _TABLE_FUNCTIONS = (4, 1), (4, 0)
#: what Spark says where a function of a declarative pipeline asks about a DataFrame
_IN_A_PIPELINE = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"


def is_connect(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_streaming(frame: DataFrame) -> bool:
    """Whether a DataFrame is a stream: the first that a query asks about it, which Spark does not answer in a
    function of a declarative pipeline."""
    from pyspark.errors import PySparkException

    try:
        return frame.isStreaming
    except PySparkException as error:
        if condition_of(error) != _IN_A_PIPELINE:
            raise
        raise RuntimeError(
            "windrow needs the schema of a DataFrame, which Spark does not give in a function of a pipeline: "
            "run the query above the function, at the top level of the file, and return its result from the "
            "function"
        ) from error


def has_own_server() -> bool:
    """Whether this process has started a server of Spark Connect: ``remote("local[2]")``."""
    from pyspark import SparkContext

    return "SPARK_LOCAL_REMOTE" in os.environ and SparkContext._active_spark_context is not None


def jvm_environment(name: str) -> str | None:
    """A variable in the environment in which the JVM of this process was started."""
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    found = jvm.java.lang.System.getenv(name)
    return None if found is None else str(found)


def check_streams(session: SparkSession) -> None:
    """Raise where Spark, here or on the server, is too old for windrow's streams."""
    _check_version(session, _STREAMS, "windrow's streams need Spark's transformWithState, which is")


def check_table_functions(session: SparkSession) -> None:
    """Raise where Spark, here or on the server, is too old for windrow in SQL."""
    needed = "windrow in SQL needs table functions that infer their schema, which are"
    _check_version(session, _TABLE_FUNCTIONS, needed)


def _check_version(session: SparkSession, since: tuple[int, int], needed: str) -> None:
    import pyspark

    for version in (pyspark.__version__, session.version):
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < since:
            raise RuntimeError(
                f"{needed} in Spark {since[0]}.{since[1]} and newer, and this is {version}: queries on "
                f"tables run here, and the rest with a newer Spark"
            )


# -- settings ------------------------------------------------------------------------------------------------


def setting(session: SparkSession, name: str) -> str | None:
    """A setting that somebody has made; None: nobody has, or the platform does not say."""
    from pyspark.errors import PySparkException

    try:
        return session.conf.get(name, None)
    except PySparkException:
        return None


def set_setting(session: SparkSession, name: str, value: str) -> PySparkException | None:
    """Make a setting; None, or what the session refuses it with. (``isModifiable`` is not asked: it is false
    of every setting that Spark has not registered, those of the RocksDB store among them.)"""
    from pyspark.errors import PySparkException

    try:
        session.conf.set(name, value)
    except PySparkException as refusal:
        return refusal
    return None


def condition_of(error: PySparkException) -> str | None:
    """The name of an error, as in ``UNRESOLVED_COLUMN``; before 4.0 it was an error class."""
    asked: Any = getattr(error, "getCondition", None) or error.getErrorClass
    found = asked()
    return None if found is None else str(found)


# -- where it runs -------------------------------------------------------------------------------------------


def cores_of(master: str) -> int | None:
    """The cores that Spark uses on its machine; None: it is on several.

    >>> cores_of("local"), cores_of("local[4]"), cores_of("local[2, 3]"), cores_of("spark://host:7077")
    (1, 4, 2, None)
    """
    found = re.fullmatch(r"local(?:\[\s*(\d+|\*)\s*(?:,\s*\d+\s*)?\])?", master)
    if found is None:
        return None
    return os.cpu_count() or 1 if found[1] == "*" else int(found[1] or 1)


def parallelism(session: SparkSession) -> int:
    """Tasks that run at the same time. Spark Connect does not say: there it follows from settings, and where
    these say nothing it is the number of partitions of a shuffle."""
    if not is_connect(session):
        return int(session.sparkContext.defaultParallelism)
    given = setting(session, "spark.default.parallelism")
    cores = int(given) if given else cores_of(setting(session, "spark.master") or "")
    return cores or _executor_cores(session) or int(str(session.conf.get("spark.sql.shuffle.partitions")))


def _executor_cores(session: SparkSession) -> int | None:
    instances, cores = (setting(session, f"spark.executor.{name}") for name in ("instances", "cores"))
    return int(instances) * int(cores or 1) if instances else None


def optimized_plan(frame: DataFrame) -> Any:
    """Spark's optimized plan of a frame, an object of the JVM; None on Spark Connect, which has none here."""
    inner = getattr(frame, "_jdf", None)
    return None if inner is None else inner.queryExecution().optimizedPlan()


def analyzed_plan(frame: DataFrame) -> str:
    """Spark's analyzed plan of a frame, as text: a line per node. On Spark Connect it costs a round trip."""
    given: Any = frame
    if hasattr(given, "_jdf"):
        return str(given._jdf.queryExecution().analyzed().treeString())
    plans = str(given._explain_string(extended=True))
    return plans.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]


#: what is made of each frame that starts as a stream, with its output mode and its checkpoint
StartCheck = Callable[["DataFrame", str, "str | None"], None]
_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


def on_start(frame: DataFrame, check: StartCheck) -> None:
    """Have a check made of each frame that sessions like this one's start as a stream: Spark asks nobody
    else. It is made once, however often it is asked for."""
    kind: Any = type(frame.writeStream)
    if hasattr(kind, "_windrow_given"):
        return
    kind._windrow_given = {}
    for name in ("outputMode", "queryName", "option", "options"):
        setattr(kind, name, _remembered(getattr(kind, name)))
    for name in ("start", "toTable"):
        setattr(kind, name, _checked(getattr(kind, name), check))


def _remembered(setter: Any) -> Any:
    """A method of a writer that takes a setting, and keeps what it was given."""
    parameters = inspect.signature(setter)

    @functools.wraps(setter)
    def remembered(writer: Any, *values: Any, **named: Any) -> Any:
        given = dict(parameters.bind(writer, *values, **named).arguments)
        del given["self"]
        if "key" in given:  # of an option
            given = {given["key"]: given["value"]}
        writer._windrow_given = writer._windrow_given | given.pop("options", {}) | given
        return setter(writer, *values, **named)

    return remembered


def _checked(start: Any, check: StartCheck) -> Any:
    parameters = inspect.signature(start)

    @functools.wraps(start)
    def checked(writer: Any, *values: Any, **named: Any) -> Any:
        now = parameters.bind(writer, *values, **named).arguments
        given = (
            writer._windrow_given | now.get("options", {}) | {n: v for n, v in now.items() if v is not None}
        )
        mode = str(given.get("outputMode", "append")).lower()
        frame = _written(writer)
        check(frame, mode, _checkpoint(frame.sparkSession, given))
        return start(writer, *values, **named)

    return checked


def _checkpoint(session: SparkSession, given: Mapping[str, Any]) -> str | None:
    """Where a stream keeps its checkpoint; None: in a new folder."""
    named = next((value for name, value in given.items() if name.lower() == "checkpointlocation"), None)
    if named is not None or "queryName" not in given:
        return None if named is None else str(named)
    folder = setting(session, _CHECKPOINTS)
    return None if folder is None else f"{folder}/{given['queryName']}"


def _written(writer: Any) -> DataFrame:
    """What a ``DataStreamWriter`` is of."""
    found: Any = getattr(writer, "_df", None)
    if found is None:
        from pyspark.sql.connect.dataframe import DataFrame

        found = DataFrame(writer._write_stream._child, writer._session)
    return found


def observed(progress: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The metrics of a name in the progress of a stream; none: an empty dict.

    Classic sessions have a row with their names, Spark Connect a row of values and their schema.

    >>> observed(
    ...     {"observedMetrics": {"seen": {"values": [3], "schema": {"fields": [{"name": "n"}]}}}}, "seen"
    ... )
    {'n': 3}
    """
    found = (progress.get("observedMetrics") or {}).get(name)
    if found is None:
        return {}
    plain = dict(found.asDict()) if hasattr(found, "asDict") else dict(found)
    if plain.keys() == {"values", "schema"}:
        names = [field["name"] for field in plain["schema"]["fields"]]
        return dict(zip(names, plain["values"], strict=True))
    return plain


# -- types ---------------------------------------------------------------------------------------------------


def arrow_type(kind: DataType, zone: str) -> Any:
    """The Arrow type of values of a Spark type, in a session of this time zone."""
    from pyspark.sql.pandas.types import to_arrow_type

    convert: Any = to_arrow_type
    if "timezone" in inspect.signature(convert).parameters:
        return convert(kind, timezone=zone)
    return _in_zone(convert(kind), zone)  # in older versions always in UTC


def _in_zone(kind: Any, zone: str) -> Any:
    """
    >>> _in_zone(pa.struct({"at": pa.timestamp("us", "UTC"), "n": pa.list_(pa.int64())}), "Asia/Tokyo")
    StructType(struct<at: timestamp[us, tz=Asia/Tokyo], n: list<item: int64>>)
    """
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, zone)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_zone(field.type, zone)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_zone(kind.value_type, zone)))
    if pa.types.is_map(kind):
        key, item = (
            field.with_type(_in_zone(field.type, zone)) for field in (kind.key_field, kind.item_field)
        )
        return pa.map_(key, item)
    return kind


def repartition_state(session: SparkSession, checkpoint: str, partitions: int) -> None:
    """Spark's own repartitioning of state, which came with 4.2 and is not in Spark Connect."""
    manager = getattr(session, "_streamingCheckpointManager", None)
    if manager is None:
        raise NotImplementedError(
            f"state is spread over other partitions by Spark itself, from Spark 4.2 on and not over Spark "
            f"Connect, and this is Spark {session.version}{' over Connect' if is_connect(session) else ''}: "
            f"run windrow state rescale with PySpark 4.2 or newer where the checkpoint is; it starts a "
            f"session of its own"
        )
    manager.repartition(checkpoint, partitions)
