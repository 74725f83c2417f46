"""``[history]`` in job files: read, and refused by name where it cannot be."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.cli_jobs import GOOD, write_job
from windrow.cli.errors import JobError
from windrow.cli.job import read_job

HISTORY = '[history]\nformat = "parquet"\npath = "past"\n'
ONCE = GOOD.replace("stream = true", "stream = false").replace('checkpoint = "checkpoint"\n', "")
ONCE = ONCE.replace('trigger = "available_now"\n', "")


@pytest.mark.parametrize(
    ("until", "cut"),
    [
        ("2024-05-01T00:30:00Z", datetime(2024, 5, 1, 0, 30, tzinfo=UTC)),
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ('"2024-05-01T00:30"', "2024-05-01T00:30"),
        ("40", 40),
    ],
)
def test_history_ends_at_a_time_a_text_or_a_number(tmp_path: Path, until: str, cut: object) -> None:
    history = read_job(write_job(tmp_path, f"{GOOD}{HISTORY}until = {until}\n")).history
    assert history is not None
    assert history.until == cut
    assert history.source.path == str(tmp_path / "past")


def test_the_checkpoint_that_is_taken_over_lies_beside_the_job(tmp_path: Path) -> None:
    history = read_job(write_job(tmp_path, f'{GOOD}{HISTORY}takes_over = "old"\n')).history
    assert history is not None
    assert history.takes_over == str(tmp_path / "old")


@pytest.mark.parametrize(
    ("job", "place", "said"),
    [
        (ONCE + HISTORY, "[history]", "history is for streams: write stream = true in [source]"),
        (f"{GOOD}{HISTORY}until = true\n", "[history] until", "True is not a time"),
        (f"{GOOD}{HISTORY}since = 3\n", "[history] since", "until"),
        (f'{GOOD}{HISTORY}until = 3\ntakes_over = "old"\n', "[history] takes_over", "take one of them out"),
        (f'{GOOD}{HISTORY}takes_over = "checkpoint"\n', "[history] takes_over", "name another checkpoint"),
        (f'{GOOD}{HISTORY}schema = {{ ts = "timestamp" }}\n', "[history]", "'region'"),
        (f"{GOOD}[history]\npath = 3\n", "[history]", "format"),
    ],
)
def test_what_is_not_a_history(tmp_path: Path, job: str, place: str, said: str) -> None:
    with pytest.raises(JobError) as error:
        read_job(write_job(tmp_path, job))
    assert place in str(error.value)
    assert said in str(error.value)
