"""How secrets reach Spark, and what is said where there is no Java."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from support.cli_jobs import GOOD, write_job
from windrow.cli.errors import JobError
from windrow.cli.execution.spark.session import (
    _for_a_server,
    _redaction,
    _secrets_in_a_file,
    missing,
    open_session,
)
from windrow.cli.job import read_job
from windrow.cli.job.secrets import Setting


def test_secrets_are_in_a_file_of_their_owner_and_only_while_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with _secrets_in_a_file([Setting("spark.hadoop.x.secret", "a\\b\nc")]):
        given = os.environ["PYSPARK_SUBMIT_ARGS"]
        assert "a\\b" not in given
        file = Path(given.split()[1])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text() == "spark.hadoop.x.secret a\\\\b\\nc\n"
    assert not file.exists()
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ


def test_spark_is_told_what_to_hide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME", "value-of-some")
    text = GOOD.replace("header = true", 'header = true\n"x.y" = { env = "SOME" }')
    pattern = _redaction(read_job(write_job(tmp_path, text)))["spark.sql.redaction.options.regex"]
    for name in ("x.y", "password", "kafka.sasl.jaas.config", "fs.s3a.access.key"):
        assert re.search(pattern, name)
    assert not re.search(pattern, "header")


def test_without_java_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    job = read_job(write_job(tmp_path))
    with pytest.raises(JobError, match="apt install openjdk-17-jre-headless"), open_session(job):
        pass


def test_a_server_elsewhere_needs_no_java_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    text = GOOD.replace('master = "local[2]"', 'remote = "sc://localhost:15002"')
    assert missing(read_job(write_job(tmp_path, text))) is None
    own = read_job(write_job(tmp_path, text.replace("sc://localhost:15002", "local[2]")))
    assert "openjdk" in str(missing(own))


def test_a_server_is_given_settings_of_sql_and_those_of_the_job(tmp_path: Path) -> None:
    text = GOOD.replace('master = "local[2]"', 'remote = "sc://localhost:15002"')
    text += '[spark.conf]\n"spark.windrow.skew" = "off"\n'
    given = _for_a_server(read_job(write_job(tmp_path, text)))
    assert given["spark.windrow.skew"] == "off"
    assert given["spark.sql.session.timeZone"] == "UTC"
    assert all(name.startswith(("spark.sql.", "spark.windrow.")) for name in given)
