"""Kafka in and out, on a broker of its own: a job that is killed and started again, while the broker goes
away for a while, gives every result, each once when repeats are dropped by their ids; poison is rejected."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.java import JAVA
from support.patient_python import write_program
from windrow.testing import assert_same_results

pytest.importorskip("kafka", reason="the test needs kafka-python: pip install '.[dev]'")

from kafka_broker import Broker
from kafka_calls import (
    POISON,
    calls,
    expected,
    finish,
    kill_after_results,
    produce,
    received,
    rejected,
    start,
)
from kafka_jars import NotFetched, broker_jars, connector_jars

JARS = Path(__file__).resolve().parents[3] / ".cache" / "kafka"


@pytest.fixture(scope="module")
def connector() -> Path:
    try:
        return connector_jars(JARS)
    except NotFetched as error:
        pytest.skip(f"Spark's connector for Kafka cannot be had here: {error}")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        jars = broker_jars(JARS)
    except NotFetched as error:
        pytest.skip(f"a broker cannot be had here: {error}")
    with Broker(jars, tmp_path_factory.mktemp("broker")) as found:
        yield found


def wait_for_progress(job: subprocess.Popen[bytes], folder: Path) -> None:
    """Until a job that was started again has done a micro-batch."""
    log = folder / "job.log"
    while job.poll() is None and '"progress"' not in log.read_text().rpartition("starting Spark")[2]:
        time.sleep(0.1)
    assert job.poll() is None, log.read_text()[-2000:]


def test_a_killed_job_gives_every_result_once_and_rejects_poison(
    broker: Broker, connector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", JAVA)
    (tmp_path / "python").mkdir()
    monkeypatch.setenv("PYSPARK_PYTHON", write_program(tmp_path / "python"))
    rows = calls(1_500)
    produce(broker.address, rows, poison=3)
    assert kill_after_results(start(tmp_path, broker.address, connector), broker.address, 1, 0.3)
    job = start(tmp_path, broker.address, connector)
    wait_for_progress(job, tmp_path)
    broker.stop(signal.SIGKILL)
    time.sleep(2)
    broker.start()
    finish(job, tmp_path)
    found, _ = received(broker.address)
    assert_same_results(found, expected(rows))
    left = rejected(tmp_path)
    raised = [row for row in left if row["rejected_reason"] == "raised"]
    assert len(raised) == sum(row["len"] == 0 for row in rows)
    assert {row["rejected_by"] for row in raised} == {"parts"}
    poison = [row["kafka_value"] for row in left if row["rejected_reason"] == "no_time"]
    assert poison == [POISON.decode()] * 3
