"""The files of a stream as micro-batches: order, limits, and that reading them in pieces changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.cli_jobs import GOOD, write_job
from support.late_jobs import run_steps, write_late_files, write_late_job, written
from windrow.cli.errors import JobError
from windrow.cli.execution.local.files import ignored_options, list_files
from windrow.cli.execution.local.micro_batches import micro_batches
from windrow.cli.job import Source, read_job
from windrow.cli.main import main
from windrow.testing import assert_same_results


def source_with(folder: Path, options: str) -> Source:
    """Files a to e, of 10 to 50 bytes: c is the oldest, b and d are changed in the same millisecond, a is the
    newest."""
    data = folder / "data"
    data.mkdir()
    ages = {"a": 9_000_000, "b": 5_000_999, "c": 1_000_000, "d": 5_000_001, "e": 7_000_000}
    for place, (name, microseconds) in enumerate(ages.items(), 1):
        (data / f"{name}.csv").write_bytes(b"x" * 10 * place)
        os.utime(data / f"{name}.csv", ns=(microseconds * 1000,) * 2)
    return read_job(write_job(folder, GOOD.replace("header = true", f"header = true\n{options}"))).source


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "cbdea"),
        ("maxFilesPerTrigger = 1", "c b d e a"),
        ("maxFilesPerTrigger = 3", "cbd ea"),
        ("MAXFILESPERTRIGGER = '2'\nlatestFirst = true", "ae bd c"),
        ("latestfirst = 'True'", "aebdc"),
        ("maxBytesPerTrigger = 50", "cb d e a"),  # c and b are 30 and 20 bytes, d 40, e 50, a 10
        ("maxBytesPerTrigger = 1", "c b d e a"),
        ("maxBytesPerTrigger = 100\nlatestFirst = true", "aeb dc"),
    ],
)
def test_micro_batches_are_those_of_sparks_file_source(tmp_path: Path, options: str, expected: str) -> None:
    source = source_with(tmp_path, options)
    found = micro_batches(source, list_files(source))
    assert " ".join("".join(file.stem for file in files) for files in found) == expected
    assert ignored_options(source) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("maxFilesPerTrigger = 0", "maxFilesPerTrigger: '0' is not a whole number of at least 1"),
        ("maxBytesPerTrigger = 'many'", "maxBytesPerTrigger: 'many' is not a whole number"),
        ("maxFilesPerTrigger = 1\nmaxBytesPerTrigger = 1", "give one of them"),
        ("latestFirst = 'maybe'", "latestFirst: 'maybe' is neither true nor false"),
    ],
)
def test_limits_that_spark_refuses_are_refused(tmp_path: Path, options: str, said: str) -> None:
    source = source_with(tmp_path, options)
    with pytest.raises(JobError, match=said):
        micro_batches(source, list_files(source))
    assert main(["run", str(tmp_path / "calls.toml"), "--engine", "local", "--quiet"]) == 2


@pytest.mark.parametrize("events", ["", 'allowed_lateness = "6h"\nlate = "emit"'])
def test_how_many_rows_are_read_at_a_time_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], events: str
) -> None:
    write_late_files(tmp_path, files=6)
    runs = {}
    for rows in (7, 120, 65_536):
        job = write_late_job(tmp_path, f"by_{rows}", "maxFilesPerTrigger = 2", events)
        steps = run_steps(job, capsys, "--engine", "local", "--batch-rows", str(rows))
        runs[rows] = steps, written(tmp_path / f"by_{rows}")
    assert runs[7][0] == runs[120][0] == runs[65_536][0]
    assert_same_results(runs[7][1], runs[65_536][1])
    assert_same_results(runs[120][1], runs[65_536][1])
    assert [step["rows"] for step in runs[7][0]] == [240, 240, 240, 0]
    assert sum(step["late"] for step in runs[7][0]) > 20
