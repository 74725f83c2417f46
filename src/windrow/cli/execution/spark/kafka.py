"""Results as records of Kafka: the key is that of the result, the value all of it as JSON, with an id.

Kafka's sink writes a micro-batch again that was not known to be written when Spark stopped. Results of the
same micro-batch are the same, and so are their ids: a consumer that has seen an id drops the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.engines.spark.frames import column, spark_field
from windrow.result_names import LATE, REJECTED
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["ID", "read_kafka_results", "with_kafka_values"]

#: the field of a value that no two results share, but a result that is written again
ID = "result_id"
#: what tells a result from others, as far as results have it
_IDENTITY = ("window", "window_start", "window_end", "revision", "retracted", "is_final")
#: Kafka rows are told from others by where they lie
_PLACE = ("kafka_topic", "kafka_partition", "kafka_offset")
_JSON = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def with_kafka_values(query: Spec, frame: DataFrame) -> DataFrame:
    """The rows as records; those that have a column ``value`` already as they are."""
    from pyspark.sql import functions

    if "value" in frame.columns:
        return frame
    keys = [name for name in query.by if name in frame.columns]
    key = _json(keys) if keys else functions.lit(None).cast("string")
    known = [name for name in (*query.by, *_identity(query, frame)) if name in frame.columns]
    fields = list(map(column, frame.columns))
    if known and len(known) > len(keys):
        fields.insert(0, functions.sha2(_json(known), 256).alias(ID))
    value = functions.to_json(functions.struct(*fields), _JSON)
    return frame.select(key.alias("key"), value.alias("value"))


#: what results have besides what the query gives, as far as they have it; rows that came back as text
_BESIDE = {"revision": pa.int64(), "retracted": pa.bool_(), "is_final": pa.bool_()}
_BESIDE |= dict.fromkeys((ID, LATE, REJECTED), pa.string())


def read_kafka_results(spark: SparkSession, options: dict[str, str], results: pa.Schema) -> pa.Table | None:
    """What is in a topic, each result once, with the columns of ``results`` and those beside them that some
    result has; None: the topic is empty. ``options``: those of the sink."""
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    ours = {name: value for name, value in options.items() if name.startswith("kafka.")}
    records = spark.read.format("kafka").options(**ours, subscribe=options["topic"]).load()
    types = {field.name: field.type for field in results} | _BESIDE
    fields = [spark_field(name, kind) for name, kind in types.items()]
    value = functions.col("value").cast("string")
    parsed = records.select(functions.from_json(value, StructType(fields), _JSON).alias("result"))
    table = parsed.select("result.*").toArrow()
    if not table.num_rows:
        return None
    kept = [n for n in table.column_names if n not in _BESIDE or table.column(n).null_count < table.num_rows]
    return _each_once(table).select(kept)


def _each_once(table: pa.Table) -> pa.Table:
    """Without repeats of an id; results that have none stay."""
    first: dict[str | int, int] = {}
    for place, each in enumerate(table.column(ID).to_pylist()):
        first.setdefault(place if each is None else each, place)
    return table.take(pa.array(list(first.values()), pa.int64()))


def _identity(query: Spec, frame: DataFrame) -> tuple[str, ...]:
    return _IDENTITY if "window_end" in frame.columns and query.windows else _PLACE


def _json(names: list[str]) -> Column:
    from pyspark.sql import functions

    return functions.to_json(functions.struct(*map(column, names)), _JSON)
