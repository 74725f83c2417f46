"""A Python for Spark that is never too slow to start.

Spark starts a Python for the driver of each stream with state, and gives up if it has not connected and shown
its secret within ten seconds, which no setting changes. A busy machine may take longer to import what it
needs. This program does both at once, then starts the real Python and hands on what the two say. Daemons,
for which Spark waits, are the real Python and nothing else.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["write_program"]

_PORT, _SECRET = "PYTHON_WORKER_FACTORY_PORT", "PYTHON_WORKER_FACTORY_SECRET"


def write_program(folder: Path) -> str:
    """Write the program into a folder; its path is for ``PYSPARK_PYTHON``."""
    program = folder / "python"
    lines = [
        f"#!{sys.executable} -SE",
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})",
        f"from patient_python import run; run({sys.executable!r})",
    ]
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)
    return str(program)


def run(python: str) -> None:
    """Become this Python, or stand between it and Spark."""
    command = [python, *sys.argv[1:]]
    if _PORT not in os.environ or _SECRET not in os.environ:
        os.execv(python, command)
    import socket
    import subprocess
    import threading

    spark = socket.create_connection(("127.0.0.1", int(os.environ[_PORT])))
    secret = os.environ[_SECRET].encode()
    shown = len(secret).to_bytes(4, "big") + secret
    spark.sendall(shown)
    answer = _read(spark, 4 + len("ok"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = {**os.environ, _PORT: str(listener.getsockname()[1])}
        worker = subprocess.Popen(command, env=own)
        # a worker that ends, before it has connected or after, ends this
        threading.Thread(target=lambda: os._exit(worker.wait()), daemon=True).start()
        connection, _ = listener.accept()
    _read(connection, len(shown))
    connection.sendall(answer)
    threading.Thread(target=_hand_on, args=(spark, connection), daemon=True).start()
    _hand_on(connection, spark)
    worker.wait()


def _read(source: Any, count: int) -> bytes:
    data = b""
    while len(data) < count and (more := source.recv(count - len(data))):
        data += more
    return data


def _hand_on(source: Any, target: Any) -> None:
    """Until one of them is closed."""
    import contextlib
    import socket

    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
