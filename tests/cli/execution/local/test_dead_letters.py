"""``[late]`` and ``[rejected]`` on the local engine: where rows go that no result holds; what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.late_jobs import run_steps, write_late_files, write_late_job
from windrow.cli.main import main

OWN = """
import windrow as wr

inverse = wr.monoid(name="inverse", lift=lambda v: 60 // (v % 7), combine=lambda a, b: a + b, identity=0)
"""
AGG = 'n = "count()"\nparts = "inverse(len)"'
SINKS = '\n[late]\nformat = "parquet"\npath = "late"\n\n[rejected]\nformat = "json"\npath = "rejected"\n'


def write_job(folder: Path, more: str = SINKS, events: str = "", **job: str) -> tuple[Path, str]:
    own = folder / "own.py"
    own.write_text(OWN)
    file = write_late_job(folder, "results", "maxFilesPerTrigger = 1", events, agg=AGG, **job)
    file.write_text(file.read_text() + more)
    return file, str(own)


def test_rows_go_to_their_sinks_and_counts_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_late_files(tmp_path, files=4)
    file, own = write_job(tmp_path)
    steps = run_steps(file, capsys, "--engine", "local", "--monoids", own)
    (late,) = (tmp_path / "late").glob("part-*.parquet")
    (rejected,) = (tmp_path / "rejected").glob("part-*.json")
    lines = rejected.read_text().splitlines()
    assert pq.read_table(late).num_rows == sum(step["late"] for step in steps) > 0
    assert len(lines) == sum(step["rejected"] for step in steps)
    assert sum('"rejected_by": "parts"' in line for line in lines) > 20
    assert sum('"rejected_reason": "no_time"' in line for line in lines) == 12
    results = pa.concat_tables([pq.read_table(part) for part in (tmp_path / "results").glob("part-*")])
    assert not {"late", "rejected"} & set(results.column_names)


def test_rejected_rows_of_a_table_go_to_their_sink(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_late_files(tmp_path, files=2)
    file, own = write_job(tmp_path, '\n[rejected]\nformat = "parquet"\npath = "bad.parquet"\n')
    text = file.read_text().replace("stream = true", "").replace('checkpoint = "checkpoint"\n', "")
    text = text.replace('trigger = "available_now"\n', "").replace("maxFilesPerTrigger = 1", "")
    file.write_text(text)
    steps = run_steps(file, capsys, "--engine", "local", "--monoids", own)
    assert pq.read_table(tmp_path / "bad.parquet").num_rows == steps[0]["rejected"] > 6


def test_a_full_disk_for_late_rows_is_said_and_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_late_files(tmp_path, files=4)
    file, own = write_job(tmp_path, '\n[late]\nformat = "json"\npath = "late.json"\n', 'on_error = "reject"')
    (tmp_path / ".late.json.unfinished").symlink_to("/dev/full")
    assert main(["run", str(file), "--engine", "local", "--monoids", own]) == 1
    said = capsys.readouterr().err
    assert "late.json: the results cannot be written: No space left on device: make room there" in said
    assert "in [late]" in said
    assert not list((tmp_path / "results").glob("*"))
    assert not (tmp_path / "late.json").exists()


@pytest.mark.parametrize(
    ("more", "events", "said"),
    [
        (SINKS, 'late = "count"', "[events] late: [late] is for rows that are handed back: write 'return'"),
        (SINKS, 'on_error = "raise"', "[events] on_error: [rejected] is for rows that are handed back"),
        (SINKS.replace('"late"\n', '"results"\n'), "", "[late] path: results go there already"),
        ('\n[late]\nformat = "json"\n', "", "[late] path: this key is missing: say where the json files go"),
        (
            '\n[late]\nformat = "parquet"\npath = "x"\nmode = "append"\n',
            "",
            "[late] mode: this key is not known",
        ),
    ],
)
def test_sinks_that_cannot_be_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str, events: str, said: str
) -> None:
    write_late_files(tmp_path, files=1)
    file, own = write_job(tmp_path, more, events)
    assert main(["run", str(file), "--engine", "local", "--monoids", own]) == 2
    assert said in capsys.readouterr().err


def test_late_rows_of_a_table_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_late_files(tmp_path, files=1)
    file, own = write_job(tmp_path)
    file.write_text(file.read_text().replace("stream = true", "stream = false"))
    assert main(["run", str(file), "--engine", "local", "--monoids", own]) == 2
    assert "only rows of a stream are late" in capsys.readouterr().err
