"""A cluster whose Python has no packages: an archive of an environment goes with the job (see docs/spark.md).

Run by ``make compat``: an environment is made and packed. ``WINDROW_CONSTRAINTS`` names the versions in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import connect_job, packed_job
from support.processes import PATIENCE, kill_group, spawn
from support.standalone import Cluster
from windrow.testing import assert_same_results

ROOT = Path(__file__).resolve().parents[3]
CONSTRAINTS = os.environ.get("WINDROW_CONSTRAINTS", str(ROOT / "constraints.txt"))
BATCHES = 4


def made_environment(folder: Path, *packages: str) -> Path:
    """The Python of a new environment with these packages."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    if packages:
        install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS]
        subprocess.run([*install, *packages], check=True)
    return python


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment as one file."""
    folder = tmp_path_factory.mktemp("packed")
    python = made_environment(folder / "environment", str(ROOT), "pandas", "protobuf", "tzdata", "venv-pack")
    packed = folder / "environment.tar.gz"
    pack = [str(python.with_name("venv-pack")), "--quiet", "--prefix", str(python.parents[1])]
    subprocess.run([*pack, "-o", str(packed)], check=True)
    return packed


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    bare = made_environment(folder / "bare")
    missing = subprocess.run([str(bare), "-I", "-c", "import windrow"], check=False, capture_output=True)
    assert b"No module named 'windrow'" in missing.stderr
    found = Cluster(folder, str(bare))
    found.environment.pop("PYTHONPATH", None)  # a node of its own has none of ours
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture
def job_folder(archive: Path, tmp_path: Path) -> Path:
    """Where the driver runs: with the environment unpacked, since a stream starts a Python there, too."""
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "environment", filter="tar")
    (tmp_path / "input").mkdir()
    for number in range(BATCHES):
        path = tmp_path / "input" / f"{number:04}.parquet"
        pq.write_table(connect_job.rows(number, BATCHES), path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    return tmp_path


def finished_job(cluster: Cluster, folder: Path, **own: str) -> tuple[int, str]:
    """How the job ended, and what it said."""
    environment = cluster.environment | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, packed_job.__file__, cluster.url, str(folder)]
    job = spawn(command, environment | own, folder / "job.log", folder)
    try:
        status = job.wait(PATIENCE)
    finally:
        kill_group(job)
    return status, (folder / "job.log").read_text()


def test_tables_and_streams_run_where_nodes_have_no_windrow(
    cluster: Cluster, archive: Path, job_folder: Path
) -> None:
    sent = f"--archives {archive}#environment pyspark-shell"
    python = "./environment/bin/python"
    status, said = finished_job(cluster, job_folder, PYSPARK_PYTHON=python, PYSPARK_SUBMIT_ARGS=sent)
    assert status == 0, said[-5_000:]
    found = json.loads((job_folder / "results.json").read_text())
    rows = pa.concat_tables(connect_job.rows(number, BATCHES) for number in range(BATCHES))
    assert_same_results(found["table"], packed_job.table_query().run(rows))
    assert_same_results(found["stream"], connect_job.due(BATCHES))
    assert all("/environment/lib/" in origin for origin in found["origins"]), found["origins"]


def test_a_node_without_windrow_says_so(cluster: Cluster, job_folder: Path) -> None:
    """This Python has all that windrow needs, and windrow by PYTHONPATH alone."""
    missing = subprocess.run([sys.executable, "-I", "-c", "import windrow"], check=False, capture_output=True)
    assert b"No module named 'windrow'" in missing.stderr
    status, said = finished_job(cluster, job_folder, PYSPARK_PYTHON=sys.executable)
    assert status != 0
    assert f"the Python of Spark's workers, {sys.executable}, cannot load windrow" in said
    assert "or send an archive of the environment along" in said
