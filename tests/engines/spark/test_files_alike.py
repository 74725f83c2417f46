"""A job writes the same lines of JSON on both engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.file_jobs import rows_in, write_files
from windrow.cli.main import main


def test_a_job_of_json_files_looks_alike_on_both_engines(spark: Any, tmp_path: Path) -> None:
    found = {}
    for engine in ("local", "spark"):
        assert main(["run", str(write_files(tmp_path / engine, "json")), "--engine", engine]) == 0
        folders = [tmp_path / engine / name for name in ("out", "late")]
        found[engine] = [sorted(map(str, rows_in(folder))) for folder in folders]
    # at its end, the local engine gives what Spark keeps for the next run
    assert set(found["spark"][0]) < set(found["local"][0])
    assert found["spark"][1] == found["local"][1]
    assert len(found["local"][1]) == 2
