"""Every command in the documentation exists, and its program accepts the options that are shown."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from support.documented_commands import (
    Command,
    Refused,
    accept_make,
    accept_script,
    accept_windrow,
    commands,
    lone_options,
    sections_without_command,
    windrow_options,
)

ROOT = Path(__file__).parents[1]
PAGES = [
    *(page for page in ROOT.glob("*.md") if page.name != "CHANGELOG.md"),  # which names what was, too
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "bench" / "README.md",
    ROOT / "examples" / "README.md",
    ROOT / "experiments" / "README.md",
]
LONE = sorted({command for page in PAGES for command in lone_options(page)})
#: sections whose figures are settings, bounds that are proven, or sizes by definition: nothing measured
DEFINED = {
    ("aggregates.md", "All aggregates"),
    ("aggregate-details.md", "Sketches and their errors"),
    ("aggregate-details.md", "Quantiles"),
    ("asof-serving.md", "On Spark"),
    ("migration.md", "From Spark's `window()`"),
    ("spark-performance.md", "Hot keys"),
    ("state-costs.md", "Sizes"),
    ("streams.md", "Watermarks and out-of-order rows"),
}
#: options of Spark's own commands
SPARKS = {"--archives", "--py-files"}
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


def test_every_ratio_in_the_short_table_has_its_command() -> None:
    text = (ROOT / "docs" / "field.md").read_text()
    rows = re.findall(r"^\| .+ \| .*\d.* \| `(.+)` \|$", text, re.MULTILINE)
    assert len(rows) >= 6
    for command in rows:
        accept(tuple(command.split()))


@pytest.mark.parametrize("command", LONE, ids=lambda c: f"{c.page}: {' '.join(c.words)}")
def test_an_option_beside_its_benchmark_is_accepted(command: Command) -> None:
    accept(command.words)


def test_options_of_windrow_are_known() -> None:
    benchmarks = {(command.page, command.words[1]) for command in LONE}
    known = windrow_options() | SPARKS
    # of benchmarks, whose tables it explains
    own = {"README.md": {"--large", "--quick", "--reference", "--scotty"}}
    assert {"--engine", "--report", "--partitions"} <= known
    for page in PAGES:
        for option in re.findall(r"`(--[a-z-]+)[^`]*`", page.read_text()):
            is_known = option in known | own.get(page.name, set()) or (page.name, option) in benchmarks
            assert is_known, f"{page.name}: {option}"


def test_figures_have_a_command_that_prints_them() -> None:
    """In the same section: what is measured can be measured again."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = {
        (page.name, heading): figures for page in pages for heading, figures in sections_without_command(page)
    }
    assert {where: figures for where, figures in found.items() if where not in DEFINED} == {}
    assert set(found) >= DEFINED, "sections that are excepted and need not be"


def test_a_figure_without_a_command_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\nIt took 3.5 ms.\n\n# B\n`make bench` prints 12 MB.\n\n# C\n`size=3 s`, 4 keys\n")
    assert list(sections_without_command(page)) == [("A", ["3.5 ms"])]


def test_extras_that_are_to_be_installed_are_there() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for page in PAGES:
        for named in re.findall(r"pip install '\.\[([a-z,]+)\]'", page.read_text()):
            assert set(named.split(",")) <= set(known), f"{page.name}: {named}"


def test_the_demo_names_a_command_that_is_accepted() -> None:
    from windrow.cli.demo.on_spark import FULL

    accept(tuple(FULL.split()))
