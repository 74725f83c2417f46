"""Reports: whole, self-contained, and safe whatever the data says."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.charts.figures import comparison_figure
from windrow.cli.charts.svg import Chart, Series, draw
from windrow.cli.job import read_job
from windrow.cli.main import main
from windrow.cli.record import Record, Sample
from windrow.cli.report import write_report
from windrow.cli.report.page import page
from windrow.cli.show import Progress
from windrow.cli.show.comparison import Comparison

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
                state_bytes=2000 + k,
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
    record.comparisons.append(Comparison("Cost", EVIL, [EVIL, "ours"], [(EVIL, [3.0, 1.5])]))
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


def test_a_series_that_never_changes_is_a_sentence(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    record.steps = [replace(step, state_bytes=2000) for step in record.steps]
    table = record.results.table()
    record.results = Sample()
    record.results.add(table.set_column(3, "longest", pa.array([7] * 20)))
    text = page(record)
    assert "<li>longest, window hour: always 7.</li>" in text
    assert "<li>State: always 2 kB.</li>" in text
    assert "<h3>longest" not in text
    assert "<h3>State" not in text
    assert "<h3>Event time" in text


def test_state_has_a_baseline_a_bound_and_says_what_is_counted(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    start = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    record.steps = [
        Progress(
            k, k + 1.0, 100, state_bytes=min(k, 3) * 100_000, watermark=start + dt.timedelta(minutes=20 * k)
        )
        for k in range(8)
    ]
    (figure,) = [part for part in page(record).split("<figure>") if part.startswith("<h3>State")]
    assert ">0</text>" in figure
    assert "largest: 300.0 kB" in figure
    assert "from here on the longest window is full" in figure
    assert "RocksDB" in figure
    level, full = re.findall(r'<line x1="(\S+)" x2="(\S+)" y1="(\S+)" y2="(\S+)" class="dash"/>', figure)
    points = [p.split(",") for p in re.findall(r'<polyline points="([^"]+)"', figure)[0].split()]
    assert level[2] == level[3] == points[-1][1]  # the plateau
    assert full[0] == full[1] == points[3][0]  # an hour, the longest window, after the first watermark


def test_a_report_says_what_took_how_long(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    record.seconds, record.startup = 41.0, 12.0
    assert "took 41.0 s, after 12.0 s in which Spark started" in page(record)


def test_a_comparison_is_bars_on_one_scale(tmp_path: Path) -> None:
    seconds = [("1,000 calls", [5.0, 0.5]), ("4,000 calls", [20.0, 1.0])]
    drawn = comparison_figure(Comparison("Cost", "", ["theirs", "ours"], seconds))
    widths = [float(width) for width in re.findall(r'<rect x="0" y="\d+" width="([\d.]+)"', drawn)]
    assert [width / widths[2] for width in widths] == pytest.approx([0.25, 0.025, 1.0, 0.05], abs=0.01)
    assert all(label in drawn for label in ("1,000 calls", "5.0 s", "500 ms", "20.0 s", "theirs", "ours"))


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


def test_a_report_has_p50_and_p99_and_what_changed_most(tmp_path: Path) -> None:
    record = Record(read_job(write_job(tmp_path, GOOD)), "local")
    for k in range(100):
        record.add(Progress(k, float(k), 10, seconds=0.001 * (k + 1)))
    start = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    keys = [f"key {k:02}" for k in range(14)]
    for moment in range(2):
        record.results.add(
            pa.table(
                {
                    "region": keys,
                    "window": ["hour"] * len(keys),
                    "window_end": [start + dt.timedelta(hours=moment)] * len(keys),
                    "longest": [1 + moment * k * (-1) ** k for k in range(len(keys))],
                }
            )
        )
    record.end("done")
    text = page(record)
    assert "<b>50 ms / 99 ms</b>" in text
    table = text[text.index("What changed most") : text.index("The last results")]
    listed = re.findall(r"<td>(key \d\d)</td>", table)
    assert listed == [f"key {k:02}" for k in range(13, 3, -1)]  # ten: those that changed most
    assert "13 keys changed" in table  # key 00 did not
    assert "<td class=n>-13</td>" in table
