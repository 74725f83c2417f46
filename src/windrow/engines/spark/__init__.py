"""Spark: the same queries on Spark DataFrames, distributed and lazy.

``detect``        whether a value is a Spark DataFrame, without importing pyspark
``batch``         the entry: checks a query against a DataFrame and chooses the plan
``compat``        what differs between sessions, classic or Spark Connect, and between versions of PySpark
``worker_python`` the Python of workers, looked at before anything runs
``types``         Spark's types and Arrow's; the types of results, known before anything runs
``rolling``       rolling queries: repartition, sort, one pass over sorted batches
``skew``          whether keys that hold most of the rows are split in time; ``segments`` splits them
``windows``       windows: partial aggregates by slice, shuffled, assembled
``explain``       the plan in words
``sql``           table functions for SQL

What runs in Python workers imports no pyspark: ``shipped`` (queries on their way to a worker), ``chunks`` and
``runs`` (sorted batches), ``carry`` and ``tails`` (state from batch to batch), ``rolling_task`` and others.
"""

from windrow.engines.spark.detect import is_in_spark_task, is_spark_frame

__all__ = ["is_in_spark_task", "is_spark_frame"]
