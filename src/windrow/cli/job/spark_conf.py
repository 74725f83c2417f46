"""Spark settings: which of them a job file may have, and those that the command line adds.

Many settings make Spark load or run what they name: jars and packages, plug-ins, listeners, options of the
JVM, the Python of its workers. A job file is data, so that it may have those alone that do not: how much
memory, how many partitions, how to reach storage. All others are given by the person who runs the job, with
``--conf NAME=VALUE``. Families of settings are allowed, but for names in them that load something; whatever
is in no family is refused, and so is a value that names a class.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from windrow.cli.errors import JobError, Mistakes
from windrow.cli.job.fields import Fields
from windrow.cli.job.model import SparkSettings
from windrow.cli.job.secrets import Setting
from windrow.windows.timeline.zones import zone_name

__all__ = ["given_conf", "read_spark", "spark_without_a_job", "why_refused"]

_MASTER, _REMOTE = "spark.master", "spark.remote"
_ZONE = "spark.sql.session.timezone"
#: masters that Spark knows; the first are on this machine, or in the settings of this machine
_OWN_MASTER = re.compile(r"local(\[[^\]]+\])?|local-cluster\[.+\]|yarn")
_OWN_REMOTE = re.compile(r"local(\[[^\]]+\])?|sc://(localhost|127\.0\.0\.1)(:\d+)?/?")
_FOREIGN_MASTER = re.compile(r"[a-z][\w+.-]*://.+")
_NAME = re.compile(r"spark(?:\.[\w*-]+)+", re.ASCII)
_FAMILIES = re.compile(
    r"""spark\.(?:
      sql\..+
    | (?:executor|driver)\.(?:memory\w*|cores|instances|maxResultSize|heartbeatInterval|pyspark\.memory)
    | (?:dynamicAllocation|memory|shuffle|speculation|locality|kafka|windrow)\..+
    | hadoop\.fs\..+
    | cores\.max | default\.parallelism | speculation | task\.(?:cpus|maxFailures) | network\.timeout
    | reducer\.\w+ | scheduler\.mode | log\.level | yarn\.queue
    | ui\.(?:enabled|port|showConsoleProgress) | eventLog\.(?:enabled|dir|compress)
    )""",
    re.VERBOSE | re.ASCII,
)
#: settings of these families that name code, or that change what is hidden
_LOADS = re.compile(
    r"class|impls?(?:\.|$)|provider|plugin|extension|catalog|hive|thriftserver|jars|listener|serializer$"
    r"|manager|python$|signer|factory|committer|interceptor|handler|audit|artifact|udt|script|command"
    r"|sources\.default|redaction|variable\.substitute",
    re.IGNORECASE,
)
#: a class, as the JVM writes it
_CLASS = re.compile(r"\b[a-z_]\w*(?:\.[a-z_]\w*)+\.[A-Z]\w*", re.ASCII)


def read_spark(fields: Fields, file: Path, given: Sequence[Setting]) -> SparkSettings:
    """``[spark]``, with what the command line gives."""
    keys = fields.reading()
    conf = keys.of(_conf, fields, given)
    master, remote = _value_of(_MASTER, given), _value_of(_REMOTE, given)
    if master is None and remote is None:
        master, remote = keys.of(_master, fields), keys.of(_remote, fields)
    elif master is not None and remote is not None:
        raise JobError(f"--conf {_MASTER} and --conf {_REMOTE} exclude each other: give one of them")
    name = keys.of(fields.text, "app_name", f"windrow {file.stem}")
    keys.stop()
    return SparkSettings(master, name, conf, remote)


def spark_without_a_job(app_name: str, given: Sequence[Setting]) -> SparkSettings:
    """What the command line gives, where there is no job file.

    >>> spark_without_a_job("windrow state", given_conf(["spark.master=local[2]", "spark.ui.port=4050"]))
    SparkSettings(master='local[2]', app_name='windrow state', conf=('4050',), remote=None)
    """
    master, remote = _value_of(_MASTER, given), _value_of(_REMOTE, given)
    if master is None and remote is None:
        remote = os.environ.get("SPARK_REMOTE")
    return SparkSettings(master, app_name, _without_place(given), remote)


def _value_of(name: str, given: Sequence[Setting]) -> str | None:
    return next((setting.value for setting in given if setting.name == name), None)


def _without_place(given: Sequence[Setting]) -> tuple[Setting, ...]:
    return tuple(setting for setting in given if setting.name not in (_MASTER, _REMOTE))


def _remote(fields: Fields) -> str | None:
    """Where Spark Connect is. What a server is sent, it can read and run: a file cannot choose a foreign one.
    ``$SPARK_REMOTE`` is what Spark itself looks at."""
    remote: str | None = fields.text("remote", None)
    around = os.environ.get("SPARK_REMOTE")
    if remote is None:
        return around if "master" not in fields.data else None
    if "master" in fields.data:
        fields.refuse("remote", "master and remote exclude each other: a remote Spark has its own master")
    if remote != around and not _OWN_REMOTE.fullmatch(remote):
        _refuse_remote(fields, remote)
    return remote


def _refuse_remote(fields: Fields, remote: str) -> NoReturn:
    shown = remote.partition(";")[0]  # parameters follow, a token among them
    if not remote.startswith("sc://"):
        known = "sc://host:15002, or local[2]"
        fields.refuse("remote", f"{shown!r} is not an address of Spark Connect: give {known}")
    fields.refuse(
        "remote",
        f"a job file cannot choose the server {shown!r}: if you trust it, add --conf {_REMOTE}={shown} to "
        f"the command, or set SPARK_REMOTE",
    )


def _master(fields: Fields) -> str | None:
    """A cluster can do what the person can who runs the job: a file cannot choose a foreign one."""
    master: str | None = fields.text("master", None)
    if master is not None and not _OWN_MASTER.fullmatch(master) and master != os.environ.get("MASTER"):
        _refuse_master(fields, master)
    return master


def _refuse_master(fields: Fields, master: str) -> NoReturn:
    if not _FOREIGN_MASTER.fullmatch(master):
        known = "local[*], local[2], yarn; or spark://host:7077, k8s://... on the command line"
        fields.refuse("master", f"{master!r} is not a Spark master: give {known}")
    fields.refuse(
        "master",
        f"a job file cannot choose the cluster {master!r}: if you trust it, add --conf {_MASTER}={master} "
        f"to the command, or set MASTER",
    )


def why_refused(setting: Setting) -> str | None:
    """Why a job file may not have a setting; None: it may.

    >>> why_refused(Setting("spark.sql.shuffle.partitions", "8"))
    >>> why_refused(Setting("spark.plugins", "shop.Plugin"))
    'this may make Spark run code'
    """
    if not _NAME.fullmatch(setting.name) or not _FAMILIES.fullmatch(setting.name):
        return "this may make Spark run code"
    if _LOADS.search(setting.name):
        return "this may make Spark run code, or show what is hidden"
    if not setting.from_environment and _CLASS.search(setting.value):
        return "its value names a class, which Spark may load"
    return None


def _conf(fields: Fields, given: Sequence[Setting]) -> tuple[Setting, ...]:
    """``[spark.conf]`` of a job, and what the command line gives, which comes first."""
    overruled = {setting.name for setting in given}
    kept = [setting for setting in fields.settings("conf") if setting.name not in overruled]
    mistakes = Mistakes()
    for setting in kept:
        mistakes.of(_check, fields, setting)
    mistakes.stop()
    return (*kept, *_without_place(given))


def _check(fields: Fields, setting: Setting) -> None:
    found = fields.data["conf"]
    inner = Fields(found, fields.places, "spark.conf", tuple(found))
    name = setting.name
    if not name.startswith("spark."):
        inner.refuse(name, f'settings of Spark begin with spark., as in "spark.{name}"')
    if name in (_MASTER, _REMOTE):
        inner.refuse(name, f"write it as {name.removeprefix('spark.')} in [spark]")
    why = why_refused(setting)
    if why is not None:
        inner.refuse(name, f"{why}: a job file cannot have it; if you trust it, add {_flag(name)}")
    if name.lower() == _ZONE and "/" in setting.value:  # others are offsets, or short names of Java's
        inner.checked(name, zone_name, setting.value)
    if not setting.from_environment and "${" in setting.value:
        inner.refuse(
            name, 'Spark would replace ${...}: write { env = "NAME" } for a value of the environment'
        )


def _flag(name: str) -> str:
    return f"--conf {name}=VALUE to the command"


def given_conf(texts: Sequence[str]) -> tuple[Setting, ...]:
    """What ``--conf`` gives; a name that is given twice has its last value.

    >>> given_conf(["spark.ui.port=4050"])
    ('4050',)
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise JobError(f"--conf {name}: give a Spark setting, as in --conf spark.executor.memory=4g")
        found[name] = _given(name, value)
    return tuple(found.values())


def _given(name: str, value: str) -> Setting:
    if not value.startswith("env:"):
        return Setting(name, value)
    variable = value.removeprefix("env:")
    if variable not in os.environ:
        raise JobError(f"--conf {name}: the environment variable {variable} is not set")
    return Setting(name, os.environ[variable], from_environment=True)
