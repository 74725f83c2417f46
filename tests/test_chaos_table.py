"""The table of ``make chaos``: what is counted, what makes a run bad, and what docs/guarantees.md shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import chaos
from support.chaos_counts import RECORD, SCENARIOS, counted, read_counts, table


def test_what_was_tried_is_counted_also_where_it_did_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "counts.jsonl"
    monkeypatch.setenv(RECORD, str(record))
    with counted("Disk full") as tally, tally.attempt():
        pass
    with pytest.raises(ZeroDivisionError), counted("Disk full") as tally, tally.attempt():
        raise ZeroDivisionError
    assert read_counts(record.read_text().splitlines()) == {"Disk full": (2, 1)}


def test_a_run_in_which_something_did_not_hold_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chaos, "GUARANTEES", tmp_path / "guarantees.md")
    (tmp_path / "guarantees.md").write_text(chaos.BEGIN + chaos.END)
    lines = [f'{{"scenario": "{name}", "tried": 3, "held": 3}}\n' for name in SCENARIOS]
    record = tmp_path / "counts.jsonl"
    record.write_text("".join(lines))
    assert chaos.main(["--from", str(record), "--write-docs"]) == 0
    assert "| Disk full | 3 | 3 |" in (tmp_path / "guarantees.md").read_text()
    record.write_text("".join(lines).replace('"held": 3', '"held": 2', 1))
    assert chaos.main(["--from", str(record), "--write-docs"]) == 1
    assert "3 tried, 2 held" in capsys.readouterr().err
    assert "| 2 |" not in (tmp_path / "guarantees.md").read_text()
    record.write_text("".join(lines[1:]))
    assert chaos.main(["--from", str(record)]) == 1
    assert f"{next(iter(SCENARIOS))}: not tried" in capsys.readouterr().err


def test_the_tests_that_chaos_runs_read_what_it_sets() -> None:
    for path, numbers in chaos.RUNS.items():
        text = (chaos.ROOT / path).read_text()
        assert [name for name in numbers if f'"{name}"' not in text] == []


def test_the_page_shows_a_run_in_which_everything_was_tried_and_held() -> None:
    text = chaos.GUARANTEES.read_text()
    shown = text[text.index(chaos.BEGIN) + len(chaos.BEGIN) : text.index(chaos.END)]
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \|", shown, re.MULTILINE)
    counts = {name: (int(tried.replace(",", "")), int(held.replace(",", ""))) for name, tried, held in rows}
    assert chaos.found_wrong(counts, list(SCENARIOS)) == []
    assert shown == table(counts) + "\n"
