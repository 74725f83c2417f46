"""What the guides say is there: every key of job files, every test that holds a promise, every command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from windrow.cli.commands.sample import JOB
from windrow.cli.job.frames import ASOF_KEYS, ROLLING_KEYS
from windrow.cli.job.more_tables import AT_KEYS
from windrow.cli.job.read import EVENTS_KEYS, TABLES
from windrow.cli.job.windows import KINDS
from windrow.cli.main import parser

ROOT = Path(__file__).parents[2]
CLI = "".join(
    (ROOT / "docs" / f"{page}.md").read_text() for page in ("cli", "job-file", "job-windows", "job-sinks")
)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_explained(table: str) -> None:
    assert f"`[{table}]`" in CLI or f"`[[{table}]]`" in CLI
    assert f"[{table}" in JOB


def test_every_key_is_explained() -> None:
    keys = [
        *EVENTS_KEYS,
        *KINDS,
        *ROLLING_KEYS,
        *ASOF_KEYS,
        *AT_KEYS,
        "format",
        "path",
        "stream",
        "options",
        "schema",
        "columns",
        "where",
        "value",
        "mode",
        "checkpoint",
        "trigger",
    ]
    keys += [
        "master",
        "remote",
        "app_name",
        "conf",
        *(key.name for kind in KINDS.values() for key in kind.job_keys),
    ]
    assert [key for key in keys if f"`{key}`" not in CLI] == []


def test_every_command_and_option_is_explained() -> None:
    text = parser().format_help() + CLI
    for command in ("demo", "run", "check", "explain", "verify", "new", "schema", "state", "replay", "bench"):
        assert f"windrow {command}" in CLI
        assert command in text
    for option in (
        "--engine",
        "--monoids",
        "--conf",
        "--report",
        "--json",
        "--quiet",
        "--overwrite",
        "--verbose",
        "--speed",
    ):
        assert option in CLI


def test_every_test_that_holds_a_promise_is_there() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text()
    named = re.findall(r"`((?:[\w-]+/)?[\w*-]+\.(?:py|yaml))(?:::(\w+))?`", text)
    assert len(named) > 30
    for path, test in named:
        files = list((ROOT / "tests").glob(path))
        assert files, f"guarantees.md names {path}, which is not there"
        assert not test or any(f"def {test}(" in file.read_text() for file in files)


@pytest.mark.parametrize(
    "page", sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]), ids=lambda p: p.name
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
