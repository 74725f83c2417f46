"""What Spark would refuse half a minute after it was started: ``check`` finds it without Spark."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.main import main

SOURCE = GOOD[: GOOD.index("[events]")]
SINK = GOOD[GOOD.index("[sink]") : GOOD.index("[spark]")]
KAFKA = '[source]\nformat = "kafka"\nstream = true\n\n[source.options]\nsubscribe = "calls"\n\n'
ONCE = GOOD.replace("stream = true", "stream = false").replace(SINK, '[sink]\nformat = "noop"\n\n')
PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{importlib.metadata.version('pyspark')}"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_CLASSPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("windrow.cli.execution.spark.packages._is_running", lambda: False)


def checked(folder: Path, text: str, capsys: pytest.CaptureFixture[str], **conf: str) -> tuple[int, str]:
    """``conf``: settings of the command line, with _ for the dots in their names."""
    write_calls(folder)
    given = [part for name, value in conf.items() for part in ("--conf", f"{name.replace('_', '.')}={value}")]
    code = main(["check", str(write_job(folder, text)), *given])
    return code, capsys.readouterr().err


WRONG = [
    (
        "a stream into jdbc",
        GOOD.replace('"parquet"\npath = "results"', '"jdbc"'),
        "calls.toml:37: [sink] format: Spark cannot write a stream to 'jdbc'",
        "load the results from there",
    ),
    (
        "a stream from jdbc",
        GOOD.replace('"csv"\npath = "data"', '"jdbc"'),
        "calls.toml:3: [source] stream: Spark cannot read 'jdbc' as a stream",
        "take stream = true out",
    ),
    (
        "rate, once",
        ONCE.replace('"csv"', '"rate"'),
        "[source] format: 'rate' is endless",
        "set stream = true",
    ),
    ("memory, once", ONCE.replace('"noop"', '"memory"'), "[sink] format: 'memory' is for streams", "parquet"),
    ("rows of a sink", GOOD.replace('"csv"', '"console"'), "[source] format: 'console' is a sink", "parquet"),
    (
        "text",
        GOOD.replace('"parquet"', '"text"'),
        "[sink] format: 'text' holds one column of text",
        "parquet",
    ),
    ("to a source", GOOD.replace('"parquet"', '"rate"'), "'rate' cannot be written to", "parquet"),
    (
        "a schema for rate",
        GOOD.replace('"csv"', '"rate"'),
        "calls.toml:9: [source] schema: the columns of 'rate' are always timestamp, value",
        "take [source.schema] out",
    ),
    (
        "a schema for kafka",
        GOOD.replace('"csv"', '"kafka"'),
        "calls.toml:9: [source] schema: the columns of 'kafka' are always key, value, topic",
        "[source.value] format = 'json'",
    ),
    (
        "columns of kafka's value",
        GOOD.replace(SOURCE, KAFKA),
        "calls.toml:9: [events] time: a row of Kafka has no column 'ts'",
        "[source.value] format = 'json'",
    ),
    (
        "corrections to delta",
        GOOD.replace('"parquet"', '"delta"').replace('"10m"', '"10m"\nemit = "update"', 1),
        "[events] emit: 'update' corrects what came out, which 'delta' cannot",
        "use 'final'",
    ),
]


@pytest.mark.parametrize(
    ("text", "said", "remedy"), [wrong[1:] for wrong in WRONG], ids=[wrong[0] for wrong in WRONG]
)
def test_check_refuses_what_spark_cannot_do(
    text: str, said: str, remedy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, error = checked(tmp_path, text, capsys)
    assert code == 2
    assert said in error
    assert remedy in error


BY_TOPIC = GOOD.replace(SOURCE, KAFKA).replace(
    'time = "ts"\nby = ["region"]', 'time = "timestamp"\nby = "topic"'
)
BY_TOPIC = BY_TOPIC.replace('longest = "max(len)"\nwho = "arg_max(len, caller)"\n', "")


def test_kafka_needs_its_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, error = checked(tmp_path, BY_TOPIC, capsys)
    assert code == 2
    assert "[source] format: Spark does not bring 'kafka' along" in error
    assert f"add --conf spark.jars.packages={PACKAGE} to the command" in error
    assert checked(tmp_path, BY_TOPIC, capsys, spark_jars_packages=PACKAGE) == (0, "")


@pytest.mark.parametrize(
    ("name", "artifact"),
    [("delta", "delta-spark"), ("iceberg", "iceberg-spark"), ("hudi", "hudi-spark"), ("avro", "spark-avro")],
)
def test_formats_need_their_packages(
    name: str, artifact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace('"parquet"', f'"{name}"')
    code, error = checked(tmp_path, text, capsys)
    assert code == 2
    assert f"[sink] format: Spark does not bring '{name}' along" in error
    assert artifact in error
    assert checked(tmp_path, text, capsys, spark_jars_packages=f"g:{artifact}_2.13:1")[0] == 0
    assert checked(tmp_path, text, capsys, spark_jars_packages="g:hadoop-aws:1")[0] == 2


def test_jars_that_are_known_by_path_alone_may_hold_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked(tmp_path, BY_TOPIC, capsys, spark_jars="/opt/all.jar")[0] == 0
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--packages {PACKAGE} pyspark-shell")
    assert checked(tmp_path, BY_TOPIC, capsys)[0] == 0
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--packages g:hadoop-aws:1 pyspark-shell")
    assert checked(tmp_path, BY_TOPIC, capsys)[0] == 2


def test_settings_and_jars_of_the_machine_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "conf").mkdir()
    monkeypatch.setenv("SPARK_HOME", str(home))
    defaults = home / "conf" / "spark-defaults.conf"
    defaults.write_text(f"# spark.jars.packages {PACKAGE}\n")
    assert checked(tmp_path, BY_TOPIC, capsys)[0] == 2
    defaults.write_text(f"spark.jars.packages {PACKAGE}\n")
    assert checked(tmp_path, BY_TOPIC, capsys)[0] == 0
    defaults.unlink()
    (home / "jars" / "spark-sql-kafka-0-10_2.13-4.3.0.jar").touch()
    assert checked(tmp_path, BY_TOPIC, capsys)[0] == 0


def test_a_package_for_another_scala_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = PACKAGE.replace("2.13", "2.12")
    code, error = checked(tmp_path, BY_TOPIC, capsys, spark_jars_packages=f"g:a:1,{old}")
    assert code == 2
    assert f"{old} is for Scala 2.12" in error
    assert PACKAGE in error


def test_a_database_needs_its_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ONCE.replace(
        '"noop"', '"jdbc"\noptions = { url = "jdbc:postgresql://host/db", dbtable = "calls" }'
    )
    code, error = checked(tmp_path, text, capsys)
    assert code == 2
    assert "[sink] format: Spark does not bring the driver of the database along" in error
    assert "--conf spark.jars.packages=org.postgresql:postgresql:<version>" in error
    given = "org.postgresql:postgresql:42.7.4"
    assert checked(tmp_path, text, capsys, spark_jars_packages=given)[0] == 0


def test_an_unknown_format_gets_the_nearest_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, error = checked(tmp_path, GOOD.replace('"parquet"', '"parkuet"'), capsys)
    assert code == 2
    assert "[sink] format: Spark has no format 'parkuet'" in error
    assert "did you mean 'parquet'?" in error
    code, error = checked(tmp_path, GOOD.replace('"parquet"', '"com.shop.spark"'), capsys)
    assert code == 0
