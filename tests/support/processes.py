"""Processes that a test starts, waits for and kills: these, and no others."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

__all__ = [
    "PATIENCE",
    "environment_without_spark",
    "free_port",
    "is_listening",
    "kill_group",
    "processes_below",
    "spawn",
    "wait_for",
]

#: seconds after which something hangs, however busy the machine is
PATIENCE = 1_800


def environment_without_spark() -> dict[str, str]:
    """Without what another session of this process has left behind."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"{what} took more than {PATIENCE} seconds"
        time.sleep(0.1)


def spawn(
    command: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """A process in a group of its own; what it says is added to the log."""
    with log.open("ab") as file:
        return subprocess.Popen(
            command, env=environment, cwd=folder, stdout=file, stderr=file, start_new_session=True
        )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 a process of :func:`spawn`, with all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def processes_below(pid: int) -> list[tuple[int, str]]:
    """All processes that any thread of a process has started, with their command lines."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in children.read_text().split():
                command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                found += [(int(child), command), *processes_below(int(child))]
        except OSError:  # it has ended
            continue
    return found
