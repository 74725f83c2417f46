"""``windrow verify``: what a job wrote is what its source gives, or the windows that differ are named."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from support.asof_jobs import ASOF, write_payments
from support.cli_jobs import GOOD, write_calls, write_job
from support.late_jobs import WINDOWS, run_steps, write_late_files, write_late_job
from windrow.cli.job import read_job
from windrow.cli.main import main
from windrow.cli.verification.local import _micro_batches

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
    assert "windows of 3 keys equal those recomputed from the source" in said
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
    assert sum(": written {" in line and '"n": ' in line for line in lines) == 1
    assert sum("not written; recomputed" in line for line in lines) in (0, 1)


def test_windows_that_lack_late_rows_are_no_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = run(tmp_path, capsys, more="")
    code, said = verify(file, capsys)
    assert code == 0, said
    assert re.search(
        r"equal those recomputed from the source; \d+ of them miss only rows that were late$", said.strip()
    ), said
    (part,) = (tmp_path / "results").glob("part-*.parquet")
    spoiled(part, "n")
    code, said = verify(file, capsys)
    assert (code, said.count(": written {")) == (1, 1), said
    assert re.search(r"differ among .*; \d+ others miss only rows that were late$", said.strip()), said


def test_a_new_job_that_has_run_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "calls" / "job.toml")
    assert main(["new", str(tmp_path / "calls")]) == 0
    assert main(["run", file, "--engine", "local", "--quiet"]) == 0
    assert verify(file, capsys) == (
        0,
        "verified: 621 windows of 4 keys equal those recomputed from the source; 54 of them miss only rows "
        "that were late\n",
    )


CORRECTED = 'allowed_lateness = "2h"'
ROLLING = "[rolling]\nrows = 3\n", '[rolling]\nsize = "2h"\n'


@pytest.mark.parametrize(
    ("windows", "events"),
    [
        (HALVES, ""),
        (HALVES, CORRECTED),
        (WINDOWS, ""),
        (WINDOWS, CORRECTED),
        *((each, "") for each in ROLLING),
    ],
)
def test_results_of_any_kind_may_lack_late_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], windows: str, events: str
) -> None:
    write_late_files(tmp_path, files=4)
    file = write_late_job(tmp_path, "results", "maxFilesPerTrigger = 1", events, windows=windows)
    run_steps(file, capsys, "--engine", "local")
    code, said = verify(str(file), capsys)
    assert (code, "miss only rows that were late" in said) == (0, True), said


def test_rows_in_time_that_a_job_lost_are_differences_beside_late_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The source has a row that the job has never seen, in a window of which others came late."""
    file = run(tmp_path, capsys, more="")
    oldest = min((tmp_path / "data").glob("*.parquet"), key=lambda path: path.stat().st_mtime)
    age, rows = oldest.stat().st_mtime, pq.read_table(oldest)
    valid = rows.filter(pc.is_valid(rows.column("ts")))
    pq.write_table(pa.concat_tables([rows, valid.slice(0, 1)]), oldest)
    os.utime(oldest, (age, age))
    code, said = verify(file, capsys)
    assert (code, said.count(": written {")) == (1, 1), said


