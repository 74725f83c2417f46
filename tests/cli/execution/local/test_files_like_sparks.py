"""Files of the local engine hold times and durations as those of Spark do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from windrow.cli.main import main

JOB = """\
[source]
format = "csv"
path = "in"
stream = true
options = {{ header = "true", maxFilesPerTrigger = 1 }}
schema = {{ v = "double", ts = "timestamp", k = "string", d = "date" }}
[events]
time = "ts"
by = "k"
watermark = "10m"
[[window]]
kind = "tumbling"
size = "1h"
[agg]
n = "count()"
first_ts = "min(ts)"
day = "max(d)"
[sink]
format = "{format}"
path = "out"
checkpoint = "point"
trigger = "available_now"
[late]
format = "{format}"
path = "late"
[spark]
master = "local[2]"
"""
FILES = (
    "1.5,2024-05-01T12:00:00Z,a,2024-05-01\n2,2024-05-01T12:00:30.5Z,a,2024-05-01\n",
    "4,2024-05-01T14:30:00Z,b,2024-05-01\n",
    "4,2024-05-01T10:00:00.5Z,b,2024-05-01\n5,2024-04-29T10:00:00Z,b,2024-05-01\n6,2024-05-01T15:30:00Z,b,\n",
)


def write_files(folder: Path, written: str) -> Path:
    (folder / "in").mkdir(parents=True)
    for number, rows in enumerate(FILES):
        file = folder / "in" / f"{number}.csv"
        file.write_text("v,ts,k,d\n" + rows)
        os.utime(file, (1_700_000_000 + number,) * 2)
    job = folder / "job.toml"
    job.write_text(JOB.format(format=written))
    return job


def rows_in(folder: Path) -> list[dict[str, Any]]:
    lines = [line for file in sorted(folder.glob("**/part-*.json")) for line in file.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def test_late_rows_had_seconds_for_an_interval_and_columns_in_another_order(tmp_path: Path) -> None:
    assert main(["run", str(write_files(tmp_path, "json")), "--engine", "local"]) == 0
    late = sorted(rows_in(tmp_path / "late"), key=lambda row: -row["v"])
    assert [*late[1]] == ["v", "ts", "k", "d", "late_by", "late_reason"]
    assert [(row["ts"], row["late_by"]) for row in late] == [
        ("2024-04-29T10:00:00.000Z", "INTERVAL '2 01:50:30.5' DAY TO SECOND"),
        ("2024-05-01T10:00:00.500Z", "INTERVAL '0 01:50:30' DAY TO SECOND"),
    ]
    first = rows_in(tmp_path / "out")[0]
    assert (first["window_start"], first["day"]) == ("2024-05-01T12:00:00.000Z", "2024-05-01")


def test_times_in_csv_were_in_a_form_of_their_own(tmp_path: Path) -> None:
    assert main(["run", str(write_files(tmp_path, "csv")), "--engine", "local"]) == 0
    (out,), (late,) = ([*(tmp_path / name).glob("part-*.csv")] for name in ("out", "late"))
    header, first, *_ = out.read_text().replace('"', "").splitlines()
    assert header == "k,window_start,window_end,n,first_ts,day"
    assert (
        first == "a,2024-05-01T12:00:00.000Z,2024-05-01T13:00:00.000Z,2,2024-05-01T12:00:00.000Z,2024-05-01"
    )
    assert sorted(late.read_text().replace('"', "").splitlines())[1] == (
        "5,2024-04-29T10:00:00.000Z,b,2024-05-01,INTERVAL '2 01:50:30.5' DAY TO SECOND,window_fired"
    )


@pytest.mark.spark
def test_a_job_of_json_files_looks_alike_on_both_engines(tmp_path: Path) -> None:
    found = {}
    for engine in ("local", "spark"):
        assert main(["run", str(write_files(tmp_path / engine, "json")), "--engine", engine]) == 0
        folders = [tmp_path / engine / name for name in ("out", "late")]
        found[engine] = [sorted(map(str, rows_in(folder))) for folder in folders]
    # at its end, the local engine gives what Spark keeps for the next run
    assert set(found["spark"][0]) < set(found["local"][0])
    assert found["spark"][1] == found["local"][1]
    assert len(found["local"][1]) == 2
