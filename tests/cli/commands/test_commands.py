"""The commands around a run: help, new, check, explain, replay, state; and secrets in all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.errors import JobError, JobFailed
from windrow.cli.main import main
from windrow.cli.replay import paced, read_speed

PROBE = """
import json, sys
from windrow.cli.main import main
try:
    main(["--help"])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def test_help_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr)}
    assert loaded.isdisjoint({"numpy", "pyarrow", "numba", "pyspark", "rich", "pandas"})
    assert "exit codes" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["rum"]) == 2
    assert main(["run", "job.toml", "--engine", "flink"]) == 2
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("windrow ")


def test_new_check_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "calls"
    assert main(["new", str(folder)]) == 0
    job = str(folder / "job.toml")
    assert main(["check", job]) == 0
    assert "dry run: 500 rows (of the source)" in capsys.readouterr().out
    report = tmp_path / "report.html"
    assert main(["run", job, "--engine", "local", "--batch-rows", "500", "--report", str(report)]) == 0
    assert "late" in capsys.readouterr().err.splitlines()[-1]
    assert "<svg" in report.read_text()
    assert main(["new", str(folder)]) == 2
    assert "there already" in capsys.readouterr().err


def test_the_sample_job_with_all_its_comments_taken_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "calls"
    main(["new", str(folder)])
    text = (folder / "job.toml").read_text()
    for line in ('# allowed_lateness = "30m"', '# late = "return"', "# spread ="):
        assert line in text
        text = text.replace(line, line[2:])
    (folder / "job.toml").write_text(text)
    own = ["--monoids", str(folder / "monoids.py")]
    assert main(["check", str(folder / "job.toml"), *own]) == 0
    assert main(["run", str(folder / "job.toml"), *own, "--engine", "local", "--quiet"]) == 0


def test_explain_says_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(write_job(tmp_path))]) == 0
    said = capsys.readouterr().out
    assert "job calls: stream" in said
    assert "hour = Sliding('1h', slide='5m')" in said


def test_secrets_are_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CALLS_KEY", "hunter2-from-env")
    text = GOOD.replace(
        "header = true", 'header = true\nx = { env = "CALLS_KEY" }\npassword = "hunter3-in-file"'
    )
    write_calls(tmp_path)
    (tmp_path / "data" / "calls-9.csv").write_text("ts,region,caller,len\nhunter2-from-env,a,b,1\n")
    file = str(write_job(tmp_path, text))
    report = tmp_path / "report.html"
    assert main(["explain", file]) == 0
    assert main(["run", file, "--engine", "local", "--report", str(report)]) == 1
    captured = capsys.readouterr()
    assert "x=***, password=***" in captured.out
    assert "calls-9.csv" in captured.err
    assert "hunter" not in captured.out + captured.err
    assert not report.exists() or "hunter" not in report.read_text()


def test_check_makes_up_rows_where_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD.replace('format = "csv"', 'format = "orc"')
    assert main(["check", str(write_job(tmp_path, text))]) == 0
    assert "8 rows (made up from the schema)" in capsys.readouterr().out
    schema = text[text.index("[source.schema]") : text.index("[events]")]
    assert main(["check", str(write_job(tmp_path, text.replace(schema, "")))]) == 0
    assert "skip  dry run: 'orc' can only be read on Spark" in capsys.readouterr().out


def test_check_names_a_column_that_the_data_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    schema = GOOD[GOOD.index("[source.schema]") : GOOD.index("[events]")]
    text = (
        GOOD.replace(schema, "").replace("stream = true", "stream = false").replace("max(len)", "max(lenn)")
    )
    text = text.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")
    assert main(["check", str(write_job(tmp_path, text))]) == 2
    assert "'lenn'" in capsys.readouterr().err


def test_check_of_a_stream_whose_files_are_yet_to_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    assert main(["check", str(write_job(tmp_path))]) == 0
    assert "skip  dry run: the source has no files yet" in capsys.readouterr().out
    assert main(["check", str(write_job(tmp_path, GOOD.replace('"data"', '"dat"')))]) == 2
    assert "[source] path: there are no csv files at" in capsys.readouterr().err


def test_state_of_no_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", str(tmp_path)]) == 2
    assert "name the folder that is checkpoint in [sink]" in capsys.readouterr().err


def test_state_takes_settings_of_spark_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint on other storage needs packages and keys, and there is no job file to have them."""
    jobs: list[Any] = []

    def open_session(job: Any) -> Any:
        jobs.append(job)
        raise JobFailed("Spark did not start: hunter2 is wrong")

    (tmp_path / "state").mkdir()
    monkeypatch.setenv("SHOP_KEY", "hunter2")
    monkeypatch.setattr("windrow.cli.execution.spark.session.open_session", open_session)
    given = ["spark.master=local[2]", "spark.jars.packages=shop:s3:1", "spark.hadoop.fs.s3a.key=env:SHOP_KEY"]
    arguments = [part for text in given for part in ("--conf", text)]
    assert main(["state", str(tmp_path), *arguments]) == 1
    assert "hunter2" not in capsys.readouterr().err
    (job,) = jobs
    assert job.spark.master == "local[2]"
    assert {setting.name: setting.value for setting in job.spark.conf} == {
        "spark.jars.packages": "shop:s3:1",
        "spark.hadoop.fs.s3a.key": "hunter2",
    }
    assert [setting.is_secret for setting in job.spark.conf] == [False, True]


def test_state_names_a_wrong_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "state").mkdir()
    assert main(["state", str(tmp_path), "--conf", "executor.memory=4g"]) == 2
    assert capsys.readouterr().err.startswith("error: --conf executor.memory: give a Spark setting")


def test_replay_at_full_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    options = ["--engine", "local", "--speed", "max", "--json"]
    assert main(["replay", str(write_job(tmp_path)), *options]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rows"] == 121
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / "checkpoint").exists()


def test_pace() -> None:
    now = [0.0]
    asleep: list[float] = []

    def sleep(seconds: float) -> None:
        asleep.append(seconds)
        now[0] += seconds

    table = pa.table({"t": [10, 11, None, 10, 14, 30]})
    found = list(paced([table], "t", 2.0, 1.0, lambda: now[0], sleep))
    assert [part.column("t").to_pylist() for part in found] == [[10], [11, None, 10], [14], [30]]
    assert now[0] == 10.0


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan"])
def test_speeds_that_are_none(text: str) -> None:
    with pytest.raises(JobError, match="--speed"):
        read_speed(text)
