"""Every example runs, on little data, and finds what was put into it."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it
    spec.loader.exec_module(module)
    return module


def test_sensors() -> None:
    result = example("sensors").main(2_000)
    counts = result.column("window").value_counts().to_pylist()
    assert {entry["values"]: entry["counts"] for entry in counts} == {
        "second": 200,
        "ten_seconds": 20,
        "minute": 4,
        "ten_minutes": 1,
        "hour": 1,
        "day": 1,
    }


def test_web_sessions() -> None:
    counted = example("web_sessions").main(3_000)
    assert counted["given"] - counted["taken back"] >= counted["visits"]
    assert counted["taken back"] > 0


def test_trading() -> None:
    by_clock, by_volume = example("trading").main(1_000)
    assert by_volume.num_rows == 1_000
    assert min(by_clock.column("vwap").to_pylist()) > 90
    assert all(row["traded"] < 12_000 for row in by_volume.to_pylist())


def test_fraud() -> None:
    result = example("fraud").main(3_000)
    assert result.num_rows == 3_000
    assert max(result.column("countries").to_pylist()) >= 3
    assert {row["card"] % 17 for row in result.to_pylist() if row["countries"] >= 3} == {0}


def calls_and_results(folder: Path, count: int) -> pa.Table:
    """The results of the job on the local engine."""
    from windrow.cli.main import main

    example("phone_calls/generate").write_calls(folder / "calls", count)
    job = folder / "job.toml"
    job.write_text((EXAMPLES / "phone_calls" / "job.toml").read_text())
    assert main(["run", str(job), "--engine", "local", "--batch-rows", "250", "--quiet"]) == 0
    return pq.read_table(folder / "results")


def test_phone_calls_are_the_same_every_time() -> None:
    generate = example("phone_calls/generate")
    assert generate.calls(500).equals(example("phone_calls/generate").calls(500))


def test_phone_calls_are_of_several_days() -> None:
    generate = example("phone_calls/generate")
    table = generate.calls(20_000)
    counts = Counter(moment.day for moment in table.column("ts").to_pylist())
    assert sorted(counts) == [1, 2, 3, 4, 5]
    assert counts[5] < counts[4] < counts[1] < counts[3]  # Sunday, Saturday, Wednesday, Friday
    assert set(np.floor(np.asarray(table.column("logged")) / 3_600)) >= set(range(2, 118))  # a file each


def test_windows_of_the_demo_move_and_calls_leave_them(tmp_path: Path) -> None:
    moves = example("phone_calls/moves")
    day = moves.day_windows(calls_and_results(tmp_path, 5_000))
    fall = moves.largest_fall(day)
    assert fall is not None
    assert fall.then < fall.longest
    assert "24 hours old" in str(fall)
    left = [row for row in day.to_pylist() if row["region"] == fall.region and row["window_end"] >= fall.at]
    assert all(row["window_start"] == row["window_end"] - timedelta(hours=24) for row in left)
    noons = moves.noons(day, fall.region)
    assert noons.num_rows >= 5
    calls = noons.column("calls").to_pylist()
    assert calls[0] < calls[2] > calls[4]  # Friday's is the busiest day, Sunday's the least


def test_the_summary_of_the_demo_keeps_times_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from windrow.cli.job import read_job
    from windrow.cli.record import Record
    from windrow.cli.show import Progress
    from windrow.cli.show.comparison import Comparison

    demo = example("demo")
    (tmp_path / "job.toml").write_text((EXAMPLES / "phone_calls" / "job.toml").read_text())
    record = Record(read_job(tmp_path / "job.toml"), "spark")
    record.add(Progress(0, 20.0, 100_000, seconds=20.0))
    record.add(Progress(1, 21.0, 50_000, late=7, seconds=1.0))
    record.results.add(pa.table({"window": ["day", "day", "spell"]}))
    record.seconds, record.startup = 21.0, 11.0
    demo.show_summary(record, 33.0)
    said = " ".join(capsys.readouterr().out.split())
    assert "150,000 calls in 2 micro-batches, 21.0 s; the first took 20.0 s" in said
    assert "not in that time: 11.0 s in which Spark started, 33.0 s of comparison" in said
    assert "2 windows of 24 hours" in said
    demo.show_comparison(Comparison("Cost", "Why.", ["Spark's", "ours"], [("10", [6.0, 0.5])]))
    assert "took 12 times as long" in capsys.readouterr().out
