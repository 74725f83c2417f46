"""A standalone cluster, a master and two workers as processes: executors get windrow as a zip, and one of the
workers is killed while the job runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import windrow as wr
from support.java import JAVA

HERE = Path(__file__).parent
#: seconds after which something hangs, however busy the machine is
PATIENCE = 1_800


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(what: str, condition: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"{what} took more than {PATIENCE} seconds"
        time.sleep(0.1)


class Cluster:
    """Processes that this test started, and no others."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._folder = folder
        self.home = Path(pyspark.__file__).parent
        self.environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_HOME": str(self.home),
            "PYSPARK_PYTHON": sys.executable,
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
        wait_for("the master", lambda: listening(self.port))
        for _ in range(2):
            self._spawn("worker.Worker", "-c", "1", "-m", "1g", "--webui-port", str(free_port()), self.url)

    def _spawn(self, name: str, *arguments: str) -> None:
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        with (self._folder / f"process-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """With all that it started."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def stop(self) -> None:
        for process in self.processes:
            self.kill(process)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    found = Cluster(tmp_path)
    try:
        found.start()
        yield found
    finally:
        found.stop()


def expected() -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = np.arange(40_000)
    rows = pa.table({"ts": ids, "key": ids % 7, "v": ids % 101})
    query = wr.query(time="ts", by="key")
    rolling = query.rolling(500).agg(total=wr.sum("v"), last=wr.last("v")).run(rows)
    sliding = query.window(wr.Sliding(1_000, slide=100)).agg(c=wr.range("v")).run(rows)
    totals = [pc.sum(rolling[name]).as_py() for name in ("total", "last")]
    return {"rolling": [*totals, 40_000], "sliding": [pc.sum(sliding["c"]).as_py(), sliding.num_rows]}


def test_a_cluster_that_loses_a_worker(cluster: Cluster, tmp_path: Path) -> None:
    package = Path(wr.__file__).parent
    shutil.copytree(package, tmp_path / "zipped" / "windrow", ignore=shutil.ignore_patterns("__pycache__"))
    archive = shutil.make_archive(str(tmp_path / "windrow"), "zip", tmp_path / "zipped")
    environment = cluster.environment | {
        "PYSPARK_SUBMIT_ARGS": f"--py-files {archive} pyspark-shell",
        "WINDROW_CACHE_DIR": os.environ.get("WINDROW_CACHE_DIR", str(tmp_path / "kernels")),
    }
    command = [sys.executable, str(HERE / "cluster_job.py"), cluster.url, str(tmp_path)]
    job = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for("the job's first task", lambda: (tmp_path / "running").exists() or job.poll() is not None)
        cluster.kill(cluster.processes[-1])
        output, _ = job.communicate(timeout=PATIENCE)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    results = [line for line in output.splitlines() if line.startswith("RESULT ")]
    assert results, output[-3_000:]
    assert json.loads(results[0].removeprefix("RESULT ")) == expected()
