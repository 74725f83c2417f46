"""The jars of a Kafka broker, of Spark's connector and of Avro for Spark, fetched by coordinates and pinned.

Ivy does it, which PySpark brings along: nothing but Java is needed. What was fetched stays in a folder. The
connector, and Avro, are those of PySpark's version where there are such; else the newest release before it
whose parts can be had: the name of the folder says which.
"""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["NotFetched", "avro_jars", "broker_jars", "connector_jars", "fetched", "joined_paths"]

BROKER = "4.3.1"
_POOL = "2.13.1"
#: releases of the connector: its version, that of its provider of tokens, and that of Kafka's client
_CONNECTORS = [("{spark}", "{spark}", "3.9.2"), ("4.2.0", "4.2.0", "3.9.2"), ("4.2.0", "4.0.0", "3.9.2")]
#: releases of Avro for Spark
_AVRO = ("{spark}", "4.2.0", "4.1.1", "4.1.0", "4.0.2", "4.0.1", "4.0.0")
_IVY = """\
<ivy-module version="2.0"><info organisation="windrow" module="jars"/>
<configurations><conf name="{conf}"/></configurations>
<dependencies>
{dependencies}
</dependencies></ivy-module>
"""


class NotFetched(Exception):
    """Jars cannot be had here; the message says why."""


def broker_jars(folder: Path) -> Path:
    """The folder of a broker's jars."""
    return fetched(folder, f"broker-{BROKER}", [(f"org.apache.kafka:kafka_2.13:{BROKER}", True)])


def connector_jars(folder: Path) -> Path:
    """The folder of the jars of Spark's connector, of PySpark's version or of the newest that is there."""
    spark, failures = version("pyspark"), []
    for connector, tokens, clients in _CONNECTORS:
        connector, tokens = connector.format(spark=spark), tokens.format(spark=spark)
        coordinates = [
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{connector}",
            f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{tokens}",
            f"org.apache.kafka:kafka-clients:{clients}",
            f"org.apache.commons:commons-pool2:{_POOL}",
        ]
        try:
            return fetched(folder, f"connector-{connector}-{tokens}", [(each, False) for each in coordinates])
        except NotFetched as error:
            failures.append(str(error))
    raise NotFetched("; ".join(failures))


def avro_jars(folder: Path) -> Path:
    """The folder of the jar that reads Avro, of PySpark's version or of the newest that is there."""
    failures = []
    for release in dict.fromkeys(each.format(spark=version("pyspark")) for each in _AVRO):
        try:
            return fetched(
                folder, f"avro-{release}", [(f"org.apache.spark:spark-avro_2.13:{release}", False)]
            )
        except NotFetched as error:
            failures.append(str(error))
    raise NotFetched("; ".join(failures))


def joined_paths(*folders: Path) -> str:
    """All jars of folders, as ``spark.jars`` takes them."""
    return ",".join(str(jar) for folder in folders for jar in sorted(folder.glob("*.jar")))


def fetched(folder: Path, conf: str, coordinates: list[tuple[str, bool]]) -> Path:
    """Fetch coordinates into a folder of their own, once; each with whether what it needs comes, too. What
    could not be had is not asked for again."""
    target, refused = folder / conf, folder / f"{conf}.refused"
    if target.is_dir():
        return target
    if refused.is_file():
        raise NotFetched(refused.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{conf}.{os.getpid()}.xml"
    file.write_text(
        _IVY.format(conf=conf, dependencies="\n".join(_dependency(conf, *c) for c in coordinates))
    )
    unfinished = folder / f"{conf}.{os.getpid()}"
    pattern = f"{unfinished}/[artifact]-[revision].[ext]"
    options = ["-cache", str(folder / "cache"), "-ivy", str(file), "-confs", conf, "-retrieve", pattern]
    command = ["java", "-jar", str(_ivy()), *options, "-types", "jar", "bundle"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotFetched(f"{conf}: {error}") from error
    finally:
        file.unlink()
    if (
        done.returncode
        or "UNRESOLVED" in done.stdout
        or len(list(unfinished.glob("*.jar"))) < len(coordinates)
    ):
        missing = [line.strip(" :\t") for line in done.stdout.splitlines() if "not found" in line]
        why = f"{conf} cannot be fetched: {'; '.join(missing[:2]) or 'no registry of jars answers'}"
        if missing:
            refused.write_text(why)
        raise NotFetched(why)
    unfinished.rename(target)
    return target


def _dependency(conf: str, coordinate: str, is_transitive: bool) -> str:
    org, name, revision = coordinate.split(":")
    transitive = str(is_transitive).lower()
    return (
        f'<dependency org="{org}" name="{name}" rev="{revision}" conf="{conf}->default" '
        f'transitive="{transitive}"/>'
    )


def _ivy() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise NotFetched("PySpark is not installed, which brings Ivy along")
    return next((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
