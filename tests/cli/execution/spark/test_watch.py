"""Watching a stream, with a stream that is none: when it is stopped, and what its failure becomes."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from support.cli_jobs import write_job
from support.derived_jobs import kafka_job
from windrow.cli.errors import JobFailed
from windrow.cli.execution.spark import watch as watching
from windrow.cli.execution.spark.brokers import BrokerWatch
from windrow.cli.execution.spark.failures import first_line
from windrow.cli.execution.spark.watch import watch
from windrow.cli.job import Job, read_job
from windrow.cli.record import Record
from windrow.cli.show import Silent


class FakeStream:
    """Finishes a micro-batch every other look, and is told to stop or fails."""

    def __init__(self, batches: int, interrupt_at: int | None = None, error: Exception | None = None) -> None:
        self.batches, self.interrupt_at, self.error = batches, interrupt_at, error
        self.looks = 0
        self.stopped_at: int | None = None

    @property
    def done(self) -> int:
        return min(self.looks // 2, self.batches)

    @property
    def isActive(self) -> bool:  # noqa: N802
        self.looks += 1
        if self.looks == self.interrupt_at:
            os.kill(os.getpid(), signal.SIGINT)
        return self.stopped_at is None and self.done < self.batches

    @property
    def status(self) -> dict[str, Any]:
        return {"isTriggerActive": True}

    @property
    def recentProgress(self) -> list[dict[str, Any]]:  # noqa: N802
        return [{"batchId": k, "timestamp": f"t{k}", "numInputRows": 10} for k in range(self.done)]

    def processAllAvailable(self) -> None:  # noqa: N802
        self.looks = self.batches * 2

    def stop(self) -> None:
        self.stopped_at = self.looks

    def exception(self) -> Exception | None:
        return self.error


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(watching, "_PAUSE", 0.0)
    return read_job(write_job(tmp_path))


def test_every_micro_batch_is_taken_once(job: Job) -> None:
    record = Record(job, "spark")
    assert watch(job, FakeStream(5), record, Silent()) is False  # type: ignore[arg-type]
    assert [step.batch for step in record.steps] == [0, 1, 2, 3, 4]
    assert record.totals.rows == 50


def test_ctrl_c_lets_the_running_micro_batch_finish(job: Job) -> None:
    stream, record = FakeStream(100, interrupt_at=5), Record(job, "spark")
    before = signal.getsignal(signal.SIGINT)
    assert watch(job, stream, record, Silent()) is True  # type: ignore[arg-type]
    assert [step.batch for step in record.steps] == [0, 1, 2]
    assert stream.stopped_at == 6
    assert signal.getsignal(signal.SIGINT) is before


def test_a_fed_stream_ends_when_the_feed_does(job: Job) -> None:
    stream, record = FakeStream(5), Record(job, "spark")
    assert watch(job, stream, record, Silent(), is_fed=lambda: False) is False  # type: ignore[arg-type]
    assert len(record.steps) == 5


def test_a_failure_is_one_line(job: Job) -> None:
    spark_says = ValueError(
        "[STREAM_FAILED] Query terminated with exception: Job aborted\n  at org.apache...\n"
        '  File "x.py", line 3\nZeroDivisionError: combine of spread, key north: division by zero\n'
    )
    with pytest.raises(JobFailed, match=r"^ZeroDivisionError: combine of spread"):
        watch(job, FakeStream(2, error=spark_says), Record(job, "spark"), Silent())  # type: ignore[arg-type]
    java = "An error occurred while calling o5.load.\n: org.apache.X: [NOT_FOUND] no such format\n\tat org"
    assert first_line(ValueError(java)) == "org.apache.X: [NOT_FOUND] no such format"
    assert first_line(KeyError("no column 'x'")) == "no column 'x'"
    assert first_line(ValueError("")) == "ValueError"


# -- what is gone while a job runs ---------------------------------------------------------------------------

SERVERS = "broker-1:9092,broker-2:9092"


@pytest.fixture
def kafka(tmp_path: Path) -> Job:
    return read_job(write_job(tmp_path, kafka_job().replace("broker:9092", SERVERS)))


def test_a_broker_that_goes_away_and_comes_back_is_named_once_each(kafka: Job) -> None:
    said: list[str] = []
    now, is_there = 0.0, True
    brokers = BrokerWatch(kafka, said.append, lambda servers: is_there, lambda: now)
    for second in range(40):
        now, is_there = float(second), not 10 <= second < 20
        brokers.look(has_progress=second < 10 or second > 25)
    assert said == [
        f"Kafka at {SERVERS} does not answer: the job waits, and goes on when it does",
        f"Kafka at {SERVERS} answers again, after 9 s: the job goes on",
    ]


def test_brokers_are_not_asked_while_micro_batches_end(kafka: Job, job: Job) -> None:
    asked: list[str] = []
    now = 0.0
    watches = [
        BrokerWatch(each, asked.append, lambda s: bool(asked.append(s)), lambda: now) for each in (kafka, job)
    ]
    for second in range(40):
        now = float(second)
        for brokers in watches:
            brokers.look(has_progress=True)
    assert asked == []
    now += 10
    watches[1].look(has_progress=False)
    assert asked == []  # a job without Kafka


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            "Job aborted.\njava.io.IOException: No space left on device\n\tat x",
            "No space left on device: the job writes to",
        ),
        (
            "[STREAM_FAILED] terminated: org.apache.kafka.common.errors.TimeoutException: Timed out",
            f"Kafka at {SERVERS} does not answer, and its client has given up: start the job again, which "
            f"goes on from its checkpoint",
        ),
    ],
)
def test_what_was_gone_is_named_with_the_remedy(kafka: Job, error: str, said: str) -> None:
    stream: Any = FakeStream(1, error=RuntimeError(error))
    with pytest.raises(JobFailed) as caught:
        watch(kafka, stream, Record(kafka, "spark"), Silent())
    assert said in str(caught.value)
    assert "checkpoint" in str(caught.value)
