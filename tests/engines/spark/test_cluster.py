"""A standalone cluster, a master and two workers as processes: executors get windrow as a zip, and one of the
workers is killed while the job runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import windrow as wr
from engines.spark import cluster_job
from support.processes import PATIENCE, wait_for
from support.standalone import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    found = Cluster(tmp_path)
    try:
        found.start()
        yield found
    finally:
        found.stop()


def test_a_cluster_that_loses_a_worker(cluster: Cluster, tmp_path: Path) -> None:
    package = Path(wr.__file__).parent
    shutil.copytree(package, tmp_path / "zipped" / "windrow", ignore=shutil.ignore_patterns("__pycache__"))
    archive = shutil.make_archive(str(tmp_path / "windrow"), "zip", tmp_path / "zipped")
    environment = cluster.environment | {
        "PYSPARK_SUBMIT_ARGS": f"--py-files {archive} pyspark-shell",
        "WINDROW_CACHE_DIR": os.environ.get("WINDROW_CACHE_DIR", str(tmp_path / "kernels")),
    }
    command = [sys.executable, cluster_job.__file__, cluster.url, str(tmp_path)]
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
    assert json.loads(results[0].removeprefix("RESULT ")) == cluster_job.expected()
