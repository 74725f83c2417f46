"""What Spark says of an error in a Python worker becomes windrow's own sentence. Texts are Spark's."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import windrow
from windrow.cli.execution.spark.failures import first_line

FRAMES = """\
  File "/usr/lib/python3.11/site-packages/pyspark/worker.py", line 4327, in invoke_udf
    run_process()
  File "/usr/lib/python3.11/site-packages/windrow/engines/stream/stored.py", line 129, in load
    found = restored_value(plan, self._told, self)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
#: as query.exception() gives it, and as awaitTermination() raises it
EXCEPTION = (
    "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
    + FRAMES
    + "{raised}\n SQLSTATE: 38000\n"
    "=== Streaming Query ===\n"
    "Identifier: [id = cc9340cb-79bd-4dc1-b800-625519941622, runId = 7d58ea36-0b98-46d1-bd76-4688e4a0035e]\n"
    "Current Committed Offsets: {{}}\n"
    "\n"
    "Logical Plan:\n"
    "WriteToMicroBatchDataSource noop-table\n"
    "+- ~EventTimeWatermark 2dcbfcb1-97f0-4c26-8c32-9e4811982d0b, clock#564: timestamp, 0.005 seconds\n"
)
STREAM_FAILED = EXCEPTION.replace(
    "[PYTHON_EXCEPTION]",
    "[STREAM_FAILED] Query [id = cc9340cb-79bd-4dc1-b800-625519941622, runId = 7d58ea36-0b98-46d1-bd76-"
    "4688e4a0035e] terminated with exception: [PYTHON_EXCEPTION]",
).replace("38000", "38000 SQLSTATE: XXKST")
#: a batch on Spark, as pyspark raises it, and as the JVM does
BATCH = (
    "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
    + FRAMES
    + "{raised}\n"
)
JVM = (
    "An error occurred while calling o91.save.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times,"
    " most recent failure: Lost task 0.0 in stage 3.0: org.apache.spark.api.python.PythonException: "
    "Traceback (most recent call last):\n" + FRAMES + "{raised}\n\n"
    "\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(P.scala)\n"
    "\t... 1 more\n\nDriver stacktrace:\n\tat org.apache.spark.scheduler.DAGScheduler.failJob\n"
    "Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    + FRAMES
    + "{raised}\n\n\tat org.apache.spark\n"
)
#: where the user has asked Spark to leave the traceback out
WITHOUT_TRACE = (
    "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: {raised}\n SQLSTATE: 38000"
)
TEXTS = [EXCEPTION, STREAM_FAILED, BATCH, JVM, WITHOUT_TRACE]
CHANGED = (
    "the snapshot is of another query: the window was Tumbling(10), is Tumbling(20). Restore it with the "
    "query it was made of; windows and aggregates may be added to that and removed from it, and watermark, "
    "allowed_lateness and max_ahead changed"
)


def own_errors() -> list[str]:
    """All exceptions that windrow defines, by their full names."""
    found = set()
    for module in pkgutil.walk_packages(windrow.__path__, "windrow."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                is_error = isinstance(value, type) and issubclass(value, Exception)
                if is_error and not issubclass(value, Warning) and value.__module__.startswith("windrow."):
                    found.add(f"{value.__module__}.{value.__qualname__}")
    return sorted(found)


@pytest.mark.parametrize("text", TEXTS)
def test_every_error_that_windrow_defines_crosses_spark_as_its_own_text(text: str) -> None:
    names = own_errors()
    assert {"windrow.errors.ChangedQuery", "windrow.errors.WindowTaken"} <= set(names)
    for name in names:
        assert first_line(ValueError(text.format(raised=f"{name}: {CHANGED}"))) == CHANGED


def test_a_long_message_of_windrows_is_not_cut() -> None:
    message = "; ".join(f"aggregate 'a{k}' (max(v)) is missing" for k in range(100))
    raised = f"windrow.errors.ChangedQuery: {message}"
    assert first_line(ValueError(STREAM_FAILED.format(raised=raised))) == message


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_users_combine_raises_has_aggregate_key_and_row_and_all_its_lines(text: str) -> None:
    message = "aggregate 'bad' raised RuntimeError at the row with ts=2 of key 'a' (value 2.0): kaput"
    raised = f"windrow.errors.AggregateError: {message}\nsecond line"
    assert first_line(ValueError(text.format(raised=raised))) == f"{message} second line"


@pytest.mark.parametrize("text", TEXTS[:-1])
def test_an_exception_of_the_users_own_is_found_whatever_it_is_called(text: str) -> None:
    assert first_line(ValueError(text.format(raised="shop.rules.TooMuch: over 9000"))) == "TooMuch: over 9000"
    assert first_line(ValueError(text.format(raised="shop.rules.TooMuch"))) == "TooMuch"


def test_of_errors_that_raised_each_other_windrows_is_shown() -> None:
    raised = (
        "KeyError: 'x'\n\nThe above exception was the direct cause of the following exception:\n\n"
        f"Traceback (most recent call last):\n{FRAMES}windrow.errors.AggregateError: 'bad' raised\n\n"
        f"During handling of the above exception, another exception occurred:\n\n"
        f"Traceback (most recent call last):\n{FRAMES}RuntimeError: generator raised StopIteration"
    )
    assert first_line(ValueError(EXCEPTION.format(raised=raised))) == "'bad' raised"
