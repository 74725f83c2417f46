"""Apache Flink for benchmarks: fetched by Maven, once, into ``.cache``, and run in a JVM of its own.

The versions are those of ``bench/flink/pom.xml``. Only the two small programs beside it are compiled. Where
there is no ``mvn`` or ``javac``, or Maven cannot reach a repository, :class:`Unavailable` says so, and the
benchmark goes on without Flink.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from common import progress
from sections.jvm import CACHE, Jvm, Unavailable, compile_java, need_java

__all__ = ["Flink", "flink_jars", "flink_version"]

SOURCES = Path(__file__).parents[1] / "flink"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
# what Flink's own start scripts open for Java 17
_OPENS = ("java.util", "java.lang", "java.net", "java.io", "java.nio", "java.time", "java.lang.reflect",
          "java.text", "sun.nio.ch", "java.util.concurrent", "java.util.concurrent.atomic",
          "java.util.concurrent.locks")  # fmt: skip


def flink_version() -> str:
    found = re.search(r"<flink.version>(.+)</flink.version>", (SOURCES / "pom.xml").read_text())
    assert found
    return found[1]


def flink_jars() -> Path:
    """The folder of what ``pom.xml`` names, fetched if it is not there."""
    folder, pom = CACHE / f"flink-{flink_version()}", SOURCES / "pom.xml"
    complete = folder / "complete"
    if complete.exists() and complete.read_text() == pom.read_text():
        return folder / "lib"
    need_java("Flink")
    progress(f"Maven fetches Flink {flink_version()} into .cache, about 200 MB")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(pom, folder)
    command = ["mvn", "-q", "-B", f"{_PLUGIN}:copy-dependencies", "-DoutputDirectory=lib"]
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired as error:
        raise Unavailable("Maven did not fetch Flink within ten minutes") from error
    if ran.returncode:
        reason = re.findall(r"\[ERROR\] (.+)", ran.stdout)
        raise Unavailable(f"Maven cannot fetch Flink {flink_version()}: {(reason or ['no reason given'])[0]}")
    complete.write_text(pom.read_text())
    return folder / "lib"


class Flink(Jvm):
    """A JVM that runs one of the programs in ``bench/flink``."""

    def __init__(self, program: str, memory: str = "3g") -> None:
        jars = flink_jars()
        classes, libraries = jars.parent / "classes", f"{jars}/*"
        compile_java(sorted(SOURCES.glob("*.java")), classes, [libraries])
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS]
        super().__init__(program, [classes, libraries], [f"-Xmx{memory}", *opened])
