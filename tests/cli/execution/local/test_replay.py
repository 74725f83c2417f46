"""A replay counts results, and late rows as late rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from windrow.cli.main import main

JOB = """\
[source]
format = "csv"
path = "in"
stream = true
options = {{ header = "true", maxFilesPerTrigger = 1 }}
schema = {{ t = "long", v = "long" }}
[events]
time = "t"
watermark = 0
{late}
[[window]]
kind = "tumbling"
size = 10
[agg]
n = "count()"
[sink]
format = "json"
path = "out"
checkpoint = "point"
trigger = "available_now"
"""
LATE = '[late]\nformat = "json"\npath = "late"\n'


@pytest.mark.parametrize("late", ["setting", "sink"])
def test_a_replay_counted_late_rows_as_results(tmp_path: Path, capsys: Any, late: str) -> None:
    (tmp_path / "in").mkdir()
    for number, times in enumerate([(1, 2, 15), (31,), (3, 4, 45), (5, 58)]):
        text = "t,v\n" + "".join(f"{time},1\n" for time in times)
        (tmp_path / "in" / f"{number}.csv").write_text(text)
    job = tmp_path / "job.toml"
    text = JOB.format(late='late = "emit"' if late == "setting" else "")
    job.write_text(text + (LATE if late == "sink" else ""))
    options = ["--engine", "local", "--speed", "max", "--out", str(tmp_path / "played"), "--json"]
    assert main(["replay", str(job), *options]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    played = pq.read_table(tmp_path / "played")
    assert "late" not in played.column_names
    assert played["n"].null_count == 0
    assert told["late"] > 0
    assert told["results"] == played.num_rows == told["windows"]
    assert not (tmp_path / "late").exists()
