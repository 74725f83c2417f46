"""The rows and the results of a job, read by Spark: of the rows those of the chosen keys alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.cli.errors import JobError
from windrow.cli.execution.spark.run import read_source
from windrow.cli.job import Job, Sink
from windrow.engines.spark.frames import column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["read_rows", "read_written"]


def read_rows(job: Job, spark: SparkSession, keys: pa.Table | None) -> pa.Table:
    """The rows of these keys."""
    finite = replace(job, source=replace(job.source, is_stream=False))
    frame = read_source(finite, spark)
    if keys is not None:
        wanted = spark.createDataFrame(keys).toDF(*(f"__windrow_{k}" for k in range(keys.num_columns)))
        names = zip(keys.column_names, wanted.columns, strict=True)
        matches: Any = None
        for name, other in names:
            same = column(name).eqNullSafe(column(other))
            matches = same if matches is None else matches & same
        frame = frame.join(wanted, matches, "left_semi")
    return frame.toArrow()


def read_written(job: Job, spark: SparkSession, sink: Sink) -> pa.Table | None:
    """What was written to a sink; None: nothing is there."""
    options = {option.name: option.value for option in sink.options}
    if sink.path is None:
        raise JobError(f"{job.file}: [{sink.table}] format: {sink.format!r} cannot be read back")
    try:
        return spark.read.format(sink.format).options(**options).load(sink.path).toArrow()
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error) or "UNABLE_TO_INFER_SCHEMA" in str(error):
            return None
        raise
