"""The JSON Schema takes what the reader of job files takes, and refuses keys and types as it does."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from support.cli_jobs import as_toml
from windrow.cli.commands.sample import JOB
from windrow.cli.errors import JobError
from windrow.cli.job import read_job
from windrow.cli.job.schema import job_schema
from windrow.cli.main import main

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "examples").rglob("*.toml"))
VALID = fastjsonschema.compile(job_schema())

ASOF = """
[source]
format = "parquet"
path = "events"
[source.schema]
ts = "timestamp"
user = "string"
[events]
time = "ts"
by = "user"
[asof]
size = { week = "7d", day = "1d" }
closed = "left"
lag = "1h"
[at]
format = "csv"
path = "labels"
time = "moment"
by = ["user"]
[agg]
n = "count()"
[sink]
format = "parquet"
path = "features"
options = { compression = "zstd", "spark.x" = 1, password = { env = "HOME" } }
"""


def as_json(text: str) -> Any:
    return json.loads(json.dumps(tomllib.loads(text), default=str))


def schema_takes(job: Any) -> bool:
    try:
        VALID(copy.deepcopy(job))
    except fastjsonschema.JsonSchemaException:
        return False
    return True


def reader_takes(job: Any, folder: Path) -> bool:
    file = folder / "job.toml"
    file.write_text(as_toml(job), encoding="utf-8")
    try:
        read_job(file)
    except JobError:
        return False
    return True


@pytest.mark.parametrize("text", [JOB, ASOF])
def test_jobs_that_run_are_valid(text: str, tmp_path: Path) -> None:
    job = as_json(text)
    assert reader_takes(job, tmp_path)
    assert schema_takes(job)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_jobs_of_the_examples_are_valid(file: Path) -> None:
    assert schema_takes(as_json(file.read_text(encoding="utf-8")))


def _changes() -> list[Any]:
    """Keys of every table with values of many types: (job, table, key, value)."""
    values = ["x", "", "5m", 7, 0, -1, 1.5, True, [], ["a"], ["1h", "1d"], [1], {}, {"a": "1d"}, {"a": 1}]
    jobs = {"windows": as_json(JOB), "asof": as_json(ASOF)}
    return [
        pytest.param(job, table, key, values, id=f"{name} {table}.{key}")
        for name, job in jobs.items()
        for table in job
        if isinstance(job[table], dict) and table != "agg"
        for key in [*job_schema()["properties"][table]["properties"], "no_such_key"]
    ]


@pytest.mark.parametrize(("job", "table", "key", "values"), _changes())
def test_whatever_the_reader_takes_is_valid(
    job: Any, table: str, key: str, values: list[Any], tmp_path: Path
) -> None:
    for value in values:
        changed = copy.deepcopy(job)
        changed[table][key] = value
        if reader_takes(changed, tmp_path):
            assert schema_takes(changed), value


def test_the_schema_knows_the_keys_of_each_kind_of_window(tmp_path: Path) -> None:
    job = as_json(JOB)
    job["window"] = [{"kind": "session", "gap": "5m"}]
    assert schema_takes(job)
    for wrong in ({"kind": "session"}, {"kind": "session", "gap": "5m", "slide": "1m"}, {"kind": "sesion"}):
        job["window"] = [wrong]
        assert not schema_takes(job)
        assert not reader_takes(job, tmp_path)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("source", "formt", "parquet"),
        ("source", "stream", "yes"),
        ("events", "late", "dropped"),
        ("events", "watermark", 1.5),
        ("sink", "path", 3),
        ("spark", "conf", "x"),
    ],
)
def test_mistakes_are_not_valid(table: str, key: str, value: Any, tmp_path: Path) -> None:
    job = as_json(JOB)
    job.setdefault(table, {})[key] = value
    assert not reader_takes(job, tmp_path)
    assert not schema_takes(job)


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == job_schema()