def test_without_late_rows_nothing_is_excused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the stream gives counts for keys alone that have late rows before."""
    write_late_files(tmp_path, files=1)
    file = write_late_job(tmp_path, "results", "", windows=HALVES)
    run_steps(file, capsys, "--engine", "local")
    (part,) = (tmp_path / "results").glob("part-*.parquet")
    spoiled(part, "n")
    code, said = verify(str(file), capsys)
    assert (code, "late" in said) == (1, False), said


def test_that_nobody_knows_which_rows_came_late_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = run(tmp_path, capsys, more="")
    log = tmp_path / "checkpoint" / "sources" / "0"
    log.mkdir(parents=True)
    (tmp_path / "checkpoint" / "offsets").mkdir()
    (log / "0").write_text("v1\n{}\n")
    code, said = verify(file, capsys)
    assert (code, "note: which rows came late is not known: " in said) == (1, True), said


@pytest.mark.parametrize("form", ["json", "csv", "csv with a header"])
def test_late_rows_that_spark_wrote_as_text_are_recognised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """Times as text in milliseconds, files by micro-batch, and files without rows."""
    file = run(tmp_path, capsys)
    (part,) = (tmp_path / "late").glob("part-*.parquet")
    rows = pq.read_table(part)
    assert rows.num_rows > 20
    part.unlink()
    rows = rows.select(["ts", "region", "seq", "len", "late_by", "late_reason"])
    lines = [as_spark_writes(row, form) for row in rows.to_pylist()]
    if form == "csv with a header":
        lines.insert(0, ",".join(rows.column_names))
        file_text = LATE.replace("parquet", "csv") + "[late.options]\nheader = true\n"
    else:
        file_text = LATE.replace("parquet", form)
    ending = form.split()[0]
    folder = tmp_path / "late" / "micro_batch=2"
    folder.mkdir()
    (folder / f"part-00000.{ending}").write_text("\n".join([*lines, ""]))
    (folder / f"part-00001.{ending}").write_text("")
    Path(file).write_text(Path(file).read_text().replace(LATE, file_text))
    code, said = verify(file, capsys)
    assert (code, said.startswith("verified: "), "late" in said) == (0, True, False), said


def as_spark_writes(row: dict[str, Any], form: str) -> str:
    moment = row["ts"].isoformat(timespec="microseconds")[:-9] + "Z"
    values = {**row, "ts": moment, "late_by": "INTERVAL '0 07:22:06.381572' DAY TO SECOND"}
    if form == "json":
        return json.dumps({name: value for name, value in values.items() if value is not None})
    return ",".join("" if value is None else str(value) for value in values.values())


@pytest.mark.parametrize("form", ["json", "csv"])
def test_late_rows_in_text_of_the_local_engine_are_recognised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    code, said = verify(run(tmp_path, capsys, more=LATE.replace("parquet", form)), capsys)
    assert (code, said.startswith("verified: "), "late" in said) == (0, True, False), said


def test_results_in_csv_without_a_header_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    text = GOOD.replace('[sink]\nformat = "parquet"', '[sink]\nformat = "csv"')
    file = write_job(tmp_path, text)
    assert main(["run", str(file), "--engine", "local", "--quiet"]) == 0
    assert verify(str(file), capsys)[0] == 0  # the local engine writes one if nothing else is said
    (part,) = (tmp_path / "results").glob("part-*")
    part.write_text(part.read_text().partition("\n")[2])
    code, said = verify(str(file), capsys)
    assert (code, "results in csv need header = true" in said) == (1, True), said


@pytest.mark.parametrize("form", ["json", "csv"])
def test_parts_without_rows_are_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    write_calls(tmp_path)
    (tmp_path / "data" / "calls-9.csv").touch()
    options = "[sink.options]\nheader = true\n" if form == "csv" else ""
    text = GOOD.replace('[sink]\nformat = "parquet"', f'[sink]\nformat = "{form}"') + options
    file = str(write_job(tmp_path, text))
    assert main(["run", file, "--engine", "local", "--quiet"]) == 0, capsys.readouterr().err
    (tmp_path / "results" / f"part-1.{form}").touch()
    assert verify(file, capsys)[0] == 0


def test_the_micro_batches_that_spark_ran_are_those_of_its_checkpoint(tmp_path: Path) -> None:
    write_late_files(tmp_path, files=4)
    job = read_job(write_late_job(tmp_path, "results", "", windows=HALVES))
    files = sorted((tmp_path / "data").glob("*.parquet"))
    assert [len(each) for each in _micro_batches(job)] == [4]
    log, offsets = tmp_path / "checkpoint" / "sources" / "0", tmp_path / "checkpoint" / "offsets"
    log.mkdir(parents=True)
    offsets.mkdir()

    def entry(k: int, batch: int) -> str:
        return json.dumps({"path": files[k].as_uri(), "timestamp": 1, "batchId": batch})

    (log / "0").write_text(f"v1\n{entry(2, 0)}\n{entry(0, 0)}")
    (log / "1").write_text(f"v1\n{entry(1, 1)}")
    (log / "2").write_text(f"v1\n{entry(3, 2)}")  # which was not begun
    for number, reached in enumerate([0, 0, 1]):
        (offsets / str(number)).write_text(f'v1\n{{}}\n{{"logOffset":{reached}}}')
    assert _micro_batches(job) == [[files[2], files[0]], [], [files[1]]]
    (log / "1.compact").write_text((log / "0").read_text() + "\n" + entry(1, 1))
    (log / "0").unlink()
    assert _micro_batches(job) == [[files[2], files[0]], [], [files[1]]]


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
    assert "results for rows of 3 keys equal those recomputed from the source" in said
    (part,) = (tmp_path / "results").glob("part-*.parquet")
    spoiled(part, "n")
    code, said = verify(str(file), capsys)
    assert (code, said.count(": written {")) == (1, 1), said
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
