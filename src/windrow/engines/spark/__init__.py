"""Spark: the same queries on Spark DataFrames, distributed and lazy.

``detect``        whether a value is a Spark DataFrame, without importing pyspark
``batch``         the entry: checks a query against a DataFrame and chooses the plan
``compat``        what differs between sessions, classic or Spark Connect, and between versions of PySpark
``worker_python`` the Python of workers, looked at before anything runs
``types``         Spark's types and Arrow's; the types of results, known before anything runs
``rolling``       rolling queries: rows of a key to one partition, partitions to the local engine
``skew``          whether keys that hold most of the rows are split in time; ``segments`` splits them
``windows``       windows: partial aggregates by slice, shuffled, assembled
``explain``       the plan in words
``sql``           table functions for SQL

What runs in Python workers imports no pyspark: it is in ``worker``. ``partition`` takes the rows of a
partition, from memory or from disk, and ``local_task`` hands them to the local engine.
"""

from windrow.engines.spark.detect import is_in_spark_task, is_spark_frame

__all__ = ["is_in_spark_task", "is_spark_frame"]
