"""Declarative pipelines: ``examples/pipeline`` is run with Spark's own runner, twice, on one server.

Run by ``make compat``: the server and the runners are processes of their own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from support.connect_server import ConnectServer
from support.java import JAVA
from support.processes import environment_without_spark
from windrow.testing import assert_same_results

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "pipeline"
START = datetime(2024, 5, 1, 12, tzinfo=UTC)


def calls(first: int, count: int) -> pa.Table:
    """A call a minute of either region, and an hour after them one more."""
    minutes = [*range(first, first + count), first + count + 60]
    moments = [START + timedelta(minutes=minute) for minute in minutes]
    regions = ["north" if minute % 10 < 3 else "south" for minute in minutes]
    lengths = [minute * 37 % 101 for minute in minutes]
    return pa.table({"ts": pa.array(moments, pa.timestamp("us", "UTC")), "region": regions, "len": lengths})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    found = ConnectServer(tmp_path_factory.mktemp("pipeline"))
    try:
        found.start()
        yield found
    finally:
        found.kill()


@pytest.fixture
def project(server: ConnectServer) -> Path:
    """The example in the server's folder, with its checkpoints beside it."""
    folder = server.folder
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    spec = folder / "spark-pipeline.yml"
    storage = f"storage: {(folder / 'storage').as_uri()}"
    lines = [storage if line.startswith("storage:") else line for line in spec.read_text().splitlines()]
    spec.write_text("\n".join(lines) + "\n")
    (folder / "calls").mkdir(exist_ok=True)
    return folder


def run_pipeline(server: ConnectServer, command: str = "run", fails: bool = False) -> str:
    """What Spark's runner says."""
    import pyspark

    home = Path(pyspark.__file__).parent
    own = environment_without_spark() | {
        "JDK_JAVA_OPTIONS": JAVA,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    words = [str(home / "bin" / "spark-pipelines"), command, "--remote", server.url]
    done = subprocess.run(words, cwd=server.folder, env=own, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stdout[-3_000:] + done.stderr[-6_000:]
    return done.stdout + done.stderr


def stored(project: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table; Spark's times have no zone in its files."""
    rows = pq.read_table(project / "warehouse" / table).to_pylist()
    edges = ("window_start", "window_end")
    return [row | {name: row[name].replace(tzinfo=UTC) for name in edges} for row in rows]


def check_datasets(project: Path, rows: pa.Table) -> None:
    """Both datasets are those of the local engine on all calls so far; visits that may go on are not out."""
    query = wr.query(time="ts", by="region")
    aggregates = {"longest": wr.max("len"), "n": wr.count()}
    hours = query.window(hour=wr.Sliding("1h", slide="5m")).agg(**aggregates).run(rows)
    assert_same_results(stored(project, "busy_hours"), hours)
    visits = query.window(wr.Session("5m")).agg(**aggregates).run(rows).to_pylist()
    watermark = max(rows.column("ts").to_pylist()) - timedelta(minutes=10)
    assert_same_results(
        stored(project, "region_visits"), [visit for visit in visits if visit["window_end"] <= watermark]
    )


def test_a_materialized_view_and_a_streaming_table(server: ConnectServer, project: Path) -> None:
    so_far = calls(0, 90)
    pq.write_table(so_far, project / "calls" / "0.parquet")
    run_pipeline(server)
    check_datasets(project, so_far)
    more = calls(160, 20)
    pq.write_table(more, project / "calls" / "1.parquet")
    run_pipeline(server)
    check_datasets(project, pa.concat_tables([so_far, more]))


IN_A_FUNCTION = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

import windrow as wr


@dp.materialized_view
def numbers():
    return wr.events(SparkSession.active().range(9), time="id").window(wr.Tumbling(5)).agg(n=wr.count())
"""


def test_a_query_in_a_function_is_refused_with_the_remedy(server: ConnectServer, project: Path) -> None:
    (project / "transformations" / "calls.py").write_text(IN_A_FUNCTION)
    assert "run the query above the function" in run_pipeline(server, command="dry-run", fails=True)
