"""Secrets stand in nothing that a command prints or leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.execution.spark.session import _secrets_in_a_file
from windrow.cli.job.secrets import Setting
from windrow.cli.main import main


@pytest.mark.parametrize(
    "name",
    ["url", "pwd", "auth", "kafka.sasl.jaas.config", "spring.pass", "dsn", "db.uri", "azure.account.key"],
)
def test_explain_hides_options_that_hold_logins(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace("header = true", f'header = true\n"{name}" = "jdbc:x://host/db?password=hunter2"')
    assert main(["explain", str(write_job(tmp_path, text))]) == 0
    said = capsys.readouterr().out
    assert f"{name}=***" in said
    assert "hunter2" not in said


def test_explain_hides_a_login_in_a_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD.replace('"data"', '"s3a://me:hunter2@bucket/data"')
    assert main(["explain", str(write_job(tmp_path, text))]) == 0
    assert "s3a://***@bucket/data" in capsys.readouterr().out


def hunted(folder: Path) -> str:
    """A job whose data and options hold the same secret, so that errors quote it."""
    write_calls(folder)
    (folder / "data" / "calls-9.csv").write_text("ts,region,caller,len\nhunter2-in-data,a,b,1\n")
    (folder / "data" / "calls-0.csv").unlink()
    (folder / "data" / "calls-1.csv").unlink()
    return str(
        write_job(folder, GOOD.replace("header = true", 'header = true\npassword = "hunter2-in-data"'))
    )


@pytest.mark.parametrize("command", [["check"], ["run", "--engine", "local"]])
@pytest.mark.parametrize("verbose", [[], ["--verbose"]])
def test_no_command_prints_a_secret(
    command: list[str], verbose: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if command[0] == "check" and verbose:
        verbose = ["--engine", "local"]
    code = main([command[0], hunted(tmp_path), *command[1:], *verbose])
    captured = capsys.readouterr()
    assert code == (2 if command[0] == "check" else 1)
    assert "***" in captured.err
    assert "hunter2" not in captured.out + captured.err
    assert ("Traceback" in captured.err) == (verbose == ["--verbose"])


def test_a_secret_on_many_lines_begins_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    value = " a\rspark.plugins Theirs\x0cspark.plugins Theirs\\"
    with _secrets_in_a_file([Setting("spark.hadoop.fs.x.secret", value)]):
        file = Path(os.environ["PYSPARK_SUBMIT_ARGS"].split()[1])
        said = file.read_bytes().decode()
    assert said == "spark.hadoop.fs.x.secret \\ a\\rspark.plugins Theirs\\fspark.plugins Theirs\\\\\n"


JAVA = """\
#!/bin/sh
touch "$MARK"
exec sleep 600
"""


def test_sigterm_while_spark_starts_leaves_no_file_of_secrets(tmp_path: Path) -> None:
    (tmp_path / "java" / "bin").mkdir(parents=True)
    java = tmp_path / "java" / "bin" / "java"
    java.write_text(JAVA)
    java.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    write_calls(tmp_path)
    text = GOOD + '\n[spark.conf]\n"spark.hadoop.fs.s3a.secret.key" = "hunter2"\n'
    mark = tmp_path / "mark"
    places = {"JAVA_HOME": str(tmp_path / "java"), "TMPDIR": str(scratch), "MARK": str(mark)}
    process = subprocess.Popen(
        [sys.executable, "-m", "windrow.cli", "run", str(write_job(tmp_path, text))],
        env=os.environ | places,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        limit = time.monotonic() + 300
        while not mark.exists() and process.poll() is None and time.monotonic() < limit:
            time.sleep(0.1)
        assert list(scratch.glob("windrow-*.conf"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 130
        assert not list(scratch.glob("windrow-*.conf"))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
