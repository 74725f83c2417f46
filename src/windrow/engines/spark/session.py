"""A Spark session that is ready for windrow: what streams need, and defaults that measure well.

Nothing that the user has set is changed: neither by name here, nor in a session that runs already.
"""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from windrow.engines.spark.compat import condition_of, cores_of, set_setting, setting
from windrow.packages import how_to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["PROVIDER", "SETTINGS", "DefaultPartitions", "session", "warn_of_partitions"]

#: names the store in which streams keep state
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

#: settings and why
SETTINGS: dict[str, tuple[str, str]] = {
    PROVIDER: (_ROCKSDB, "state of Python processors needs RocksDB"),
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
#: the module that forks workers, and the one that has windrow loaded
_DAEMON, _LOADED_DAEMON = "spark.python.daemon.module", "windrow.engines.spark.daemon"
#: where a master may be named besides here; if one of them is set, which it is is not known
_ELSEWHERE = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE")


class DefaultPartitions(UserWarning):
    """A session on one machine has as many partitions of a shuffle as Spark makes for a cluster; each costs a
    stream a task in every micro-batch."""


def session(settings: Mapping[str, Any] | None = None, **options: Any) -> SparkSession:
    """A Spark session with the settings that windrow's streams need.

    ``settings`` are Spark's, by their full names; ``master`` and ``app_name`` may be given as options, or
    ``remote`` for Spark Connect: ``session(remote="sc://host:15002")``. If a session runs already it is used,
    and of windrow's settings only those are made that nobody has made and that the session takes. A new one
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
    _check_options(options, given)
    builder = SparkSession.builder.appName(options.get("app_name", "windrow"))
    remote = options.get("remote")
    if remote is not None and not remote.startswith("local"):
        return _completed(_connected(builder.remote(remote)), given)
    given = _for_master(remote or _master(options, given), given) | given
    if remote is not None:
        builder = builder.remote(remote)
    elif "master" in options:
        builder = builder.master(options["master"])
    for name, value in ({name: value for name, (value, _) in SETTINGS.items()} | given).items():
        builder = builder.config(name, value)
    return _connected(builder) if remote is not None else builder.getOrCreate()


def _check_options(options: Mapping[str, Any], given: Mapping[str, str]) -> None:
    unknown = next((name for name in options if name not in ("app_name", "master", "remote")), None)
    if unknown is not None:
        raise TypeError(f"session() has no option {unknown!r}: it takes master, remote and app_name")
    if "remote" in options and ("master" in options or "spark.master" in given):
        raise TypeError("session() takes one of master and remote: a remote Spark has its own master")


def _connected(builder: Any) -> SparkSession:
    """A session of Spark Connect. Settings of the server itself are made when it starts; pyspark makes them
    in the session once more, and warns that it cannot."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Failed to set spark", UserWarning)
            found: SparkSession = builder.getOrCreate()
    except ImportError as error:
        why = f"Spark Connect needs more packages ({error}): {how_to_install('connect')}"
        raise ImportError(why) from error
    return found


def _master(options: Mapping[str, Any], given: Mapping[str, str]) -> str | None:
    """Where a new session will run; None: that is said elsewhere."""
    found = options.get("master") or given.get("spark.master") or os.environ.get("MASTER")
    if found is not None:
        return str(found)
    is_elsewhere = "spark.remote" in given or any(name in os.environ for name in _ELSEWHERE)
    return None if is_elsewhere else "local[*]"


def _for_master(master: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """What one machine needs. It gets a partition of each shuffle for each of its cores: every further one
    costs a stream a task a micro-batch. The workers run this Python, which has windrow, and are forked from a
    process that has loaded it: pyspark would take whatever ``python3`` is. Of a cluster, nothing of this is
    known here, and Spark's defaults stay."""
    cores = cores_of(master or "")
    if cores is None:
        return {}
    # pyspark reads no setting, but this alone
    python = os.environ.setdefault("PYSPARK_PYTHON", given.get("spark.pyspark.python", sys.executable))
    daemon = {_DAEMON: _LOADED_DAEMON} if python == sys.executable else {}  # others may have no windrow
    return {_PARTITIONS: str(cores)} | daemon


def _completed(running: SparkSession, given: dict[str, str]) -> SparkSession:
    """What nobody has set and the session takes; what is asked for by name must be taken."""
    for name, (value, _) in SETTINGS.items():
        if name not in given and setting(running, name) is None:
            set_setting(running, name, value)
    for name, value in given.items():
        refusal = None if setting(running, name) == value else set_setting(running, name, value)
        if refusal is not None:
            raise ValueError(
                f"{name} cannot be set in the Spark session that runs ({condition_of(refusal)}): give it "
                f'where the session is started, as in SparkSession.builder.config("{name}", ...)'
            ) from refusal
    warn_of_partitions(running)
    return running


#: the sessions that were warned of
_warned: weakref.WeakSet[Any] = weakref.WeakSet()


def warn_of_partitions(running: SparkSession, level: int = 4) -> None:
    """Warn once of a session on one machine in which nobody has set the number of partitions of a shuffle.
    ``level``: how far up the caller's line is."""
    master = setting(running, "spark.master") or ""
    cores = cores_of(master)
    if cores is None or setting(running, _PARTITIONS) is not None or running in _warned:
        return
    _warned.add(running)
    warnings.warn(
        f"this Spark session on {master} has {running.conf.get(_PARTITIONS)} partitions of a "
        f"shuffle, Spark's default for a cluster: a stream runs a task for each in every micro-batch, and "
        f'takes minutes for few rows. Write spark.conf.set("{_PARTITIONS}", "{cores}") before the stream '
        f"starts for the first time (its checkpoint keeps the number), or start the session with "
        f"wr.spark.session()",
        DefaultPartitions,
        stacklevel=level,
    )
