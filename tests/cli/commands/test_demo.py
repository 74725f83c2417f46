"""``windrow demo``: its calls, what it shows of their windows, and its files."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.cli.commands import demo
from windrow.cli.demo.calls import calls, write_calls
from windrow.cli.demo.day_windows import day_windows, largest_fall, noons
from windrow.cli.job import read_job
from windrow.cli.main import main
from windrow.cli.record import Record
from windrow.cli.show import Progress
from windrow.cli.show.comparison import Comparison


def test_the_demo_ends_with_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    for _ in range(2):  # the second replaces what the first made
        assert main(["demo", "--calls", "3000", "--folder", str(folder)]) == 0
        said = capsys.readouterr().out
        assert "Windows move. At 2024-05-" in said
        assert "3,000 calls in " in said
        assert f"The picture, for a browser: {folder / 'report.html'}" in said
    report = (folder / "report.html").read_text()
    assert "phone_calls" in report
    assert "<svg" in report
    assert sum(pq.read_table(folder / "calls")["len"].to_pylist()) == sum(calls(3_000)["len"].to_pylist())


def test_a_folder_that_the_demo_did_not_make_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["demo", "--folder", str(tmp_path)]) == 2
    assert "this was not made by windrow demo: name another with --folder" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "mine"


def calls_and_results(folder: Path, count: int) -> pa.Table:
    """The results of the job on the local engine."""
    write_calls(folder / "calls", count)
    job = folder / "job.toml"
    job.write_text(demo.JOB.read_text())
    assert main(["run", str(job), "--engine", "local", "--batch-rows", "250", "--quiet"]) == 0
    return pq.read_table(folder / "results")


def test_phone_calls_are_the_same_every_time() -> None:
    assert calls(500).equals(calls(500))


def test_phone_calls_are_of_several_days() -> None:
    table = calls(20_000)
    counts = Counter(moment.day for moment in table.column("ts").to_pylist())
    assert sorted(counts) == [1, 2, 3, 4, 5]
    assert counts[5] < counts[4] < counts[1] < counts[3]  # Sunday, Saturday, Wednesday, Friday
    assert set(np.floor(np.asarray(table.column("logged")) / 3_600)) >= set(range(2, 118))  # a file each


def test_windows_of_the_demo_move_and_calls_leave_them(tmp_path: Path) -> None:
    day = day_windows(calls_and_results(tmp_path, 5_000))
    fall = largest_fall(day)
    assert fall is not None
    assert fall.then < fall.longest
    assert "24 hours old" in str(fall)
    left = [row for row in day.to_pylist() if row["region"] == fall.region and row["window_end"] >= fall.at]
    assert all(row["window_start"] == row["window_end"] - timedelta(hours=24) for row in left)
    found = noons(day, fall.region)
    assert found.num_rows >= 5
    counts = found.column("calls").to_pylist()
    assert counts[0] < counts[2] > counts[4]  # Friday's is the busiest day, Sunday's the least


def test_the_summary_of_the_demo_keeps_times_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.toml").write_text(demo.JOB.read_text())
    record = Record(read_job(tmp_path / "job.toml"), "spark")
    record.add(Progress(0, 20.0, 100_000, seconds=20.0))
    record.add(Progress(1, 21.0, 50_000, late=7, seconds=1.0))
    record.results.add(pa.table({"window": ["day", "day", "spell"]}))
    record.seconds, record.startup = 21.0, 11.0
    demo.show_summary(record, 33.0)
    said = " ".join(capsys.readouterr().out.split())
    assert "150,000 calls in 2 micro-batches, 21.0 s; the first took 20.0 s, the last 1.0 s" in said
    assert "not in that time: 11.0 s in which Spark started, 33.0 s of comparison" in said
    assert "2 windows of 24 hours" in said
    demo.show_comparison(Comparison("Cost", "Why.", ["Spark's", "ours"], [("10", [6.0, 0.5])]))
    assert "took 12 times as long" in capsys.readouterr().out
