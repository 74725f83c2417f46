"""A Spark Connect server on this machine, started as Spark's own script does, which not every version has."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.java import JAVA
from support.patient_python import write_program
from support.processes import environment_without_spark, free_port, is_listening, kill_group, spawn, wait_for

__all__ = ["ConnectServer"]

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.network.timeout": "30m",
    "spark.python.authenticate.socketTimeout": "30m",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
}


class ConnectServer:
    """A server that may be killed and started again, at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self._port}"

    def start(self) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        own = environment_without_spark() | {
            "JDK_JAVA_OPTIONS": JAVA,
            "PYSPARK_PYTHON": write_program(self.folder),
            "SPARK_CONNECT_MODE": "0",
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        settings = SETTINGS | {
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
        }
        options = [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
        submit = [str(home / "bin" / "spark-submit"), "--class", _SERVER, "--name", "Spark Connect server"]
        command = [*submit, "--master", "local[2]", "--driver-memory", "1g", *options]
        process = spawn(command, own, self.folder / "server.log", self.folder)
        self._process = process
        wait_for("the server", lambda: is_listening(self._port) or process.poll() is not None)
        assert process.poll() is None, (self.folder / "server.log").read_text()[-3_000:]

    def kill(self) -> None:
        """Kill -9, with all that it started."""
        if self._process is not None:
            kill_group(self._process)
