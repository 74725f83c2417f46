"""Formats that Spark does not bring along: whether the job says where they come from.

Without its package, a format is a Spark error after it has started. What is given can be seen before:
in the job, in the environment, among Spark's own jars. Jars that are only known by their paths may hold
anything, and so may a session or server that runs already: there nothing is refused.
"""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from windrow.cli.errors import JobError
from windrow.cli.job import Job
from windrow.cli.job.fields import nearest
from windrow.cli.job.formats import KNOWN
from windrow.cli.job.secrets import Setting

__all__ = ["check_packages"]

#: formats, how the names of their jars begin, and where they come from
_PACKAGES = {
    "kafka": ("spark-sql-kafka", "org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}"),
    "avro": ("spark-avro", "org.apache.spark:spark-avro_2.13:{spark}"),
    "delta": ("delta", "io.delta:delta-spark_{short}_2.13:{its}"),
    "iceberg": ("iceberg", "org.apache.iceberg:iceberg-spark-runtime-{short}_2.13:{its}"),
    "hudi": ("hudi", "org.apache.hudi:hudi-spark{short}-bundle_2.13:{its}"),
}
#: the same for databases, by what follows "jdbc:"
_DRIVERS = {
    "postgresql": ("postgresql", "org.postgresql:postgresql:{its}"),
    "mysql": ("mysql", "com.mysql:mysql-connector-j:{its}"),
    "mariadb": ("mariadb", "org.mariadb.jdbc:mariadb-java-client:{its}"),
    "sqlserver": ("mssql", "com.microsoft.sqlserver:mssql-jdbc:{its}"),
    "oracle": ("ojdbc", "com.oracle.database.jdbc:ojdbc17:{its}"),
    "sqlite": ("sqlite", "org.xerial:sqlite-jdbc:{its}"),
}
_NAMED = "spark.jars.packages"
_PATHS = ("spark.jars", "spark.driver.extraClassPath")
_ENVIRONMENT = ("PYSPARK_SUBMIT_ARGS", "SPARK_CLASSPATH", "SPARK_DIST_CLASSPATH")
_OPAQUE = re.compile(r"--jars|--driver-class-path|spark\.jars\b(?!\.packages)|extraClassPath|\.jar\b")


def check_packages(job: Job) -> None:
    """Refuse a format whose package is given nowhere."""
    if importlib.util.find_spec("pyspark") is None or _is_running() or not job.spark.has_own_spark:
        return
    given = _Given(job)
    for table, name, options in (
        *((source.table, source.format, source.options) for source in job.sources),
        *(("source.value", s.value.format, ()) for s in job.sources if s.value is not None),
        *((sink.table, sink.format, sink.options) for sink in job.sinks),
    ):
        _check_format(job, table, name, options, given)


def _check_format(job: Job, table: str, name: str, options: tuple[Setting, ...], given: _Given) -> None:
    place, known = f"{job.file}: [{table}] format", name.lower()
    needed = _driver(options) if known == "jdbc" else _PACKAGES.get(known)
    if needed is None:
        if known not in KNOWN and "." not in name and not given.is_opaque and not given.packages:
            hint = nearest(known, tuple(KNOWN))
            raise JobError(f"{place}: Spark has no format {name!r}, and no package is given: {hint}")
        return
    if given.has(needed[0]):
        wrong = re.search(rf"[\w.:-]*{needed[0]}[\w.-]*_2\.12[\w.:-]*", given.packages)
        if wrong is not None:
            raise JobError(
                f"{place}: {wrong[0]} is for Scala 2.12, and Spark 4 runs on 2.13: {_line(needed[1])}"
            )
        return
    if not given.is_opaque:
        what = "the driver of the database" if known == "jdbc" else f"{name!r}"
        raise JobError(f"{place}: Spark does not bring {what} along: {_line(needed[1])}")


def _driver(options: tuple[Setting, ...]) -> tuple[str, str] | None:
    found = {option.name.lower(): option.value for option in options}
    if "driver" in found:  # a class, of whatever jar
        return None
    return _DRIVERS.get(found.get("url", "").removeprefix("jdbc:").partition(":")[0].lower())


def _line(package: str) -> str:
    """What to write."""
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        spark = "<the version of Spark>"
    named = package.format(spark=spark, short=".".join(spark.split(".")[:2]), its="<version>")
    return f"add --conf {_NAMED}={named} to the command"


def _is_running() -> bool:
    """Whether a session runs in this process, which has what it has."""
    if "pyspark" not in sys.modules:
        return False
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None


class _Given:
    """What is given to Spark, in the job and around it."""

    def __init__(self, job: Job) -> None:
        conf = {setting.name: setting.value for setting in job.spark.conf}
        around = [os.environ.get(name, "") for name in _ENVIRONMENT] + list(_defaults())
        self.packages = conf.get(_NAMED, "")
        self._texts = [self.packages, *(conf.get(name, "") for name in _PATHS), *around]
        by_path = any(conf.get(name) for name in _PATHS) or any(map(_OPAQUE.search, around))
        #: whether something is there of which it cannot be said what it is
        self.is_opaque = bool(by_path) or any(m.name.startswith("pyspark_") for m in pkgutil.iter_modules())

    def has(self, jar: str) -> bool:
        return any(jar in text.lower() for text in self._texts) or any(jar in name for name in _spark_jars())


def _homes() -> Iterator[Path]:
    if "SPARK_HOME" in os.environ:
        yield Path(os.environ["SPARK_HOME"])
    elif (spec := importlib.util.find_spec("pyspark")) is not None and spec.origin is not None:
        yield Path(spec.origin).parent


def _spark_jars() -> Iterator[str]:
    for home in _homes():
        yield from (file.name.lower() for file in (home / "jars").glob("*.jar"))


def _defaults() -> Iterator[str]:
    """What the settings file of this machine says."""
    folders = [Path(os.environ["SPARK_CONF_DIR"])] if "SPARK_CONF_DIR" in os.environ else []
    for folder in folders or [home / "conf" for home in _homes()]:
        file = folder / "spark-defaults.conf"
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            yield "\n".join(line for line in lines if not line.lstrip().startswith("#"))
