"""A standalone Spark cluster on this machine: a master and two workers, each a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.java import JAVA
from support.processes import free_port, is_listening, kill_group, spawn, wait_for

__all__ = ["Cluster"]


class Cluster:
    """Processes that this test started, and no others."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        import pyspark

        self._folder = folder
        self.home = Path(pyspark.__file__).parent
        self.environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_HOME": str(self.home),
            "PYSPARK_PYTHON": python,
            "JDK_JAVA_OPTIONS": JAVA,
            "SPARK_WORKER_DIR": str(folder / "work"),
        }
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def start(self) -> None:
        ports = ["--port", str(self.port), "--webui-port", str(free_port())]
        self._spawn("master.Master", "--host", "127.0.0.1", *ports)
        wait_for("the master", lambda: is_listening(self.port))
        for _ in range(2):
            self._spawn("worker.Worker", "-c", "1", "-m", "1g", "--webui-port", str(free_port()), self.url)

    def _spawn(self, name: str, *arguments: str) -> None:
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        log = self._folder / f"process-{len(self.processes)}.log"
        self.processes.append(spawn(command, self.environment, log))

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """With all that it started."""
        kill_group(process)

    def stop(self) -> None:
        for process in self.processes:
            self.kill(process)
