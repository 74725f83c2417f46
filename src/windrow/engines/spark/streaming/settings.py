"""A Spark session that is ready for windrow: what streams need, and defaults that measure well.

Nothing that the user has set is changed: neither by name here, nor in a session that runs already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from windrow.packages import how_to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SETTINGS", "session"]

_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

#: settings and why
SETTINGS: dict[str, tuple[str, str]] = {
    "spark.sql.streaming.stateStore.providerClass": (_PROVIDER, "state of Python processors needs RocksDB"),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": (
        "true",
        "a micro-batch writes what changed, not a whole snapshot",
    ),
    "spark.sql.execution.arrow.maxRecordsPerBatch": ("32768", "few large Arrow batches cost less"),
    "spark.sql.execution.arrow.maxBytesPerBatch": (
        str((1 << 31) - 1),
        "with any limit, Spark measures the whole batch after each row",
    ),
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": (
        "false",
        "counting rows of state reads before each write",
    ),
}


def session(settings: Mapping[str, Any] | None = None, **options: Any) -> SparkSession:
    """A Spark session with the settings that windrow's streams need.

    ``settings`` are Spark's, by their full names; ``master`` and ``app_name`` may be given as options. If a
    session runs already it is used, and of the settings only those are made that nobody has made. A new one
    on ``local[n]`` has n partitions of a shuffle.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ImportError(f"a Spark session needs pyspark: {how_to_install('spark')}") from error
    given = {name: str(value) for name, value in (settings or {}).items()}
    running = SparkSession.getActiveSession()
    if running is not None:
        return _completed(running, given)
    builder = SparkSession.builder.appName(options.pop("app_name", "windrow"))
    if "master" in options:
        given = _for_master(options["master"]) | given
        builder = builder.master(options.pop("master"))
    if options:
        raise TypeError(f"session() has no option {next(iter(options))!r}: it takes master and app_name")
    for name, value in ({name: value for name, (value, _) in SETTINGS.items()} | given).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _for_master(master: str) -> dict[str, str]:
    """One machine gets a partition of each shuffle for each of its cores: every further one costs a stream a
    task a micro-batch. The number of a cluster's cores is not known here, and Spark's default stays."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", master)
    if found is None:
        return {}
    cores = os.cpu_count() or 1 if found[1] == "*" else found[1] or 1
    return {"spark.sql.shuffle.partitions": str(cores)}


def _completed(running: SparkSession, given: dict[str, str]) -> SparkSession:
    made = dict(running.conf.getAll)
    wanted = {name: value for name, (value, _) in SETTINGS.items() if name not in made} | given
    for name, value in wanted.items():
        running.conf.set(name, value)
    return running
