"""A program in Java for benchmarks: compiled where its source is newer, and run in a JVM of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

__all__ = ["CACHE", "Jvm", "Unavailable", "compile_java", "need_java"]

CACHE = Path(__file__).parents[2] / ".cache"


class Unavailable(Exception):
    """Why a system cannot be had here."""


def need_java(system: str) -> None:
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        raise Unavailable(f"{system} needs mvn and javac (Java 17) on the PATH")


def compile_java(sources: Sequence[Path], classes: Path, class_path: Sequence[object]) -> None:
    """All of them, unless they were compiled after their last change."""
    stamp = classes / ".compiled"
    newest = max(source.stat().st_mtime for source in sources)
    if stamp.exists() and stamp.stat().st_mtime >= newest:
        return
    path = os.pathsep.join(map(str, class_path))
    command = ["javac", "-nowarn", "-cp", path, "-d", str(classes), *map(str, sources)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise Unavailable(f"javac does not compile {sources[0].name}: {ran.stderr.strip()[-500:]}")
    stamp.touch()


class Jvm:
    """A JVM that runs a program until it is closed.

    A line of fields is a question to it, and a line that begins with ``seconds`` its answer."""

    def __init__(self, program: str, class_path: Sequence[object], options: Sequence[str] = ()) -> None:
        path = os.pathsep.join(map(str, class_path))
        self._program = program
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            ["java", "-XX:+UseParallelGC", *options, "-cp", path, program],
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
        raise RuntimeError(f"{self._program} stopped: {self._errors.read()[-3_000:]}")

    def __enter__(self) -> Jvm:
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
