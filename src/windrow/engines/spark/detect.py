"""Whether a value is a Spark DataFrame. pyspark is not imported for it: who has such a DataFrame has loaded
pyspark already."""

from __future__ import annotations

from typing import Any

__all__ = ["is_spark_frame"]


def is_spark_frame(data: Any) -> bool:
    """
    >>> is_spark_frame([1, 2])
    False
    """
    kinds = type(data).__mro__
    return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in kinds)
