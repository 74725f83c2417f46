"""The rows and the results of a job, read by Spark: of the rows those of the chosen keys alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.cli.errors import JobError
from windrow.cli.execution.spark.kafka import read_kafka_results
from windrow.cli.execution.spark.run import read_source
from windrow.cli.job import Job, Sink, Source
from windrow.engines.spark.frames import column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkTables"]


class SparkTables:
    """Of one job, in one session."""

    def __init__(self, job: Job, spark: SparkSession) -> None:
        self._job, self._spark = job, spark

    def rows(self, source: Source, keys: pa.Table | None) -> pa.Table:
        """The rows of these keys, which are named as the source names them."""
        frame = self._frame(source)
        if keys is not None:
            wanted = self._spark.createDataFrame(keys)
            wanted = wanted.toDF(*(f"__windrow_{k}" for k in range(keys.num_columns)))
            matches: Any = None
            for name, other in zip(keys.column_names, wanted.columns, strict=True):
                same = column(name).eqNullSafe(column(other))
                matches = same if matches is None else matches & same
            frame = frame.join(wanted, matches, "left_semi")
        return frame.toArrow()

    def written(self, sink: Sink) -> pa.Table | None:
        """What was written to a sink; None: nothing is there."""
        options = {option.name: option.value for option in sink.options}
        if sink.format == "kafka":
            return self._from_kafka(sink, options)
        if sink.path is None:
            raise JobError(
                f"{self._job.file}: [{sink.table}] format: {sink.format!r} cannot be read back: windrow "
                f"verify reads files, tables with a path, and kafka"
            )
        try:
            return self._spark.read.format(sink.format).options(**options).load(sink.path).toArrow()
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error) or "UNABLE_TO_INFER_SCHEMA" in str(error):
                return None
            raise

    def _from_kafka(self, sink: Sink, options: dict[str, str]) -> pa.Table | None:
        place = f"{self._job.file}: [{sink.table}"
        if "topic" not in options:
            raise JobError(
                f"{place}.options]: results whose topic is a column of theirs are not read back: name a topic"
            )
        empty = self._frame(self._job.source).limit(0).toArrow()
        fields = empty.schema if sink.table == "late" else self._results(empty)
        if "value" in fields.names:
            raise JobError(
                f"{place}]: results with a column 'value' of their own are written as they are, and cannot "
                f"be read back: rename that column in [agg] or [source.columns]"
            )
        return read_kafka_results(self._spark, options, fields)

    def _results(self, empty: pa.Table) -> pa.Schema:
        labels = self._job.labels
        asked = {} if labels is None else labels.arguments(self._frame(labels.source).limit(0).toArrow())
        found: pa.Table = self._job.query.run(empty, **asked)
        return found.schema

    def _frame(self, source: Source) -> DataFrame:
        return read_source(self._job, self._spark, replace(source, is_stream=False))
