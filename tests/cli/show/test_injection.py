"""Names of columns, keys and values that would be markup, SQL or commands to a terminal: in the terminal, in
reports, in results and in metrics they are what they are, text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from support.scraping import scrapes
from support.strange_names import HOSTILE_JOB, HOSTILE_KEY_COLUMN, HOSTILE_RESULT, write_hostile_rows
from windrow.cli.main import main

#: what is not text to a terminal
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x9b\u202e]")


class Tags(HTMLParser):
    """All tags of a page, and the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.fixture
def job(tmp_path: Path) -> Path:
    write_hostile_rows(tmp_path)
    file = tmp_path / "calls.toml"
    file.write_text(HOSTILE_JOB, encoding="utf-8")
    return file


def test_a_report_has_no_markup_of_the_data(job: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    arguments = ["run", str(job), "--engine", "local", "--quiet", "--report", str(report)]
    assert main(arguments) == 0
    text = report.read_text(encoding="utf-8")
    found = Tags()
    found.feed(text)
    assert not found.tags & {"script", "img", "iframe"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert "\x1b" not in text
    assert "&lt;script&gt;" in text


def test_results_carry_names_and_keys_as_they_are(job: Path, tmp_path: Path) -> None:
    assert main(["run", str(job), "--engine", "local", "--quiet"]) == 0
    table = pq.read_table(tmp_path / "results")
    assert table.column_names[0] == HOSTILE_KEY_COLUMN
    assert HOSTILE_RESULT in table.column_names
    rows = pq.read_table(tmp_path / "rows.parquet")
    assert max(table["most"].to_pylist()) == rows.num_rows - 1
    assert set(table.column(0).to_pylist()) == set(rows.column(HOSTILE_KEY_COLUMN).to_pylist())


@pytest.mark.parametrize("command", ["run", "explain", "check"])
def test_a_terminal_is_told_nothing_that_it_would_obey(
    command: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = job.read_text(encoding="utf-8").replace(
        'format = "parquet"\npath = "results"', 'format = "console"'
    )
    job.write_text(text, encoding="utf-8")
    engine = [] if command == "explain" else ["--engine", "local"]
    assert main([command, str(job), *engine]) == 0
    said = "".join(capsys.readouterr())
    assert said
    assert not OBEYED.search(said)


def test_windows_that_differ_are_named_without_being_obeyed(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(job), "--engine", "local", "--quiet"]) == 0
    (part,) = (tmp_path / "results").glob("*.parquet")
    table = pq.read_table(part)
    pq.write_table(table.set_column(table.column_names.index("n"), "n", pc.add(table["n"], 1)), part)
    capsys.readouterr()
    assert main(["verify", str(job), "--engine", "local"]) == 1
    said = "".join(capsys.readouterr())
    assert f"{table.num_rows} differ among" in said
    assert "DROP TABLE calls" in said
    assert not OBEYED.search(said)


def test_a_value_that_cannot_be_read_is_named_without_being_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("ts,k,v\n2024-05-01T12:00:00Z,a,\x1b]0;owned\x07<script>\n")
    text = HOSTILE_JOB.split("[events]")[0].replace('"parquet"', '"csv"').replace("rows.parquet", "rows.csv")
    text += '[source.options]\nheader = true\n[source.schema]\nts = "timestamp"\nk = "string"\nv = "long"\n'
    text += '[events]\ntime = "ts"\nby = ["k"]\n[[window]]\nkind = "tumbling"\nsize = "1h"\n'
    text += '[agg]\nn = "sum(v)"\n[sink]\nformat = "console"\n'
    file = tmp_path / "calls.toml"
    file.write_text(text)
    assert main(["run", str(file), "--engine", "local"]) == 1
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\x07" not in said


def test_metrics_name_the_job_alone(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = job.with_name('a" 1 {x="\n<b>.toml')
    job.rename(hostile)
    found = scrapes(monkeypatch)
    assert main(["run", str(hostile), "--engine", "local", "--quiet", "--metrics", ":0"]) == 0
    assert (
        found["windrow_rows_total", 'a" 1 {x="\n<b>', "aggregated"]
        == pq.read_table(job.with_name("rows.parquet")).num_rows
    )
