"""A Spark Connect server in a process of its own, and clients that know no more of it than ``sc://host:port``.

Run by ``make compat``: servers and clients are processes of their own, and start several times.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support import connect_job
from support.cli_jobs import GOOD, rows_of, write_calls, write_job
from support.connect_server import ConnectServer
from support.processes import PATIENCE, environment_without_spark, kill_group, spawn, wait_for
from windrow.cli.main import main
from windrow.testing import assert_same_results

BATCHES = 12
#: micro-batches after which the server is killed
KILLED_AFTER = (2, 6)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ConnectServer]:
    found = ConnectServer(tmp_path)
    try:
        yield found
    finally:
        found.kill()


def write_input(folder: Path) -> None:
    (folder / "input").mkdir()
    for number in range(BATCHES):
        path = folder / "input" / f"{number:04}.parquet"
        pq.write_table(connect_job.rows(number, BATCHES), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by age


def completed(folder: Path) -> int:
    """Micro-batches that are through."""
    return len([path for path in (folder / "checkpoint" / "commits").glob("*") if path.name.isdigit()])


def start_client(server: ConnectServer, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, connect_job.__file__, server.url, str(folder)]
    return spawn(command, environment_without_spark(), folder / "client.log")


def run_until(server: ConnectServer, folder: Path, batches: int) -> None:
    """Kill the server once so many micro-batches are through, and the client, which would go on asking it."""
    server.start()
    client = start_client(server, folder)
    try:
        wait_for("a micro-batch", lambda: completed(folder) >= batches or client.poll() is not None)
        assert client.poll() is None, (folder / "client.log").read_text()[-3_000:]
    finally:
        server.kill()
        kill_group(client)


def test_a_stream_goes_on_exactly_once_after_its_server_was_killed(
    server: ConnectServer, tmp_path: Path
) -> None:
    write_input(tmp_path)
    for batches in KILLED_AFTER:
        run_until(server, tmp_path, batches)
        assert not (tmp_path / "found.parquet").exists()
    assert completed(tmp_path) < BATCHES, "the stream ended before it was killed: give it more micro-batches"
    server.start()
    client = start_client(server, tmp_path)
    try:
        assert client.wait(PATIENCE) == 0, (tmp_path / "client.log").read_text()[-3_000:]
    finally:
        kill_group(client)
    assert_same_results(pq.read_table(tmp_path / "found.parquet"), connect_job.due(BATCHES))


def windrow(*words: str) -> str:
    """What a command says, in a process of its own, which knows no session."""
    command = [sys.executable, "-m", "windrow.cli", *words]
    own = environment_without_spark()
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    return done.stdout + done.stderr


def test_a_job_file_names_the_server(server: ConnectServer, tmp_path: Path) -> None:
    server.start()
    write_calls(tmp_path, files=3)
    text = GOOD.replace("header = true", "header = true\nmaxFilesPerTrigger = 1")
    text = text.replace('master = "local[2]"', f'remote = "{server.url}"')
    text += '\n[spark.conf]\n"spark.sql.shuffle.partitions" = 2\n'
    assert "late 1" in windrow("run", str(write_job(tmp_path, text)))
    asked = ("--conf", f"spark.remote={server.url}", "--conf", "spark.sql.shuffle.partitions=2")
    assert "slices of 2 keys" in windrow("state", str(tmp_path / "checkpoint"), *asked)
    own = write_job(tmp_path, text.replace('"results"', '"local"'), "local.toml")
    assert main(["run", str(own), "--engine", "local", "--quiet"]) == 0
    found = rows_of(tmp_path / "results").to_pylist()
    last = max(row["window_end"] for row in found)
    due = [row for row in rows_of(tmp_path / "local").to_pylist() if row["window_end"] <= last]
    assert_same_results(found, due)
