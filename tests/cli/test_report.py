"""Reports: whole, self-contained, and safe whatever the data says."""

from __future__ import annotations

import datetime as dt
import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from cli_jobs import GOOD, write_calls, write_job
from windrow.cli.job import read_job
from windrow.cli.main import main
from windrow.cli.record import Record, Sample
from windrow.cli.report import write_report
from windrow.cli.report.svg import Chart, Series, draw
from windrow.cli.show import Progress

EVIL = "<script>alert('x')</script>&\"'"
VOID = {"meta"}


class Balanced(HTMLParser):
    """Fails if tags do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def record_of(folder: Path, region: str = "north") -> Record:
    record = Record(read_job(write_job(folder, GOOD)), "spark")
    start = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    for k in range(4):
        mark = start + dt.timedelta(minutes=5 * k)
        record.add(
            Progress(
                k,
                k + 1.0,
                100,
                late=k,
                seconds=0.5,
                state_bytes=2000,
                watermark=mark,
                largest=mark,
                late_pairs={"window_fired": 3 * k},
            )
        )
    ends = [start + dt.timedelta(minutes=5 * k) for k in range(20)]
    record.results.add(
        pa.table({"region": [region] * 20, "window": ["hour"] * 20, "window_end": ends, "longest": range(20)})
    )
    record.notes.append(EVIL)
    record.tables.append(("Cost", EVIL, [["engine", "seconds"], [EVIL, "1.5"]]))
    record.end("done")
    return record


def test_a_report_is_whole_and_asks_for_nothing(tmp_path: Path) -> None:
    write_report(record_of(tmp_path), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    reader = Balanced()
    reader.feed(text)
    assert reader.open == []
    assert {"svg", "polyline", "rect", "table", "style"} <= reader.seen
    assert reader.seen.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert not re.search(r"https?://|@import|url\(", text)
    assert "prefers-color-scheme: dark" in text
    for title in ("Results over time", "Throughput", "State", "Late pairs", "Event time", "The job"):
        assert title in text


def test_data_is_escaped(tmp_path: Path) -> None:
    write_report(record_of(tmp_path, EVIL), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_a_report_that_fails_leaves_the_run_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(record: Record, path: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("windrow.cli.report.write_report", fails)
    write_calls(tmp_path)
    arguments = ["run", str(write_job(tmp_path)), "--engine", "local", "--report", str(tmp_path / "r.html")]
    assert main(arguments) == 0
    assert "the report could not be written: OSError: no space left" in capsys.readouterr().err


@pytest.mark.parametrize(
    "points",
    [[], [(0.0, 0.0)], [(5.0, -3.0)], [(0.0, 1e300), (1.0, -1e300)], [(k, k % 7) for k in range(10_000)]],
    ids=["none", "one", "negative", "huge", "many"],
)
@pytest.mark.parametrize("kind", ["line", "bar", "dots"])
@pytest.mark.parametrize("is_time", [False, True])
def test_charts_of_anything(points: list[tuple[float, float]], kind: str, is_time: bool) -> None:
    drawn = draw(Chart([Series("a", points)], "y", kind=kind, x_is_time=is_time), "t")
    assert (drawn == "") == (not points)
    assert "nan" not in drawn
    assert len(drawn) < 3_000_000


def test_a_sample_is_even_and_bounded() -> None:
    sample = Sample()
    for start in range(0, 1_000_000, 50_000):
        sample.add(pa.table({"k": range(start, start + 50_000)}))
    kept = sample.table().column("k").to_pylist()
    assert sample.seen == 1_000_000
    assert len(kept) == sample.kept <= 100_000
    assert kept == list(range(0, 1_000_000, sample.stride))
