"""The process from which Spark forks its Python workers, with windrow loaded: ``spark.python.daemon.module``.

A worker that is forked has loaded what tasks need: the first tasks of a session wait for one process to do
it, and not for each. Nothing is compiled here and no thread is started, which a fork would not survive.
:func:`windrow.engines.spark.session.session` asks for it where workers run the Python of this machine.
"""

from __future__ import annotations

import gc
import importlib

from pyspark import daemon

__all__ = ["LOADED", "load"]

#: what tasks of streams and tables load, in windrow and in pyspark
LOADED = (
    "numba",
    "pandas",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.worker",
    "windrow.engines.spark.streaming.processor",
    "windrow.engines.spark.worker.local_task",
    "windrow.engines.spark.worker.streaming.history_task",
    "windrow.engines.spark.worker.streaming.pack_task",
    "windrow.engines.spark.worker.streaming.result_rows",
    "windrow.engines.spark.worker.streaming.silence",
    "windrow.engines.spark.worker.streaming.step",
    "windrow.engines.spark.worker.windows.assemble_task",
    "windrow.engines.spark.worker.windows.fold_task",
)


def load() -> None:
    """Load what workers need. What a version of pyspark lacks is left to its workers."""
    for name in LOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    gc.freeze()  # it stays in every worker


if __name__ == "__main__":
    load()
    daemon.manager()
