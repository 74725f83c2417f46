"""The pictures of the documentation: the files are what the generator makes, and show what a query gives."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

DOCS = Path(__file__).parent.parent / "docs"


def _generator(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"windrow_docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


GENERATOR = _generator("pictures")
PICTURES = {picture.name: picture for picture in GENERATOR.pictures()}


def test_there_is_a_file_for_each_picture_and_no_other() -> None:
    assert {path.stem for path in GENERATOR.FOLDER.glob("*")} == set(PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_the_file_is_what_the_generator_makes(name: str) -> None:
    made = GENERATOR.draw(PICTURES[name])
    found = (GENERATOR.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert found == made, "run: python docs/pictures.py"


@pytest.mark.parametrize("name", PICTURES)
def test_the_windows_drawn_are_those_of_a_query(name: str) -> None:
    picture = PICTURES[name]
    columns = dict(picture.columns)
    if name == "berlin":
        columns["t"] = pa.array(columns["t"], pa.timestamp("us"))
    rows = wr.events(pa.table(columns), time="t")
    names = picture.columns["row"]
    drawn = ["".join(names[i] for i in bar.rows) for bar in picture.bars if not bar.missing]
    edges = [(bar.start, bar.end) for bar in picture.bars if not bar.missing]
    wanted: dict[str, Any] = {"held": wr.concat("row")}
    if name == "rolling":
        assert rows.rolling(10).agg(**wanted)["held"].to_pylist() == drawn
        return
    if name == "policy":
        wanted["load"] = wr.sum("load")
    result = rows.window(picture.window).agg(**wanted)
    assert result["held"].to_pylist() == drawn
    if name != "delta":  # drawn over the values of its column
        found = [result[edge].cast(pa.int64()).to_pylist() for edge in ("window_start", "window_end")]
        assert list(zip(*found, strict=True)) == edges


@pytest.mark.parametrize("name", PICTURES)
def test_the_guide_shows_the_picture(name: str) -> None:
    guides = [(DOCS / page).read_text(encoding="utf-8") for page in ("windows.md", "window-options.md")]
    assert sum(f"](pictures/{name}.svg)" in guide for guide in guides) == 1


FIRST_SCREEN = _generator("first_screen")
README = (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_the_pictures_of_readme_are_what_their_script_makes() -> None:
    said = "run: python docs/first_screen.py"
    assert FIRST_SCREEN.PICTURE.read_text(encoding="utf-8") == FIRST_SCREEN.picture(), said
    assert FIRST_SCREEN.CHART.read_text(encoding="utf-8") == FIRST_SCREEN.chart(), said


def test_the_picture_of_readme_shows_what_its_query_returns() -> None:
    calls = wr.events(pa.table(FIRST_SCREEN.CALLS), time="minute")
    result = calls.window(wr.Sliding(FIRST_SCREEN.SIZE, slide=FIRST_SCREEN.SLIDE)).agg(
        longest=wr.max("len"), n=wr.count()
    )
    lengths = FIRST_SCREEN.CALLS["len"]
    drawn = [
        (low, high, max(lengths[k] for k in held), len(held)) for low, high, held in FIRST_SCREEN.windows()
    ]
    assert [tuple(row.values()) for row in result.to_pylist()] == drawn
    code = README.replace("\n...     ", " ")
    assert all(f'"{name}": [' in code for name in FIRST_SCREEN.CALLS)
    assert f"wr.Sliding({FIRST_SCREEN.SIZE}, slide={FIRST_SCREEN.SLIDE})" in code


def test_readme_fits_a_few_screens_and_has_the_figures_of_the_field() -> None:
    """What it says of NEXMark is in the table of docs/field.md."""
    assert README.count("\n") <= 120
    field = (DOCS / "field.md").read_text(encoding="utf-8").partition("### NEXMark")[2].partition("###")[0]
    rows = re.findall(r"^\| (Flink|Spark) / windrow (.*?) \| (.*) \|$", README, re.MULTILINE)
    assert len(rows) == 3
    head = next(line for line in field.splitlines() if line.startswith("| |"))
    for peer, side, cells in rows:
        ours = "windrow's operator" if side == "in one process" else "windrow on Spark"
        column = [cell.strip() for cell in head.split("|")].index(peer)
        lines = [line.split("|") for line in field.splitlines() if f"| {ours} |" in line]
        assert [line[column].split()[0] for line in lines] == cells.split(" | ")


CONCEPTS = _generator("concepts")


@pytest.mark.parametrize("name", CONCEPTS.PICTURES)
def test_the_drawings_of_concepts_are_what_their_script_makes(name: str) -> None:
    made = CONCEPTS.draw(CONCEPTS.PICTURES[name])
    found = (CONCEPTS.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert found == made, "run: python docs/concepts.py"
    assert f"](concepts/{name}.svg)" in (DOCS / "concepts.md").read_text(encoding="utf-8")


ARCHITECTURE = _generator("architecture")
SOURCE = DOCS.parent / "src" / "windrow"


def test_the_picture_of_the_architecture_is_what_its_script_makes() -> None:
    made = ARCHITECTURE.draw()
    assert ARCHITECTURE.FILE.read_text(encoding="utf-8") == made, "run: python docs/architecture.py"


def _is_there(module: str) -> bool:
    path = SOURCE / module.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_the_picture_of_the_architecture_names_modules_that_are_there() -> None:
    stops = [module for lane in ARCHITECTURE.LANES for stop in lane.stops for module in stop.modules]
    named = [*stops, *(module for module, _ in ARCHITECTURE.FOUNDATIONS)]
    assert [module for module in named if not _is_there(module)] == []


@pytest.mark.parametrize("page", ["docs/glossary.md", "ARCHITECTURE.md"])
def test_the_pages_on_the_architecture_name_modules_and_files_that_are_there(page: str) -> None:
    root = DOCS.parent
    text = (root / page).read_text(encoding="utf-8")
    modules = re.findall(r"`windrow\.([a-z_.]+)`", text)
    files = re.findall(r"`((?:src|tests|docs)/[\w/.]+?)/?`", text)
    assert modules or files
    assert [module for module in modules if not _is_there(module)] == []
    assert [file for file in files if not (root / file).exists()] == []
