"""Streams into tables of Delta Lake and Apache Iceberg that are killed again and again: each result, late row
and rejected row is in its table once.

Run by ``make compat`` with those versions of PySpark for which the formats have a release. A kill leaves the
micro-batch under way unconfirmed, so that it is repeated; where one comes between two micro-batches, the last
is made unconfirmed: what is in the table already comes once more.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kafka_jars import fetched, joined_paths

from support import table_program
from support.killed_jobs import started
from support.processes import PATIENCE, kill_group, wait_for
from support.table_program import NAMES, SCHEMA, query, table
from windrow.testing import StreamOracle, assert_same_results

FILES, KILLS = 9, 2
JARS = Path(__file__).parents[3] / ".cache" / "tables"
#: all that Spark does not have, for a minor version of it
PACKAGES = {
    "delta": ["io.delta:delta-spark_{spark}_2.13:4.4.0"]
    + [
        f"io.delta:delta-{part}:4.4.0"
        for part in ("storage", "kernel-api", "kernel-defaults", "kernel-unitycatalog")
    ],
    "iceberg": ["org.apache.iceberg:iceberg-spark-runtime-{spark}_2.13:1.12.0"],
}
EXTENSIONS = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
START = datetime(2024, 5, 2, tzinfo=UTC)
JOB = """\
[source]
format = "parquet"
path = "input"
stream = true

[source.options]
maxFilesPerTrigger = 1

[source.schema]
{schema}

[events]
time = "ts"
by = "region"
watermark = "2m"

[[window]]
name = "slide"
kind = "sliding"
size = "10m"
slide = "1m"

[agg]
n = "count()"
total = "sum(len)"

[sink]
format = "{form}"
path = "{results}"
checkpoint = "checkpoint"
trigger = "available_now"

[spark]
master = "local[2]"

