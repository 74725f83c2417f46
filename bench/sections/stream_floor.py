"""What a micro-batch of a stream is made of: Spark's durations, stages and Python workers, for both sides and
with each part of windrow's plan left out."""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
from sections.idle_steps import idle

from windrow.engines.spark.streaming import run
from windrow.engines.spark.worker.chunks import chunked
from windrow.engines.spark.worker.streaming.pack_task import PACKED

__all__ = ["executions_since", "last_execution", "medians", "parts_left_out"]

Stream = Callable[[Any], Any]
Row = dict[str, Any]
#: Spark's names of what its Python workers take, in all tasks together; those that stay begin to wait for the
#: next task where they would be initialized
_PYTHON = {
    "time to start Python workers": "boot s",
    "time to initialize Python workers": "init and wait s",
    "time to run Python workers": "python s",
}
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0}


def parts_left_out(mine: Stream) -> dict[str, Stream]:
    """A windrow stream, and the same without one of its parts."""
    return {
        "windrow": mine,
        "steps do nothing": idle(mine),
        "rows are not packed": _with("pack_batches", _clocks_alone, mine),
        "nothing is counted": _uncounted(mine),
        "lists stay lists": _with("unfolded", _lists, mine),
    }


def _with(name: str, other: Any, stream: Stream) -> Stream:
    """The stream with another function of the plan."""

    def changed(source: Any) -> Any:
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
        with patch.object(run, name, other):
            return stream(source)

    return changed


def _clocks_alone(
    payload: bytes, schema: Any, buckets: list[int], batches: Iterable[Any], **more: Any
) -> Iterator[Any]:
    """Clocks as rows would bring them, and no rows."""
    for table in chunked(batches, 1 << 18, 0):
        latest = pc.max(table.column("ts")).as_py()
        if latest is not None:
            nothing = dict.fromkeys(PACKED.names)
            rows = [nothing | {"bucket": bucket, "clock": latest} for bucket in buckets]
            yield pa.RecordBatch.from_pylist(rows, schema=PACKED)


def _lists(stepped: Any, *about: Any) -> Any:
    return stepped


def _uncounted(stream: Stream) -> Stream:
    def changed(source: Any) -> Any:
        with patch.object(type(source), "observe", lambda frame, *metrics: frame):
            return stream(source)

    return changed


# -- what Spark knows of it ----------------------------------------------------------------------------------


def executions_since(spark: Any, before: int) -> list[Row]:
    """Of each micro-batch, the seconds of its stages and of its Python workers."""
    store = spark._jsparkSession.sharedState().statusStore()
    found = []
    for execution in _each(store.executionsList()):
        if execution.executionId() <= before:
            continue
        stages = sorted(_each(execution.stages()))
        seconds = [each for each in (_stage(spark, number) for number in stages) if each is not None]
        if len(seconds) < 2:
            continue
        row = {"stage of rows s": seconds[0], "stage of state s": seconds[-1]}
        names = {metric.accumulatorId(): metric.name() for metric in _each(execution.metrics())}
        values = {pair._1(): pair._2() for pair in _each(store.executionMetrics(execution.executionId()))}
        for number, name in names.items():
            if name in _PYTHON:
                row[_PYTHON[name]] = row.get(_PYTHON[name], 0.0) + _seconds(values.get(number, "0 ms"))
        found.append(row)
    return found


def last_execution(spark: Any) -> int:
    found = _each(spark._jsparkSession.sharedState().statusStore().executionsList())
    return max((each.executionId() for each in found), default=-1)


def _stage(spark: Any, number: int) -> float | None:
    """Seconds of a stage that was run."""
    try:
        stage = spark.sparkContext._jsc.sc().statusStore().lastStageAttempt(number)
    except Exception:  # it was skipped
        return None
    begun, done = stage.submissionTime(), stage.completionTime()
    if begun.isEmpty() or done.isEmpty():
        return None
    return float(done.get().getTime() - begun.get().getTime()) / 1000


def _each(collection: Any) -> Iterator[Any]:
    iterator = collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _seconds(text: str) -> float:
    """
    >>> _seconds("12 ms"), _seconds("total (min, med, max (stageId: taskId))\\n1.5 s (0 ms, 1 s, 1 s)")
    (0.012, 1.5)
    """
    found = re.search(r"([\d.,]+) (ms|s|m)\b", text.split("\n")[-1])
    return 0.0 if found is None else float(found[1].replace(",", "")) * _UNITS[found[2]]


def medians(progresses: list[Any], executions: list[Row]) -> Row:
    """Each part of a micro-batch, in seconds."""
    parts = dict.fromkeys(name for progress in progresses for name in progress["durationMs"])
    row = {
        f"{part} s": statistics.median(p["durationMs"].get(part, 0) for p in progresses) / 1000
        for part in parts
    }
    for name in ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs"):
        times = [p["stateOperators"][0].get(name, 0) for p in progresses]
        row[f"{name.removesuffix('TimeMs')} s"] = statistics.median(times) / 1000
    for name in dict.fromkeys(name for each in executions for name in each):
        row[name] = statistics.median(each.get(name, 0.0) for each in executions)
    return row
