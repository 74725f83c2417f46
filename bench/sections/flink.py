"""Apache Flink for benchmarks: fetched by Maven, once, into ``.cache``, and run in a JVM of its own.

The versions are those of ``bench/flink/pom.xml``. Only the two small programs beside it are compiled. Where
there is no ``mvn`` or ``javac``, or Maven cannot reach a repository, :class:`Unavailable` says so, and the
benchmark goes on without Flink.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from common import progress

__all__ = ["Flink", "Unavailable", "flink_version"]

SOURCES = Path(__file__).parents[1] / "flink"
CACHE = Path(__file__).parents[2] / ".cache"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
# what Flink's own start scripts open for Java 17
_OPENS = ("java.util", "java.lang", "java.net", "java.io", "java.nio", "java.time", "java.lang.reflect",
          "java.text", "sun.nio.ch", "java.util.concurrent", "java.util.concurrent.atomic",
          "java.util.concurrent.locks")  # fmt: skip


class Unavailable(Exception):
    """Why Flink cannot be had here."""


def flink_version() -> str:
    found = re.search(r"<flink.version>(.+)</flink.version>", (SOURCES / "pom.xml").read_text())
    assert found
    return found[1]


def _jars() -> Path:
    folder = CACHE / f"flink-{flink_version()}"
    if (folder / "complete").exists():
        return folder / "lib"
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        raise Unavailable("Flink needs mvn and javac (Java 17) on the PATH")
    progress(f"Maven fetches Flink {flink_version()} into .cache, about 200 MB")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCES / "pom.xml", folder)
    command = ["mvn", "-q", "-B", f"{_PLUGIN}:copy-dependencies", "-DoutputDirectory=lib"]
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired as error:
        raise Unavailable("Maven did not fetch Flink within ten minutes") from error
    if ran.returncode:
        reason = re.findall(r"\[ERROR\] (.+)", ran.stdout)
        raise Unavailable(f"Maven cannot fetch Flink {flink_version()}: {(reason or ['no reason given'])[0]}")
    (folder / "complete").touch()
    return folder / "lib"


def _classes(jars: Path) -> Path:
    classes = jars.parent / "classes"
    for source in SOURCES.glob("*.java"):
        built = classes / f"{source.stem}.class"
        if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
            command = ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(classes), str(source)]
            subprocess.run(command, check=True, capture_output=True)
    return classes


class Flink:
    """A JVM that runs one of the programs in ``bench/flink`` until it is closed.

    A line of fields is a question to it, and a line that begins with ``seconds`` its answer."""

    def __init__(self, program: str, memory: str = "3g") -> None:
        jars = _jars()
        path = os.pathsep.join([str(_classes(jars)), f"{jars}/*"])
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            ["java", f"-Xmx{memory}", "-XX:+UseParallelGC", *opened, "-cp", path, program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def ask(self, *fields: object) -> list[str]:
        """What follows ``seconds`` in the answer."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\t".join(map(str, fields)) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("seconds "):
                return line.split()[1:]
        self._errors.seek(0)
        raise RuntimeError(f"Flink stopped: {self._errors.read()[-3_000:]}")

    def __enter__(self) -> Flink:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
