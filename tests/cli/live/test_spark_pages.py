"""Pages of jobs on Spark, without Spark: its files as they are committed, its log of offsets, other sinks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cli_jobs import GOOD, write_job
from support.live_pages import results
from support.serving import Scripted, fetch, last_looks
from windrow.cli.addresses import Address
from windrow.cli.commands import serve
from windrow.cli.commands import state as state_command
from windrow.cli.job import read_job
from windrow.cli.live.page import RunPage
from windrow.cli.main import main
from windrow.cli.show.progress import Progress, Totals


def test_files_come_to_the_page_with_the_progress_of_their_micro_batch(tmp_path: Path) -> None:
    page = RunPage(read_job(write_job(tmp_path)), "spark", Address("127.0.0.1", 0))
    try:
        folder = tmp_path / "results" / "micro_batch=0"
        assert fetch(f"{page.url}api/state")["results"] == 0
        folder.mkdir(parents=True)
        pq.write_table(results(["north"], 4), folder / "part-0.parquet")
        page.progress(Progress(0, 1.0, rows=9), Totals(rows=9))
        assert fetch(f"{page.url}api/state")["results"] == 4
        (folder / "part-1.parquet").write_bytes(b"this is no parquet")
        page.progress(Progress(1, 2.0, rows=9), Totals(rows=18))
        pages = fetch(f"{page.url}api/state")
        assert pages["numbers"][0]["value"] == "18"  # the run goes on
        assert "cannot be shown" in pages["notes"][-1]
    finally:
        page.close()


def test_results_that_are_not_read_back_are_said_to_be(tmp_path: Path) -> None:
    text = GOOD.replace('format = "parquet"\npath = "results"', 'format = "noop"')
    page = RunPage(read_job(write_job(tmp_path, text)), "spark", Address("127.0.0.1", 0))
    try:
        page.progress(Progress(0, 1.0, rows=9), Totals(rows=9))
        found = fetch(f"{page.url}api/state")
        assert found["has_results"] is False
        assert found["notes"] == ["the results go to noop, from where they are not read back"]
        assert fetch(f"{page.url}api/timeline?window=&column=")["svg"] == ""
    finally:
        page.close()


def test_a_checkpoint_is_slices_and_watermarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = last_looks(monkeypatch, "window=&column=rows")
    offsets = tmp_path / "point" / "offsets"
    offsets.mkdir(parents=True)
    for number in range(11):  # by number, not by name
        settings = json.dumps({"batchWatermarkMs": 1_714_564_800_000 + number * 60_000 if number else 0})
        (offsets / str(number)).write_text(f"v1\n{settings}\n{{}}\n")
    moments = pa.array([1_714_564_800_000_000, 1_714_565_100_000_000]).cast(pa.timestamp("us", "UTC"))
    slices = {"bucket": [0, 1], "part": ["a", "a"], "region": ["north", "south"], "first": moments}
    slices |= {"last": moments, "rows": [3, 4], "came_late": [0, 0]}
    given: list[Any] = []
    monkeypatch.setattr(
        state_command, "read_slices", lambda place, conf: given.append(place) or pa.table(slices)
    )
    monkeypatch.setattr(serve, "Stopping", Scripted)
    assert main(["serve", str(tmp_path / "point"), "--at", ":0"]) == 0
    assert given == [str(tmp_path / "point")]
    assert looked["timeline"]["keys"] == ["north", "south"]
    numbers = {each["name"]: each["value"] for each in looked["state"]["numbers"]}
    assert (numbers["slices"], numbers["watermark"]) == ("2", "2024-05-01 12:10:00")
    assert "rows/s" not in numbers  # which a checkpoint does not know
