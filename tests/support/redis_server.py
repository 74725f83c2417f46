"""A real Redis server for tests: installed if it is not there, on a free port of its own."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

__all__ = ["RedisServer"]


def redis_program() -> str:
    """The path of redis-server; installs Debian's package where there is none, or fails and says so."""
    found = shutil.which("redis-server")
    if found is None:
        with (Path(tempfile.gettempdir()) / "windrow-redis-install.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # test processes run side by side
            if shutil.which("redis-server") is None:
                install()
        found = shutil.which("redis-server")
    if found is None:
        pytest.fail("these tests need redis-server and could not install it: apt-get install redis-server")
    return found


def install() -> None:
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["update", "-q"],
        ["install", "-y", "-q", "--no-install-recommends", "redis-server", "openssl"],
    ):
        try:
            subprocess.run(
                [*sudo, "apt-get", *command], env=quiet, check=False, timeout=300, capture_output=True
            )
        except (OSError, subprocess.TimeoutExpired):
            return


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """A server on loopback that keeps what it confirmed: it can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command: list[str] = [
            redis_program(),
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(folder),
        ]
        self._command += ["--appendonly", "yes", "--appendfsync", "no", "--save", "", *options]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        self.kill()
        pytest.fail(f"redis-server did not start on port {self.port}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
