"""``windrow verify`` of jobs that Spark ran: late rows, whenever files came, and whatever keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.late_jobs import write_late_files, write_late_job
from windrow.cli.main import main

HALVES = '[[window]]\nname = "half"\nkind = "tumbling"\nsize = "30m"\n'


def verified(file: Path | str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    code = main(["verify", str(file), *options])
    said = capsys.readouterr()
    assert code == 0, said.out + said.err
    return said.out


def test_a_new_job_that_spark_ran_is_verified(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "calls" / "job.toml")
    assert main(["new", str(tmp_path / "calls")]) == 0
    assert main(["run", file, "--quiet"]) == 0
    assert verified(file, capsys) == (
        "verified: 549 windows of 4 keys equal those recomputed from the source; 54 of them miss only rows "
        "that were late; 72 are still open\n"
    )


@pytest.mark.parametrize("form", ["json", "csv"])
def test_late_rows_in_text_are_recognised(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    write_late_files(tmp_path, files=4)
    file = write_late_job(tmp_path, "results", "maxFilesPerTrigger = 1", windows=HALVES)
    file.write_text(file.read_text() + f'\n[late]\nformat = "{form}"\npath = "late"\n')
    assert main(["run", str(file), "--quiet"]) == 0
    assert any((tmp_path / "late").rglob(f"part-*.{form}"))
    for options in ((), ("--engine", "local")):
        assert "came late" not in verified(file, capsys, *options)


def test_rows_are_late_by_the_micro_batches_that_ran(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that come between two runs, which all together would be one micro-batch."""
    write_late_files(tmp_path, files=4)
    file = write_late_job(tmp_path, "results", "", windows=HALVES)
    files = sorted((tmp_path / "data").iterdir(), key=lambda path: path.stat().st_mtime)
    for path in files[2:]:
        path.rename(tmp_path / path.name)
    for come in ([], files[2:]):
        for path in come:
            (tmp_path / path.name).rename(path)
        assert main(["run", str(file), "--quiet"]) == 0
    assert "miss only rows that were late" in verified(file, capsys)
