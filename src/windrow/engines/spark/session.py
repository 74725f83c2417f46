"""A Spark session that is ready for windrow: what streams need, and defaults that measure well.

Nothing that the user has set is changed: neither by name here, nor in a session that runs already.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from windrow.packages import how_to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SETTINGS", "DefaultPartitions", "session", "warn_of_partitions"]

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


_PARTITIONS = "spark.sql.shuffle.partitions"
#: where a master may be named besides here; if one of them is set, which it is is not known
_ELSEWHERE = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE")


class DefaultPartitions(UserWarning):
    """A session on one machine has as many partitions of a shuffle as Spark makes for a cluster; each costs a
    stream a task in every micro-batch."""


def session(settings: Mapping[str, Any] | None = None, **options: Any) -> SparkSession:
    """A Spark session with the settings that windrow's streams need.

    ``settings`` are Spark's, by their full names; ``master`` and ``app_name`` may be given as options. If a
    session runs already it is used, and of the settings only those are made that nobody has made. A new one
    on ``local[n]`` has n partitions of a shuffle, and workers that run this Python, unless ``PYSPARK_PYTHON``
    or ``spark.pyspark.python`` name another.
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
    given = _for_master(_master(options, given), given) | given
    if "master" in options:
        builder = builder.master(options.pop("master"))
    if options:
        raise TypeError(f"session() has no option {next(iter(options))!r}: it takes master and app_name")
    for name, value in ({name: value for name, (value, _) in SETTINGS.items()} | given).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _master(options: Mapping[str, Any], given: Mapping[str, str]) -> str | None:
    """Where a new session will run; None: that is said elsewhere."""
    found = options.get("master") or given.get("spark.master") or os.environ.get("MASTER")
    if found is not None:
        return str(found)
    is_elsewhere = "spark.remote" in given or any(name in os.environ for name in _ELSEWHERE)
    return None if is_elsewhere else "local[*]"


def _for_master(master: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """What one machine needs. It gets a partition of each shuffle for each of its cores: every further one
    costs a stream a task a micro-batch. The workers run this Python, which has windrow: pyspark would take
    whatever ``python3`` is. Of a cluster, neither is known here, and Spark's defaults stay."""
    cores = _cores(master or "")
    if cores is None:
        return {}
    # pyspark reads no setting, but this alone
    os.environ.setdefault("PYSPARK_PYTHON", given.get("spark.pyspark.python", sys.executable))
    return {_PARTITIONS: str(cores)}


def _cores(master: str) -> int | None:
    """The cores that Spark uses on this machine; None: it is not on this one.

    >>> _cores("local"), _cores("local[4]"), _cores("local[2, 3]"), _cores("spark://host:7077")
    (1, 4, 2, None)
    """
    found = re.fullmatch(r"local(?:\[\s*(\d+|\*)\s*(?:,\s*\d+\s*)?\])?", master)
    if found is None:
        return None
    return os.cpu_count() or 1 if found[1] == "*" else int(found[1] or 1)


def _completed(running: SparkSession, given: dict[str, str]) -> SparkSession:
    made = dict(running.conf.getAll)
    wanted = {name: value for name, (value, _) in SETTINGS.items() if name not in made} | given
    for name, value in wanted.items():
        running.conf.set(name, value)
    warn_of_partitions(running)
    return running


#: the sessions that were warned of
_warned: weakref.WeakSet[Any] = weakref.WeakSet()


def warn_of_partitions(running: SparkSession, level: int = 4) -> None:
    """Warn once of a session on one machine in which nobody has set the number of partitions of a shuffle.
    ``level``: how far up the caller's line is."""
    made = dict(running.conf.getAll)
    cores = _cores(made.get("spark.master", ""))
    if cores is None or _PARTITIONS in made or running in _warned:
        return
    _warned.add(running)
    warnings.warn(
        f"this Spark session on {made['spark.master']} has {running.conf.get(_PARTITIONS)} partitions of a "
        f"shuffle, Spark's default for a cluster: a stream runs a task for each in every micro-batch, and "
        f'takes minutes for few rows. Write spark.conf.set("{_PARTITIONS}", "{cores}") before the stream '
        f"starts for the first time (its checkpoint keeps the number), or start the session with "
        f"wr.spark.session()",
        DefaultPartitions,
        stacklevel=level,
    )
