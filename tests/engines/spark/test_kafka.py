"""Kafka in and out, on a broker of its own: a job that is killed, one that gives up on its broker and one
whose broker goes away for a minute give every result in the end, each once when repeats are dropped by their
ids; poison is rejected, JSON or Avro; ``windrow verify`` finds a wrong result."""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support.avro_values import SCHEMA, avro_value
from support.java import JAVA
from support.patient_python import write_program
from support.processes import wait_for
from support.windrow_commands import Commands
from windrow.testing import assert_same_results

pytest.importorskip("kafka", reason="the test needs kafka-python: pip install '.[dev]'")

from kafka import KafkaProducer
from kafka_broker import Broker
from kafka_calls import (
    JARS,
    POISON,
    calls,
    check_results,
    expected,
    finish,
    kill_after_results,
    produce,
    records,
    rejected,
    start,
    write_job,
)
from kafka_jars import NotFetched, avro_jars, broker_jars, connector_jars, joined_paths

#: small micro-batches, so that there are some for every run of the job
_CALLS, _POISON = 2_400, 3
#: for how many seconds the broker is away, once the job has noticed
_AWAY = 60
#: so that Kafka's client gives up after some seconds
_IMPATIENT = "".join(
    f'"kafka.{name}.ms" = {milliseconds}\n'
    for name, milliseconds in {
        "request.timeout": 3_000,
        "default.api.timeout": 6_000,
        "delivery.timeout": 6_000,
        "max.block": 6_000,
    }.items()
)


def jars_of(which: Any, what: str) -> Path:
    try:
        found: Path = which(JARS)
    except NotFetched as error:
        pytest.skip(f"{what} cannot be had here: {error}")
    return found


@pytest.fixture(scope="module")
def connector() -> Path:
    return jars_of(connector_jars, "Spark's connector for Kafka")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(jars_of(broker_jars, "a broker"), tmp_path_factory.mktemp("broker")) as found:
        yield found


def begin(folder: Path, address: str, jars: Path, client: str = "") -> subprocess.Popen[bytes]:
    """The job, in a process and with a log of its own."""
    (folder / "job.log").unlink(missing_ok=True)
    return start(folder, address, jars, client)


def await_progress(job: subprocess.Popen[bytes], folder: Path) -> None:
    """Until a micro-batch has ended."""
    log = folder / "job.log"
    wait_for("a micro-batch", lambda: '"progress"' in log.read_text() or job.poll() is not None)
    assert job.poll() is None, log.read_text()[-2000:]


