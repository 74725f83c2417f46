"""Whether a value is a Spark DataFrame, and whether this is a Spark task. pyspark is not imported for
that: where there is either, it has been loaded already."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["is_in_spark_task", "is_spark_frame"]


def is_spark_frame(data: Any) -> bool:
    """
    >>> is_spark_frame([1, 2])
    False
    """
    kinds = type(data).__mro__
    return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in kinds)


def is_in_spark_task() -> bool:
    """Whether this process works on a Spark task, which runs one for each core.

    >>> is_in_spark_task()
    False
    """
    module = sys.modules.get("pyspark.taskcontext")
    return module is not None and module.TaskContext.get() is not None
