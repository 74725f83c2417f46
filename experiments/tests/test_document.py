"""What a run leaves: a document in JSON as docs/papers.md says, and a page that needs nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from windrow.cli.main import main
from windrow_experiments import registry
from windrow_experiments.model import Chart, Experiment, Finding, Result, Series, Settings, Table
from windrow_experiments.page import papers_page
from windrow_experiments.run import SCHEMA, Document, NotADocument, run_experiments

GUIDE = Path(__file__).parents[2] / "docs" / "papers.md"
EVIL = "<script>alert('x')</script>"


def measured(settings: Settings) -> Result:
    settings.progress("half of it")
    points = [(float(2**k), float(np.float64(k + 1))) for k in range(5)]
    return Result(
        tables=[
            Table("Their table", ["Operator", "n"], [["Sum", 32], ["Collect", "never"]], "paper"),
            Table("Our table", ["Operator", "n"], [["Sum", np.int64(28)], [EVIL, None]], note="a note"),
        ],
        charts=[
            Chart("Lines", "window size", "µs", [Series("RA", points), Series("ISS", points)], log_x=True),
            Chart("Decades", "round", "cycles", [Series("DABA", [(0, 0), (3, 1e6), (5, 2.5)])], log_y=True),
        ],
        findings=[
            Finding("It is constant.", True, "8 at all sizes"),
            Finding("It is fast.", False, "it is not", why="the machine is slow"),
            Finding(EVIL, None, "-", why="there is no such machine"),
        ],
        how="with a ruler",
    )


def failing(settings: Settings) -> Result:
    raise RuntimeError("no such store")


EXPERIMENTS = [
    Experiment("daba-good", "DABA", "Table 9", "Goodness", "How good it is.", measured),
    Experiment("ra-bad", "RA", "Figure 9", "Badness", "How bad it is.", failing),
]


def document(*experiments: Experiment) -> Document:
    return run_experiments(experiments, Settings(quick=True), lambda e: None, lambda o: None)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    by_paper = {"daba": EXPERIMENTS[:1], "ra": EXPERIMENTS[1:]}
    monkeypatch.setattr(registry, "_of", lambda paper: tuple(by_paper.get(paper, ())))


def shape(value: Any) -> Any:
    """Keys and types; a list is told by its first element."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return (
        "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
    )


def test_the_schema_is_that_of_the_guide() -> None:
    example = json.loads(re.search(r"```json\n(.*?)```", GUIDE.read_text(), re.S)[1])
    found = json.loads(json.dumps(document(EXPERIMENTS[0]).as_dict()))
    example["machine"] = found["machine"] = {}  # as many entries as there are things to say
    assert shape(found) == shape(example)
    assert found["schema"] == example["schema"] == SCHEMA


def test_json_and_back() -> None:
    first = document(*EXPERIMENTS)
    text = json.dumps(first.as_dict())
    assert Document.from_dict(json.loads(text)).as_dict() == json.loads(text)
    assert [outcome.name for outcome in first.failed] == ["ra-bad"]


@pytest.mark.parametrize(
    ("data", "what"),
    [([], "schema is None"), ({"schema": "x"}, "schema is 'x'"), ({"schema": SCHEMA}, "KeyError")],
)
def test_other_files_are_refused(data: Any, what: str) -> None:
    with pytest.raises(NotADocument, match=what):
        Document.from_dict(data)


def test_a_table_with_a_row_too_long() -> None:
    with pytest.raises(ValueError, match="2 cells under 1 columns"):
        Table("T", ["a"], [[1, 2]])


def test_a_difference_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="say why"):
        Finding("It is fast.", False, "it is not")


def test_the_page_is_whole_and_asks_for_nothing() -> None:
    text = papers_page(document(*EXPERIMENTS))
    assert "<script" not in text
    assert not re.search(r"https?://|@import|url\(", text)
    assert "default-src 'none'" in text
    for told in (
        "1 agrees",
        "1 differs",
        "the machine is slow",
        "no such store",
        "Table 9: Goodness",
        "never",
    ):
        assert told in text
    assert text.count("<polyline") == 3
    assert ".findings td" in text  # the style of this page, after that of all reports
    assert text.index(".findings td") > text.index(":root")
    assert all(text.count(f"<{tag}") == text.count(f"</{tag}>") for tag in ("section", "table", "svg", "div"))


@pytest.mark.usefixtures("known")
def test_bench_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench"]) == 0
    out = capsys.readouterr().out
    assert "daba-good" in out
    assert "[RA] Figure 9" in out


@pytest.mark.usefixtures("known")
def test_bench_runs_writes_and_shows_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, page = tmp_path / "out.json", tmp_path / "out.html"
    assert main(["bench", "daba-good", "--quick", "--json", str(data), "--html", str(page)]) == 0
    out, err = capsys.readouterr()
    assert "differs: It is fast." in out
    assert "[1/1] daba-good" in err
    assert json.loads(data.read_text())["quick"] is True
    first = page.read_text()
    assert main(["bench", "--from", str(data), "--html", str(page), "--quiet"]) == 0
    assert page.read_text() == first
    assert "differs: It is fast." in capsys.readouterr().out


@pytest.mark.usefixtures("known")
def test_bench_goes_on_after_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "out.json"
    assert main(["bench", "ra-bad", "daba", "--json", str(data)]) == 1
    assert "ra-bad: RuntimeError: no such store" in capsys.readouterr().err
    written = json.loads(data.read_text())["experiments"]
    assert [(e["name"], e["result"] is None) for e in written] == [("daba-good", False), ("ra-bad", True)]


@pytest.mark.usefixtures("known")
def test_bench_says_what_is_wrong_before_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, told in (
        (["daba-gold"], "no experiment 'daba-gold': name one of daba-good, ra-bad"),
        (["all", "--html", str(tmp_path / "no" / "out.html")], "there is no folder"),
        (["--html", str(tmp_path / "out.html")], "name the experiments to run"),
        (["all", "--from", "out.json"], "name no experiments with it"),
        (["--from", str(tmp_path / "out.json")], "No such file"),
    ):
        assert main(["bench", *arguments]) == 2
        assert told in capsys.readouterr().err


def test_names_are_unique_and_say_the_paper() -> None:
    names = [experiment.name for experiment in registry.all_experiments()]
    assert len(set(names)) == len(names)
    for experiment in registry.all_experiments():
        assert experiment.name.split("-")[0] == experiment.paper.lower()
        assert experiment.paper.lower() in registry.PAPERS