def test_jobs_give_every_result_once_whatever_goes_away(
    broker: Broker, connector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", JAVA)
    (tmp_path / "python").mkdir()
    monkeypatch.setenv("PYSPARK_PYTHON", write_program(tmp_path / "python"))
    rows, address = calls(_CALLS), broker.address
    produce(address, rows, poison=_POISON)
    assert kill_after_results(begin(tmp_path, address, connector), address, 1, 0.3)
    check_giving_up(broker, connector, tmp_path)
    jars = [connector, *packages_of_avro()]
    settings = {"spark.jars": joined_paths(*jars)}
    with Commands(settings, tmp_path / "commands.log") as commands:
        check_a_minute_away(broker, tmp_path, commands)
        check_results(address, rows)
        check_rejected(tmp_path, rows)
        check_verify(commands, tmp_path, address)
        if len(jars) == 1:
            pytest.skip("all but values of Avro was tried: Spark's package for Avro cannot be had here")
        check_avro(commands, tmp_path, address)


def check_giving_up(broker: Broker, connector: Path, folder: Path) -> None:
    """A broker that stays away for longer than Kafka's client waits."""
    job = begin(folder, broker.address, connector, _IMPATIENT)
    await_progress(job, folder)
    broker.stop(signal.SIGKILL)
    finish(job, folder, code=1)
    end = (folder / "job.log").read_text().splitlines()[-1]
    assert f"Kafka at {broker.address} does not answer, and its client has given up: start the job" in end
    broker.start()


def check_a_minute_away(broker: Broker, folder: Path, commands: Commands) -> None:
    """A line when the broker is gone and one when it is back; the job goes on to its end, and counts add
    up."""
    write_job(folder, broker.address)
    commands.begin("run", str(folder / "job.toml"), "--json", "--monoids", str(folder / "own.py"))
    commands.await_line('"progress"')
    broker.stop(signal.SIGKILL)
    commands.await_line(f"Kafka at {broker.address} does not answer: the job waits")
    time.sleep(_AWAY)
    broker.start()
    said = commands.finish(0)
    (away,) = re.findall(rf"Kafka at {broker.address} answers again, after (\d+) s: the job goes on", said)
    assert int(away) >= _AWAY
    events = [json.loads(line) for line in said.splitlines() if line.startswith('{"event"')]
    steps = {event["batch"]: event for event in events if event["event"] == "progress"}
    assert len(steps) > 1
    for batch, step in steps.items():
        assert step["rows"] == records_until(folder, batch) - records_until(folder, batch - 1)
        files = (folder / "rejected" / f"micro_batch={batch}").glob("part-*.json")
        assert step["rejected"] == sum(len(file.read_text().splitlines()) for file in files)
        assert step["late"] == 0
    end = next(event for event in events if event["event"] == "end")
    for name in ("rows", "late", "rejected"):
        assert end[name] == sum(step[name] for step in steps.values())


def records_until(folder: Path, batch: int) -> int:
    """How many records of the topic there are up to the end of a micro-batch, as its checkpoint has it."""
    log = folder / "checkpoint" / "offsets" / str(batch)
    lines = log.read_text().splitlines() if batch >= 0 else ['{"calls": {}}']
    return sum(sum(json.loads(line)["calls"].values()) for line in lines if line.startswith('{"calls"'))


def check_rejected(folder: Path, rows: list[dict[str, Any]]) -> None:
    left = rejected(folder)
    raised = [row for row in left if row["rejected_reason"] == "raised"]
    assert len(raised) == sum(row["len"] == 0 for row in rows)
    assert {row["rejected_by"] for row in raised} == {"parts"}
    poison = [row["kafka_value"] for row in left if row["rejected_reason"] == "no_time"]
    assert poison == [POISON.decode()] * _POISON
    assert len(left) == len(raised) + _POISON


def check_verify(commands: Commands, folder: Path, address: str) -> None:
    verify = ("verify", str(folder / "job.toml"), "--monoids", str(folder / "own.py"))
    assert "windows of 3 keys equal those recomputed from the source" in commands.run(*verify)
    write_wrong_result(address)
    assert "1 differ among" in commands.run(*verify, code=1)


def write_wrong_result(address: str) -> None:
    """The first result of the topic once more, as another one with one row more."""
    value = json.loads(records(address)[0])
    wrong = value | {"n": value["n"] + 1, "result_id": "wrong"}
    producer = KafkaProducer(bootstrap_servers=address)
    producer.send("longest", json.dumps(wrong).encode()).get(30)
    producer.close()


def packages_of_avro() -> list[Path]:
    try:
        return [avro_jars(JARS)]
    except NotFetched as error:
        print(f"values of Avro are not tried: {error}")
        return []


def check_avro(commands: Commands, folder: Path, address: str) -> None:
    rows = calls(200)
    produce(address, rows, _POISON, topic="calls-avro", encoded=avro_value)
    (folder / "avro.toml").write_text(avro_job((folder / "job.toml").read_text()))
    commands.run("run", str(folder / "avro.toml"), "--quiet", "--monoids", str(folder / "own.py"))
    files = (folder / "avro").glob("micro_batch=*/part-*.json")
    found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    edges = ("window_start", "window_end")
    # files leave out what is null
    found = [
        {"region": None} | row | {edge: datetime.fromisoformat(row[edge]) for edge in edges} for row in found
    ]
    assert_same_results(found, expected(rows))
    left = rejected(folder, "avro-rejected")
    poison = [base64.b64decode(row["kafka_value"]) for row in left if row["rejected_reason"] == "no_time"]
    assert poison == [POISON] * _POISON
    assert len(left) == _POISON + sum(row["len"] == 0 for row in rows)


def avro_job(text: str) -> str:
    """The job with values of Avro, and its results in files."""
    head, sink, tail = text.partition("[sink]")
    head = head.replace('"calls"', '"calls-avro"').replace(
        'format = "json"', f"format = 'avro'\nschema = '''{SCHEMA}'''"
    )
    rest = tail.partition("[rejected]")[2].replace('"rejected"', '"avro-rejected"')
    results = 'format = "json"\npath = "avro"\ncheckpoint = "avro-checkpoint"\ntrigger = "available_now"'
    return f"{head}{sink}\n{results}\n\n[rejected]{rest}"
