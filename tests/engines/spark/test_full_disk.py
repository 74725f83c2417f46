"""A disk that is full under a job on Spark: one line that says so, nothing lost once there is room."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.main import main
from windrow.testing import assert_same_results

#: rows of all files, and the room that is left on the disk
_FILES, _ROOM = 3, 40 << 10


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here: that needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leave some room, which the first micro-batches use up."""
    ballast = disk / "ballast"
    ballast.write_bytes(bytes((2 << 20) - _ROOM))
    return ballast


def run(file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]], str]:
    """The exit code, the micro-batches that ended, and what was said last."""
    capsys.readouterr()
    code = main(["run", str(file), "--json"])
    said = capsys.readouterr()
    events = [json.loads(line) for line in said.out.splitlines() if line.startswith("{")]
    return code, [each for each in events if each["event"] == "progress"], said.err.strip()


@pytest.mark.parametrize("place", ["results", "checkpoint"])
def test_nothing_is_lost_to_a_full_disk(
    spark: Any, disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    write_calls(tmp_path, files=_FILES)
    text = GOOD.replace("header = true", "header = true\nmaxFilesPerTrigger = 1")
    file = write_job(tmp_path, text.replace(f'"{place}"', f'"disk/{place}"'))
    ballast = fill(disk)
    code, before, said = run(file, capsys)
    assert code == 1
    assert len(said.splitlines()) == 1, said
    assert "No space left on device: the job writes to" in said
    assert str(disk / place) in said
    assert "make room, then start the job again, which goes on from its checkpoint" in said

    ballast.unlink()
    code, after, said = run(file, capsys)
    assert code == 0, said
    batches = {step["batch"]: step for step in (*before, *after)}
    assert sum(step["rows"] for step in batches.values()) == 60 * _FILES + 1
    own = write_job(tmp_path, text.replace('"results"', '"local"'), "local.toml")
    assert main(["run", str(own), "--engine", "local", "--quiet"]) == 0
    results = Path(str(disk / "results" if place == "results" else tmp_path / "results"))
    found = spark.read.parquet(str(results)).toArrow()
    every = pa.concat_tables(map(pq.read_table, (tmp_path / "local").glob("*.parquet"))).to_pylist()
    watermark = max(found.column("window_end").to_pylist())
    assert_same_results(found, [row for row in every if row["window_end"] <= watermark])
