"""Jobs with late rows on both engines: the same micro-batches, the same late rows, the same windows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support.late_jobs import WINDOWS, run_steps, write_late_files, write_late_job, written
from windrow.testing import assert_same_results


def check(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, events: str = "", **job: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run a job on both; gives the steps and the results of Spark."""
    steps = run_steps(write_late_job(folder, "on_spark", options, events, **job), capsys)
    own = write_late_job(folder, "locally", options, events, **job)
    # read in pieces, which changes nothing
    assert run_steps(own, capsys, "--engine", "local", "--batch-rows", "50") == steps
    found, every = written(folder / "on_spark"), written(folder / "locally")
    watermark = datetime.fromisoformat(steps[-1]["watermark"])
    due = [row for row in every if _is_due(row, watermark)]
    assert_same_results(found, due)
    # the windows that are still open at the end come out on the local engine alone
    assert len(every) > len(due)
    return steps, found


def _is_due(row: dict[str, Any], watermark: datetime) -> bool:
    if row.get("late") is not None:
        return True
    return row["window_end"] <= watermark if "window_end" in row else row["ts"] < watermark


@pytest.mark.parametrize("lateness", ["", 'allowed_lateness = "6h"'])
@pytest.mark.parametrize("files", [1, 3, None])
def test_a_job_gives_other_numbers_on_the_local_engine_once_rows_are_late(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], files: int | None, lateness: str
) -> None:
    write_late_files(tmp_path)
    steps, found = check(
        tmp_path, capsys, "" if files is None else f"maxFilesPerTrigger = {files}", events=lateness
    )
    assert [step["rows"] for step in steps] == {
        1: [120] * 10 + [0],
        3: [360, 360, 360, 120, 0],
        None: [1200, 0],
    }[files]
    assert sum(step["rejected"] for step in steps) == 30
    late = sum(step["late"] for step in steps)
    assert late == 0 if files is None else late > 20
    assert {row["window"] for row in found} == {"half", "slide", "visit"}
    if lateness and files is not None:
        assert sum(step["corrected"] for step in steps) > 0
        assert any(row["retracted"] for row in found)


def test_late_rows_are_handed_back_alike_the_newest_files_first(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_late_files(tmp_path)
    sizes = [file.stat().st_size for file in (tmp_path / "data").iterdir()]
    options = f"latestFirst = true\nmaxBytesPerTrigger = {2 * max(sizes)}"
    steps, found = check(tmp_path, capsys, options, 'late = "emit"\nmax_ahead = "1h"')
    late = [row["late"] for row in found if row["late"] is not None]
    # older files move no watermark, so that no micro-batch without data comes after them
    assert [step["rows"] for step in steps] == [240] * 5
    assert len(late) == sum(step["late"] for step in steps) > 100


ROLLING = '[rolling]\nsize = "2h"\n'
BY_ROWS = f"""
[[window]]
name = "three"
kind = "rows"
size = 3

[[window]]
name = "last"
kind = "policy"
evict_while = "total.n - old.n >= 3"
{WINDOWS}"""


@pytest.mark.parametrize("windows", [ROLLING, BY_ROWS], ids=["rolling", "rows and policy"])
def test_windows_by_rows_are_alike(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], windows: str
) -> None:
    write_late_files(tmp_path, files=4, mean_hours=2.0)
    steps, _ = check(tmp_path, capsys, "maxFilesPerTrigger = 1", 'late = "emit"', windows=windows)
    assert sum(step["late"] for step in steps) > 0
