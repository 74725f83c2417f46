"""Times of a run are what they say: neither the start of Spark nor what follows the stream is in its time."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cli_jobs import write_job
from windrow.cli.commands.run import recorded, run_job
from windrow.cli.execution.spark import run as spark_run
from windrow.cli.execution.spark import session as spark_session
from windrow.cli.job import read_job
from windrow.cli.show import Progress

START, STREAM, AFTERWARDS = 12.0, 41.0, 300.0


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that is moved by hand."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def move(seconds: float) -> None:
        now[0] += seconds

    return move


def test_times_of_the_summary_are_those_of_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes: Callable[[float], None]
) -> None:
    @contextlib.contextmanager
    def open_session(*_: Any) -> Iterator[None]:
        passes(START)
        yield None

    def watch(job: Any, stream: Any, record: Any, reporter: Any) -> bool:
        passes(STREAM)
        record.add(Progress(0, record.elapsed(), 150_000, seconds=STREAM))
        return False

    monkeypatch.setattr(spark_session, "open_session", open_session)
    monkeypatch.setattr(spark_run, "check_goes_on", lambda *_: [])
    monkeypatch.setattr(spark_run, "read_source", lambda *_: None)
    monkeypatch.setattr(spark_run, "start_stream", lambda *_: (None, None))
    monkeypatch.setattr(spark_run, "watch", watch)
    monkeypatch.setattr(spark_run, "keep_results", lambda *_: passes(AFTERWARDS))
    job = read_job(write_job(tmp_path))
    options = argparse.Namespace(engine="spark", json=False, quiet=True, verbose=False, report=None)

    def work(record: Any, reporter: Any) -> None:
        run_job(job, argparse.Namespace(**vars(options) | {"report": "r.html"}), record, reporter)
        passes(AFTERWARDS)

    record = recorded(job, options, work)
    assert (record.startup, record.seconds) == (START, STREAM)
    assert record.steps[0].at == STREAM
    assert "150,000 rows in 41.0 s (Spark started in 12.0 s)" in record.summary_text()
    summary = record.summary()
    assert (summary["seconds"], summary["startup_seconds"]) == (STREAM, START)


def test_a_run_that_fails_has_taken_the_time_until_then(
    tmp_path: Path, passes: Callable[[float], None]
) -> None:
    from windrow.cli.errors import JobFailed

    job = read_job(write_job(tmp_path))
    options = argparse.Namespace(engine="local", json=False, quiet=True, verbose=False, report=None)
    seen: list[Any] = []

    def fails(record: Any, reporter: Any) -> None:
        seen.append(record)
        passes(3.0)
        raise JobFailed("no")

    with pytest.raises(JobFailed):
        recorded(job, options, fails)
    assert (seen[0].seconds, seen[0].startup, seen[0].status) == (3.0, 0.0, "failed")
