"""``windrow verify``: what a job wrote is what its source gives, or the windows that differ are named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from support.asof_jobs import ASOF, write_payments
from support.cli_jobs import write_job
from support.late_jobs import run_steps, write_late_files, write_late_job
from windrow.cli.main import main

HALVES = '[[window]]\nname = "half"\nkind = "tumbling"\nsize = "30m"\n'
LATE = '\n[late]\nformat = "parquet"\npath = "late"\n'


def run(folder: Path, capsys: pytest.CaptureFixture[str], more: str = LATE, events: str = "") -> str:
    write_late_files(folder, files=4)
    file = write_late_job(folder, "results", "maxFilesPerTrigger = 1", events, windows=HALVES)
    file.write_text(file.read_text() + more)
    run_steps(file, capsys, "--engine", "local")
    return str(file)


def verify(file: str, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["verify", file, "--engine", "local", *options])
    said = capsys.readouterr()
    return code, said.out + said.err


def test_what_a_job_wrote_is_verified_but_for_late_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = run(tmp_path, capsys)
    code, said = verify(file, capsys)
    assert (code, said.startswith("verified: ")) == (0, True), said
    assert "windows of 3 keys are as the source gives them" in said
    code, said = verify(file, capsys, "--sample", "1")
    assert (code, "windows of 1 keys" in said) == (0, True), said


def test_corrected_windows_count_with_their_last_revision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = run(tmp_path, capsys, events='allowed_lateness = "60d"')
    assert verify(file, capsys)[0] == 0


def test_windows_that_differ_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = run(tmp_path, capsys)
    (part,) = (tmp_path / "results").glob("part-*.parquet")
    spoiled(part, "n")
    code, said = verify(file, capsys)
    lines = said.splitlines()
    assert code == 1
    assert lines[-1].startswith("2 differ among")
    assert sum("written as" in line and '"n": ' in line for line in lines) == 1
    assert sum("not written, and it must be" in line for line in lines) in (0, 1)


def test_late_rows_that_were_not_kept_show_as_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = verify(run(tmp_path, capsys, more=""), capsys)
    assert (code, "differ among" in said) == (1, True)


def test_results_in_text_are_read_in_the_types_of_the_query(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_late_files(tmp_path, files=1)
    file = write_late_job(tmp_path, "results", "maxFilesPerTrigger = 1", windows=HALVES)
    file.write_text(file.read_text().replace('[sink]\nformat = "parquet"', '[sink]\nformat = "json"'))
    run_steps(file, capsys, "--engine", "local")
    code, said = verify(str(file), capsys)
    assert code == 0, said


def spoiled(part: Path, column: str) -> None:
    """The first result one larger, and the last left out."""
    table = pq.read_table(part)
    more = pc.add(table[column], pa.array([1, *[0] * (table.num_rows - 1)]))
    wrong = table.set_column(table.column_names.index(column), column, more)
    pq.write_table(wrong.slice(0, table.num_rows - 1), part)


@pytest.mark.parametrize("rolling", ['size = "2h"', "rows = 3", 'size = "2h"\nclosed = "both"'])
def test_rolling_results_are_compared_row_by_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rolling: str
) -> None:
    write_late_files(tmp_path, files=3)
    file = write_late_job(tmp_path, "results", "maxFilesPerTrigger = 1", windows=f"[rolling]\n{rolling}\n")
    file.write_text(file.read_text() + LATE)
    run_steps(file, capsys, "--engine", "local")
    code, said = verify(str(file), capsys)
    assert (code, said.startswith("verified: ")) == (0, True), said
    assert "results for rows of 3 keys are as the source gives them" in said
    (part,) = (tmp_path / "results").glob("part-*.parquet")
    spoiled(part, "n")
    code, said = verify(str(file), capsys)
    assert (code, said.count("written as")) == (1, 1), said
    assert "seq=" in said


def test_rows_that_are_equal_have_a_result_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_late_files(tmp_path, files=1)
    (data,) = (tmp_path / "data").glob("*.parquet")
    rows = pq.read_table(data)
    pq.write_table(pa.concat_tables([rows, rows]), data)
    file = write_late_job(tmp_path, "results", "", windows='[rolling]\nsize = "2h"\n')
    run_steps(file, capsys, "--engine", "local")
    assert verify(str(file), capsys)[0] == 0
    (part,) = (tmp_path / "results").glob("part-*.parquet")
    table = pq.read_table(part)
    pq.write_table(table.slice(1), part)
    assert verify(str(file), capsys)[0] == 1


@pytest.mark.parametrize("frame", ['size = ["1d", "7d"]\nlag = "1h"', "rows = 3"])
def test_what_labels_see_is_compared_label_by_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], frame: str
) -> None:
    write_payments(tmp_path)
    file = write_job(tmp_path, ASOF.replace('size = ["1d", "7d"]\nlag = "1h"', frame))
    assert main(["run", str(file), "--engine", "local", "--quiet"]) == 0
    code, said = verify(str(file), capsys)
    assert (code, "verified: 41 results for labels of 3 keys" in said) == (0, True), said
    (part,) = (tmp_path / "results").glob("*.parquet")
    spoiled(part, "n_1d" if "lag" in frame else "n")
    code, said = verify(str(file), capsys)
    assert code == 1, said
    assert "decided_at=" in said


def test_what_cannot_be_verified_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_late_files(tmp_path, files=1)
    file = write_late_job(tmp_path, "results", "", windows=HALVES)
    code, said = verify(str(file), capsys)
    assert (code, "the job has written no results" in said) == (1, True)
    file.write_text(file.read_text() + '[history]\nformat = "parquet"\npath = "data"\n')
    code, said = verify(str(file), capsys)
    assert (code, "verify a copy of the job whose [source] has all rows" in said) == (2, True), said
