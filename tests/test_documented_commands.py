"""Every command in the documentation exists, and its program accepts the options that are shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.documented_commands import (
    Command,
    Refused,
    accept_make,
    accept_script,
    accept_windrow,
    commands,
)

ROOT = Path(__file__).parents[1]
PAGES = [
    *(page for page in ROOT.glob("*.md") if page.name != "CHANGELOG.md"),  # which names what was, too
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "bench" / "README.md",
    ROOT / "experiments" / "README.md",
]
COMMANDS = sorted({command for page in PAGES for command in commands(page)})


def accept(words: tuple[str, ...]) -> None:
    {"make": accept_make, "windrow": accept_windrow}.get(words[0], accept_script)(words)


def test_commands_are_found() -> None:
    first = {command.words[0] for command in COMMANDS}
    assert {"make", "windrow", "bench/local.py", "bench/nexmark.py", "bench/spark_stream.py"} <= first
    assert len(COMMANDS) > 60


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: f"{c.page}: {' '.join(c.words)}")
def test_a_documented_command_is_accepted(command: Command) -> None:
    accept(command.words)


@pytest.mark.parametrize(
    "words",
    [
        ("make", "nothing"),
        ("make", "bench", "OTHER_ARGS=--quick"),
        ("make", "bench", "BENCH_ARGS=--only nothing"),
        ("windrow", "walk"),
        ("windrow", "run", "job.toml", "--fast"),
        ("bench/nothing.py",),
        ("bench/local.py", "--only", "nothing"),
        ("bench/spark_batch.py", "--only", "rolling,nothing"),
        ("bench/rollfun.py", "--fast"),
    ],
    ids=" ".join,
)
def test_what_is_not_there_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(Refused):
        accept(words)


def test_every_ratio_in_the_table_of_readme_has_its_command() -> None:
    text = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| .+ \| .*\d.* \| `(.+)` \|$", text, re.MULTILINE)
    assert len(rows) >= 6
    for command in rows:
        accept(tuple(command.split()))
