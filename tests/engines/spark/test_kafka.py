"""Kafka in and out, on a broker of its own: a job that is killed, and one whose broker goes away, give every
result in the end, each once when repeats are dropped by their ids; poison is rejected, JSON or Avro."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from support import kafka_checks
from support.avro_values import SCHEMA, avro_value
from support.java import JAVA
from support.patient_python import write_program
from support.processes import wait_for
from windrow.testing import assert_same_results

pytest.importorskip("kafka", reason="the test needs kafka-python: pip install '.[dev]'")

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
    rejected,
    start,
)
from kafka_jars import NotFetched, avro_jars, broker_jars, connector_jars, joined_paths

#: small micro-batches, so that there are some for every run of the job
_CALLS, _POISON = 1_500, 3
#: for how many seconds the broker is away at least, once the job has noticed: a minute in make test-thorough
_AWAY = 60 if settings.get_current_profile_name() == "thorough" else 0
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
    """The job, with a log of its own."""
    (folder / "job.log").unlink(missing_ok=True)
    return start(folder, address, jars, client)


def await_line(job: subprocess.Popen[bytes], folder: Path, text: str) -> None:
    """Until the job says it."""
    log = folder / "job.log"

    def has_said() -> bool:
        said = log.read_text()
        assert text in said or job.poll() is None, said[-2000:]
        return text in said

    wait_for(text, has_said)


def test_a_job_gives_every_result_once_whatever_is_killed(
    broker: Broker, connector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", JAVA)
    (tmp_path / "python").mkdir()
    monkeypatch.setenv("PYSPARK_PYTHON", write_program(tmp_path / "python"))
    rows, address = calls(_CALLS), broker.address
    produce(address, rows, poison=_POISON)
    job = begin(tmp_path, address, connector)
    await_line(job, tmp_path, '"progress"')
    broker.stop(signal.SIGKILL)
    await_line(job, tmp_path, f"Kafka at {address} does not answer: the job waits")
    time.sleep(_AWAY)
    broker.start()
    await_line(job, tmp_path, f"Kafka at {address} answers again")
    assert kill_after_results(job, address, 1, 0.3)

    job = begin(tmp_path, address, connector, _IMPATIENT)
    await_line(job, tmp_path, '"progress"')
    broker.stop(signal.SIGKILL)
    finish(job, tmp_path, code=1)
    end = (tmp_path / "job.log").read_text().splitlines()[-1]
    assert f"Kafka at {address} does not answer, and its client has given up: start the job again" in end
    broker.start()

    finish(begin(tmp_path, address, connector), tmp_path)
    check_results(address, rows)
    left = rejected(tmp_path)
    raised = [row for row in left if row["rejected_reason"] == "raised"]
    assert len(raised) == sum(row["len"] == 0 for row in rows)
    assert {row["rejected_by"] for row in raised} == {"parts"}
    poison = [row["kafka_value"] for row in left if row["rejected_reason"] == "no_time"]
    assert poison == [POISON.decode()] * _POISON
    assert len(left) == len(raised) + _POISON
    check_verify_and_avro(broker, connector, tmp_path)


def check_verify_and_avro(broker: Broker, connector: Path, folder: Path) -> None:
    """In one process, since Spark takes its time to start."""
    rows, jars = calls(200), [connector]
    try:
        jars.append(avro_jars(JARS))
        produce(broker.address, rows, _POISON, topic="calls-avro", encoded=avro_value)
        (folder / "avro.toml").write_text(avro_job((folder / "job.toml").read_text()))
    except NotFetched as error:
        print(f"values of Avro are not tried: {error}")
    command = [sys.executable, kafka_checks.__file__, str(folder), broker.address, joined_paths(*jars)]
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert "windows of 3 keys are as the source gives them" in done.stdout, done.stdout + done.stderr
    assert "1 differ among" in done.stdout
    codes = done.stdout.splitlines()[-1]
    if len(jars) == 1:
        assert codes == "exit codes 0 1"
        pytest.skip("all but values of Avro was tried: Spark's package for Avro cannot be had here")
    assert codes == "exit codes 0 1 0", done.stderr
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
