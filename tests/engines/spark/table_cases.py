"""Delta Lake and Apache Iceberg as sinks of jobs that are killed: every result is in the table, and once.

Run by ``make compat`` for each format with a version of PySpark that it has a release for, which
``tests/table_formats.py`` says: $WINDROW_TABLES is the format, $WINDROW_JARS has its jars.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from support.chaos_job import SETTINGS
from support.java import JAVA
from support.late_jobs import START
from support.processes import kill_group, spawn
from windrow.testing import assert_same_results

FORMAT, JARS = os.environ["WINDROW_TABLES"], os.environ["WINDROW_JARS"]
KILLS, BATCHES = 3, 24
_DELTA, _ICEBERG = "org.apache.spark.sql.delta.catalog.DeltaCatalog", "org.apache.iceberg.spark.SparkCatalog"
JOB = """\
[source]
format = "parquet"
path = "input"
stream = true

[source.options]
maxFilesPerTrigger = 1

[source.schema]
ts = "timestamp"
region = "string"
len = "long"

[events]
time = "ts"
by = "region"
watermark = "2m"

[[window]]
kind = "sliding"
size = "10m"
slide = "1m"

[agg]
n = "count()"
total = "sum(len)"

[sink]
format = "{format}"
checkpoint = "checkpoint"
trigger = "available_now"
{sink}
{more}
[spark]
master = "local[2]"
"""
REJECTED = '\n[rejected]\nformat = "json"\npath = "rejected"\n'


def settings(folder: Path) -> dict[str, str]:
    found = SETTINGS | {"spark.jars": JARS}
    if FORMAT == "delta":
        extension = "io.delta.sql.DeltaSparkSessionExtension"
        return found | {"spark.sql.extensions": extension, "spark.sql.catalog.spark_catalog": _DELTA}
    lake = {"": _ICEBERG, ".type": "hadoop", ".warehouse": str(folder / "lake")}
    return found | {f"spark.sql.catalog.lake{name}": value for name, value in lake.items()}


def script(folder: Path, code: str) -> str:
    """What a program with Spark prints, in a process of its own."""
    begin = f"import windrow as wr\nspark = wr.spark.session({settings(folder)!r}, master='local[2]')\n"
    done = subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def rows(batch: int) -> pa.Table:
    """A minute of calls, out of order by less than the watermark stays behind; the last is far ahead."""
    draw = random.Random(batch)
    seconds = [batch * 60 + draw.randrange(60) - draw.randrange(50) for _ in range(30)]
    seconds = [batch * 60 + 86_400] if batch == BATCHES - 1 else seconds
    regions = [draw.choice(["north", "south", None]) for _ in seconds]
    times = pa.array([START + timedelta(seconds=second) for second in seconds], pa.timestamp("us", "UTC"))
    lengths = [draw.randrange(100) for _ in seconds]
    return pa.table({"ts": times, "region": pa.array(regions, pa.string()), "len": pa.array(lengths)})


def begin(folder: Path, more: str) -> list[pa.Table]:
    """Input, job file, and for Iceberg the table, which must be there before."""
    (folder / "input").mkdir()
    batches = [rows(number) for number in range(BATCHES)]
    for number, table in enumerate(batches):
        path = folder / "input" / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    sink = 'path = "results"' if FORMAT == "delta" else '[sink.options]\npath = "lake.db.results"'
    (folder / "job.toml").write_text(JOB.format(format=FORMAT, sink=sink, more=more))
    if FORMAT == "iceberg":
        columns = "region string, window_start timestamp, window_end timestamp, n bigint, total bigint"
        script(folder, f"spark.sql('CREATE TABLE lake.db.results ({columns}) USING iceberg')")
    return batches


def start(folder: Path) -> subprocess.Popen[bytes]:
    conf = [part for name, value in settings(folder).items() for part in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-m", "windrow.cli", "run", str(folder / "job.toml"), "--json", *conf]
    return spawn(command, os.environ | {"JDK_JAVA_OPTIONS": JAVA}, folder / "log")


def offsets(folder: Path) -> int:
    """Micro-batches that have begun."""
    return len(list((folder / "checkpoint" / "offsets").glob("[0-9]*")))


@pytest.mark.parametrize("more", ["", REJECTED], ids=["plain", "rejected"])
def test_every_result_is_in_the_table_once(tmp_path: Path, more: str) -> None:
    batches = begin(tmp_path, more)
    kills = 0
    while kills < KILLS:
        before, job = offsets(tmp_path), start(tmp_path)
        while job.poll() is None and offsets(tmp_path) <= before:
            time.sleep(0.02)
        time.sleep(random.uniform(0, 1.5))
        if job.poll() is not None:
            break
        kill_group(job)
        assert job.returncode == -signal.SIGKILL
        kills += 1
    assert kills == KILLS, (tmp_path / "log").read_text()[-3000:]
    job = start(tmp_path)
    assert job.wait(900) == 0, (tmp_path / "log").read_text()[-3000:]
    place = str(tmp_path / "results") if FORMAT == "delta" else "lake.db.results"
    read = f"found = spark.read.format({FORMAT!r}).load({place!r})\n"
    found = script(tmp_path, f"{read}found.write.parquet({str(tmp_path / 'found')!r})\nprint(found.count())")
    results = pa.concat_tables(map(pq.read_table, (tmp_path / "found").glob("*.parquet")))
    assert results.num_rows == int(found.split()[-1])
    assert_same_results(results, expected(batches))


def expected(batches: list[pa.Table]) -> list[dict[str, Any]]:
    """The windows of all rows but the last, computed without Spark."""
    query = wr.query(time="ts", by="region").window(wr.Sliding("10m", slide="1m"))
    found = query.agg(n=wr.count(), total=wr.sum("len")).run(pa.concat_tables(batches[:-1]))
    return list(found.to_pylist())
