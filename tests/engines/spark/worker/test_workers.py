"""What Spark workers do between tasks."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from windrow.engines.spark.worker.lifetime import lasting

def task(batches):
    return (2 * batch for batch in batches)

def begun():
    batches = lasting(task)(range(3))
    first, count = next(batches), gc.get_freeze_count()
    assert [first, *batches] == [0, 2, 4]
    gc.collect()  # as Spark does after each task
    kept.append([])
    return count

kept = []
counts = [begun() for _ in range(20)]
print(counts[0] == 0, counts[1] > 1_000, counts[8] > counts[1], max(counts[9:]) <= counts[8])
"""


def test_what_the_first_tasks_loaded_is_set_aside_and_nothing_after_them() -> None:
    # in a process of its own: this one must not keep its garbage
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 4


def test_spark_asks_for_the_variables_of_a_stream_without_loading_the_engine() -> None:
    # in a Python that is started for it, and for which the first micro-batch waits
    program = """
import sys
import pyspark.sql.streaming.stateful_processor_api_client
import windrow.engines.spark.streaming.processor
print(sorted({"numba", "numpy", "pyarrow"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]