[spark.conf]
"spark.sql.shuffle.partitions" = 1
"spark.ui.enabled" = false
"""
DEAD_LETTERS = """
[{name}]
format = "{form}"
path = "{path}"
"""


def conf(folder: Path, form: str) -> dict[str, str]:
    """What Spark is told about the format: its jars and a catalog."""
    spark = ".".join(version("pyspark").split(".")[:2])
    jars = fetched(JARS, f"{form}-{spark}", [(each.format(spark=spark), False) for each in PACKAGES[form]])
    found = {"spark.jars": joined_paths(jars), "spark.sql.extensions": EXTENSIONS[form]}
    if form == "delta":
        found["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        return found | {"spark.databricks.delta.snapshotPartitions": "1"}  # 50 would take most of the time
    own = "spark.sql.catalog.own"
    catalog = {own: "org.apache.iceberg.spark.SparkCatalog", f"{own}.type": "hadoop"}
    return found | catalog | {f"{own}.warehouse": str(folder / "warehouse")}


def rows(number: int) -> pa.Table:
    """A minute of calls in some disorder; from the third on, one is hours late, and one has no time."""
    draw = random.Random(number)
    seconds: list[int | None] = [number * 60 + k - draw.randrange(50) for k in range(0, 60, 2)]
    seconds += [number * 60 - 4 * 3600, None] if number > 1 else []
    moments = [None if s is None else START + timedelta(seconds=s) for s in seconds]
    regions = [draw.choice(["north", "south", None]) for _ in seconds]
    columns = [pa.array(moments, pa.timestamp("us", "UTC")), pa.array(regions, pa.string())]
    return pa.table([*columns, pa.array([draw.randrange(100) for _ in seconds])], ["ts", "region", "len"])


def write_input(folder: Path) -> None:
    (folder / "input").mkdir()
    for number in range(FILES):
        path = folder / "input" / f"{number:04}.parquet"
        pq.write_table(rows(number), path)
        os.utime(path, (1_700_000_000 + number,) * 2)


def write_job(folder: Path, form: str, has_dead_letters: bool) -> None:
    schema = "\n".join(f'{part.split()[0]} = "{part.split()[1]}"' for part in SCHEMA.split(", "))
    text = JOB.format(form=form, schema=schema, results=table(folder, form, "results"))
    for name in NAMES[1:] if has_dead_letters else ():
        text += DEAD_LETTERS.format(name=name, form=form, path=table(folder, form, name))
    (folder / "job.toml").write_text(text)


def begin(folder: Path, form: str, what: str, command: str = "run") -> subprocess.Popen[bytes]:
    """The program, or the command line with the job; what reads the tables is a program, too."""
    settings = conf(folder, form)
    if what == "program":
        return started(folder, table_program.__file__, command, str(folder), form, json.dumps(settings))
    given = [f"--conf={name}={value}" for name, value in settings.items()]
    return started(folder, "-m", "windrow.cli", command, str(folder / "job.toml"), *given)


def finish(process: subprocess.Popen[bytes], folder: Path) -> None:
    try:
        code = process.wait(PATIENCE)
    finally:
        kill_group(process)
    assert code == 0, (folder / "log").read_text()[-3_000:]


def run_with_kills(folder: Path, form: str, what: str) -> None:
    for kill in range(KILLS):
        more, process = commits(folder, form) + 2, begin(folder, form, what)
        wait_for("two commits", lambda: commits(folder, form) >= more or process.poll() is not None)  # noqa: B023
        time.sleep(random.uniform(0, 2) * kill)  # the first at once
        assert process.poll() is None, (folder / "log").read_text()[-3_000:]
        kill_group(process)
        repeat_last(folder)
    finish(begin(folder, form, what), folder)


def commits(folder: Path, form: str) -> int:
    """How often something was added to the table of results."""
    log = "results/_delta_log/*.json" if form == "delta" else "warehouse/calls/results/metadata/snap-*.avro"
    return len(list(folder.glob(log)))


def repeat_last(folder: Path) -> None:
    """Leave the last micro-batch unconfirmed, as it is when a job is killed before it says so."""
    done, begun = (_numbers(folder / "checkpoint" / log) for log in ("commits", "offsets"))
    if done and done[-1] == begun[-1]:
        (folder / "checkpoint" / "commits" / str(done[-1])).unlink()


def _numbers(log: Path) -> list[int]:
    return sorted(int(file.name) for file in log.glob("*") if file.name.isdigit())


def check_exactly_once(folder: Path, form: str, what: str) -> None:
    write_input(folder)
    has_dead_letters = what == WITH_DEAD_LETTERS
    if what != "program":
        write_job(folder, form, has_dead_letters)
    run_with_kills(folder, form, what)
    found = read_tables(folder, form)
    oracle, due = oracle_and_results()
    assert_same_results(found["results"], due)
    if has_dead_letters:
        assert oracle.counts.rows_late == found["late"].num_rows == FILES - 2
        assert found["late"]["late_by"].type == pa.int64()
        assert found["rejected"]["rejected_reason"].to_pylist() == ["no_time"] * (FILES - 2)
        finish(begin(folder, form, what, "verify"), folder)
        assert "windows of 3 keys equal those recomputed from the source" in (folder / "log").read_text()


def read_tables(folder: Path, form: str) -> dict[str, pa.Table]:
    finish(begin(folder, form, "program", "read"), folder)
    return {name: pq.read_table(path) for name in NAMES if (path := folder / f"{name}.parquet").exists()}


def oracle_and_results() -> tuple[StreamOracle, list[Any]]:
    """An oracle that has seen all rows, and what it gave."""
    oracle = StreamOracle(query(late="return"), judge="spark")
    return oracle, [row for each in (*map(rows, range(FILES)), []) for row in oracle.push(each)]


def check_begun_anew(folder: Path, form: str) -> None:
    """With another checkpoint, micro-batches have the numbers of those that the tables have, and are others:
    whoever begins anew and keeps the tables gets all rows once more, and loses none."""
    write_input(folder)
    write_job(folder, form, has_dead_letters=True)
    for _ in range(2):
        shutil.rmtree(folder / "checkpoint", ignore_errors=True)
        finish(begin(folder, form, "job"), folder)
    found = read_tables(folder, form)
    oracle, due = oracle_and_results()
    assert_same_results(found["results"], due * 2)
    assert oracle.counts.rows_late * 2 == found["late"].num_rows == 2 * (FILES - 2)
    assert found["rejected"].num_rows == 2 * (FILES - 2)


WITH_DEAD_LETTERS = "job with late and rejected rows"
WHAT = pytest.mark.parametrize("what", ["job", WITH_DEAD_LETTERS, "program"])


@WHAT
def test_delta_has_every_row_once_whatever_is_killed(tmp_path: Path, what: str) -> None:
    check_exactly_once(tmp_path, "delta", what)


def test_delta_takes_all_rows_of_a_job_that_is_begun_anew(tmp_path: Path) -> None:
    check_begun_anew(tmp_path, "delta")


@WHAT
def test_iceberg_has_every_row_once_whatever_is_killed(tmp_path: Path, what: str) -> None:
    check_exactly_once(tmp_path, "iceberg", what)


def test_iceberg_takes_all_rows_of_a_job_that_is_begun_anew(tmp_path: Path) -> None:
    check_begun_anew(tmp_path, "iceberg")
