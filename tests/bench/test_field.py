"""``make field``: its parts run as commands, and end in a page, JSON, and tables in README and docs."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLACE = "<!-- written by `make field` -->\n\nold\n\n<!-- end of what `make field` wrote -->"


@pytest.fixture(scope="module")
def field() -> Iterator[Any]:
    """The modules that the commands share."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        from sections import alternating, field_command, field_lines, field_page, field_tables

        yield SimpleNamespace(
            Part=alternating.Part,
            ask=field_command.ask,
            LINES=field_lines.LINES,
            page=field_page.field_page,
            tables=field_tables,
        )
    finally:
        sys.path.remove(str(ROOT / "bench"))


def _given(**options: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"only": None, "json": None, "budget": None} | options)


def _part(field: Any, name: str = "rollfun", **seconds: list[float]) -> dict[str, Any]:
    """As it is read from JSON: the question "mean" against Polars and DuckDB."""
    found = field.Part(name, f"The part {name}", command=f"bench/{name}.py --quick")
    times = {"windrow": [1.0, 1.0, 1.0], "Polars": [0.5, 0.7, 0.6], "DuckDB": [3.0, 9.0, 4.0]} | seconds
    found.add("mean", 1_000, times, {"windrow": ("Polars", "DuckDB")})
    return vars(found) | {"figures": [figure.as_dict() for figure in found.figures]}


def test_figures_are_medians_of_turns_with_their_range(field: Any) -> None:
    text = field.tables.all_tables([_part(field)])
    assert "| mean | windrow | 0.60 (0.50 to 0.70) | 4.0 (3.0 to 9.0) |" in text
    assert "`python bench/rollfun.py --quick`" in text


def test_a_loss_is_shown_like_a_win(field: Any) -> None:
    text = field.tables.all_tables([_part(field)])
    assert "Of 2 comparisons windrow is ahead in every turn of 1, and behind in every turn of 1." in text
    assert "- mean: Polars 0.60" in text
    page = field.page([_part(field)], {"scotty": "exit code 1"})
    assert 'class="behind"' in page
    assert 'class="ahead"' in page
    assert "scotty failed: exit code 1" in page


def test_the_short_table_shows_chosen_figures_with_their_command(field: Any) -> None:
    text = field.tables.all_tables([_part(field)]).partition("### The part")[0]
    times = "0.60 (0.50 to 0.70) / - / 4.0 (3.0 to 9.0)"
    assert (
        f"| rolling mean over 1,000 rows | Polars / pandas / DuckDB | {times} | `bench/rollfun.py --quick` |"
    ) in text
    assert "rolling minimum" not in text  # which was not measured


def test_readme_shows_nexmark_by_query_and_pair_of_systems(field: Any) -> None:
    found = field.Part("nexmark", "NEXMark", command="bench/nexmark.py --quick")
    times = {"windrow's operator": [1.0] * 3, "windrow on Spark": [4.0] * 3, "Flink": [2.0] * 3}
    pairs = {"windrow's operator": ("Flink",), "windrow on Spark": ("Flink",)}
    found.add("q5 hot items", 1_000, times, pairs)
    found.add("q6 mean price", 1_000, times, pairs)
    part = vars(found) | {"figures": [figure.as_dict() for figure in found.figures]}
    assert field.tables.nexmark_table([part]).splitlines() == [
        "| run time divided by windrow's | q5 | q6 |",
        "|---|---|---|",
        "| Flink / windrow in one process | 2.0 | 2.0 |",
        "| Flink / windrow as a Spark stream | 0.50 | 0.50 |",
        "| Spark / windrow as a Spark stream | - | - |",
    ]


def test_the_short_table_is_of_questions_that_are_asked(field: Any) -> None:
    """Those of the other two parts have names that are made while they run."""
    from scotty import QUESTIONS as SCOTTY
    from sections.nexmark_queries import QUERIES
    from sections.rollfun_questions import QUESTIONS as ROLLFUN

    asked = {
        "rollfun": {question.name for question in ROLLFUN},
        "nexmark": {query.name for query in QUERIES},
        "scotty": set(SCOTTY),
    }
    for line in field.LINES:
        if line.part in asked:
            assert {what for what, _, _ in line.figures} <= asked[line.part], line.title


def test_lines_of_the_short_table_without_figures_are_named(field: Any) -> None:
    lacking = field.tables.lacking_lines([_part(field)])
    assert "rolling mean over 1,000 rows" not in lacking
    assert "rolling minimum over 1,000 rows" in lacking


def test_only_the_place_of_the_tables_is_written(field: Any, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"before\n{PLACE}\nafter\n")
    for text in ("one\n", "two\n"):
        field.tables.put(page, text)
        assert page.read_text() == f"before\n{PLACE.replace('old', text.strip())}\nafter\n"
    page.write_text("no place")
    with pytest.raises(ValueError, match=r"README\.md has no place for tables"):
        field.tables.put(page, "one\n")


@pytest.mark.parametrize("page", ["README.md", "docs/field.md"])
def test_the_docs_have_a_place_for_the_tables(page: str) -> None:
    text = (ROOT / page).read_text()
    assert text.count(PLACE.split("\n")[0]) == text.count(PLACE.split("\n")[-1]) == 1


def test_questions_that_begin_too_late_are_named(field: Any, tmp_path: Path) -> None:
    part, asked = field.Part("rollfun", "Rolling", command="bench/rollfun.py"), []
    questions = {name: lambda name=name: asked.append(name) for name in ("mean", "min")}
    field.ask(part, questions, _given(only=["min"]))
    assert asked == ["min"]
    target = tmp_path / "part.json"
    field.ask(part, questions, _given(budget=0.0, json=str(target)))
    assert asked == ["min"]
    assert json.loads(target.read_text())["skipped"] == dict.fromkeys(
        ("mean", "min"), "the 0 s for all questions were over"
    )


def test_a_part_that_was_stopped_is_not_complete(field: Any, tmp_path: Path) -> None:
    part, target = field.Part("rollfun", "Rolling", command="bench/rollfun.py"), tmp_path / "part.json"

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        field.ask(part, {"mean": lambda: None, "min": stop}, _given(json=str(target)))
    assert json.loads(target.read_text())["is_complete"] is False
    field.ask(part, {"min": lambda: None}, _given(json=str(target)))
    assert json.loads(target.read_text())["is_complete"] is True


def _field(*options: str, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "bench/field.py", *options, "--out", str(out)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_one_command_ends_in_page_json_and_tables(tmp_path: Path) -> None:
    ran = _field("--smoke", "--only", "rollfun", out=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "part 1 of 1, after 0 s: bench/rollfun.py --rows 20000" in ran.stderr
    (part,) = json.loads((tmp_path / "field.json").read_text())
    assert part["is_complete"]
    assert {"mean", "multiroll", "regression"} <= {figure["what"] for figure in part["figures"]}
    assert all(len(figure["windrow_s"]) >= 3 for figure in part["figures"])
    assert "<svg" in (tmp_path / "field.html").read_text()
    assert "| multiroll | windrow |" in (tmp_path / "field.md").read_text()
    again = _field("--smoke", "--resume", "--only", "rollfun", out=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "part 1" not in again.stderr
    refused = _field("--assemble", "--docs", out=tmp_path)
    assert refused.returncode == 1
    assert "--docs: no figures of local, scotty, nexmark, spark yet" in refused.stderr


def test_nothing_to_show_is_said(tmp_path: Path) -> None:
    ran = _field("--assemble", out=tmp_path)
    assert ran.returncode == 1
    assert f"no parts in {tmp_path / 'parts'}" in ran.stderr
