"""What the comments of a new job file say works when they are taken in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from windrow.cli.commands.sample import JOB
from windrow.cli.job import read_job
from windrow.cli.main import main

ROLLING = ['size = ["1h", "1d"]', 'size = "1h"\nclosed = "left"', 'size = "1h"\nshift = "-5m"', "rows = 1000"]


@pytest.mark.parametrize("rolling", ROLLING)
def test_the_comment_on_rolling_said_that_sizes_are_for_finite_tables(tmp_path: Path, rolling: str) -> None:
    comment = next(line for line in JOB.splitlines() if line.startswith('# size = "1h"'))
    assert '["1h", "1d"]' in comment
    assert "finite" not in comment
    (tmp_path / "data").mkdir()
    rows = "".join(f"2024-05-01T12:0{k}:00Z,north,c{k},{k}\n" for k in range(5))
    (tmp_path / "data" / "calls.csv").write_text("ts,region,caller,len\n" + rows)
    windows = re.search(r"\[\[window\]\].*?(?=# \[rolling\])", JOB, re.DOTALL)
    assert windows is not None
    text = JOB.replace(windows[0], f"[rolling]\n{rolling}\n").replace('ties = "max_count(len)"\n', "")
    job = tmp_path / "job.toml"
    job.write_text(text)
    assert read_job(job).source.is_stream
    assert main(["run", str(job), "--engine", "local"]) == 0
