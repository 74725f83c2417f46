"""A new checkpoint beside old results: Spark would take the new stream's micro-batches for written."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.errors import JobError
from windrow.cli.execution.spark.restarts import check_results, has_begun
from windrow.cli.job import read_job
from windrow.cli.main import main


def wrote(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()


def test_results_of_another_stream_are_refused_and_not_mixed_with_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    wrote(tmp_path / "results" / "_spark_metadata", "0", "1", ".1.crc")
    file = str(write_job(tmp_path))
    for command in ("check", "run"):
        assert main([command, file]) == 2
        said = capsys.readouterr()
        assert "[sink] path" in said.err
        assert "name another path, or the checkpoint of that stream" in said.err
        assert "starting Spark" not in said.err


@pytest.mark.parametrize(
    ("written", "begun", "is_refused"),
    [
        ((), (), False),
        (("0",), ("0",), False),
        (("0",), ("0", "1"), False),
        (("9.compact",), ("9", "10"), False),
        (("9.compact", "10"), ("9",), True),
        (("0",), (), True),
    ],
)
def test_results_may_be_as_far_as_the_checkpoint(
    tmp_path: Path, written: tuple[str, ...], begun: tuple[str, ...], is_refused: bool
) -> None:
    wrote(tmp_path / "results" / "_spark_metadata", *written)
    wrote(tmp_path / "checkpoint" / "offsets", *begun)
    job = read_job(write_job(tmp_path))
    if is_refused:
        with pytest.raises(JobError, match="with another checkpoint"):
            check_results(job)
    else:
        check_results(job)


REJECTED = '\n[rejected]\nformat = "parquet"\npath = "bad"\n'


@pytest.mark.parametrize(
    ("more", "folder", "said"),
    [
        (REJECTED, "results/_spark_metadata", r"\[sink\] path .* without \[late\] or \[rejected\]"),
        ("", "results/micro_batch=3", r"\[sink\] path .* with \[late\] or \[rejected\]"),
        (REJECTED, "results/micro_batch=3", r"\[sink\] path .* would write over it"),
        (REJECTED, "bad/micro_batch=0", r"\[rejected\] path .* would write over it"),
    ],
)
def test_folders_of_micro_batches_are_not_mixed_or_written_over(
    tmp_path: Path, more: str, folder: str, said: str
) -> None:
    file = write_job(tmp_path)
    file.write_text(file.read_text() + more)
    wrote(tmp_path / folder)
    with pytest.raises(JobError, match=said):
        check_results(read_job(file))


def test_folders_of_micro_batches_may_be_as_far_as_the_checkpoint(tmp_path: Path) -> None:
    file = write_job(tmp_path)
    file.write_text(file.read_text() + REJECTED)
    wrote(tmp_path / "results" / "micro_batch=3")
    wrote(tmp_path / "checkpoint" / "offsets", "3")
    check_results(read_job(file))


def test_other_sinks_and_other_machines_are_not_looked_at(tmp_path: Path) -> None:
    wrote(tmp_path / "results" / "_spark_metadata", "0")
    for old, new in (
        ('"parquet"', '"console"'),
        ('"results"', '"s3://b/results"'),
        ('"checkpoint"', '"s3://b/c"'),
    ):
        check_results(read_job(write_job(tmp_path, GOOD.replace(old, new))))
    assert has_begun("s3://b/c")
    assert not has_begun(str(tmp_path))
