"""The site has every page, once, and its settings name nothing that is not there."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import windrow as wr
from windrow.query import Query
from windrow.spec_text import AGGREGATES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SETTINGS = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def _pages(entries: Any) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else entries.values():
        if isinstance(entry, str):
            yield entry
        else:
            yield from _pages(entry)


def _kept_elsewhere() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("windrow_site_pages", DOCS / "site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PAGES


def test_every_page_is_in_the_navigation_once() -> None:
    own = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(_pages(SETTINGS["nav"])) == sorted([*own, *_kept_elsewhere().values()])


def test_pages_that_are_kept_elsewhere_are_there() -> None:
    assert [source for source in _kept_elsewhere() if not (ROOT / source).is_file()] == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    """Material's fonts come from a server unless they are off."""
    assert SETTINGS["theme"]["font"] is False
    assert "extra_javascript" not in SETTINGS


def test_the_names_of_the_reference_are_there() -> None:
    for page in (DOCS / "reference").glob("*.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("::: "):
                _resolve(line.removeprefix("::: ").strip())


def test_the_reference_has_every_method_of_a_query() -> None:
    """They are those of the classes that a query is made of, which the site names one by one."""
    text = (DOCS / "reference" / "queries.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"inherited_members: \[(.*)\]", text)
    steps = [name for part in Query.__bases__ for name, value in vars(part).items() if callable(value)]
    assert listed.split(", ") == [name for name in steps if not name.startswith("_")]


def _resolve(name: str) -> None:
    module, _, member = name.rpartition(".")
    assert hasattr(importlib.import_module(module), member), name


def test_the_reference_has_every_name_for_spark() -> None:
    text = (DOCS / "reference" / "spark.md").read_text(encoding="utf-8")
    assert [
        name for name in wr.spark.__all__ if not re.search(rf"^::: \S+\.{name}$", text, re.MULTILINE)
    ] == []


def test_the_reference_has_every_error_and_warning() -> None:
    text = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    public = [*wr.__all__, *wr.state.__all__]
    errors = [name for name in public if _is_error(getattr(wr, name, None) or getattr(wr.state, name))]
    assert len(errors) > 10
    assert [name for name in errors if f"::: windrow.errors.{name}\n" not in text + "\n"] == []


def _is_error(what: Any) -> bool:
    return isinstance(what, type) and issubclass(what, Exception)


# -- how pages read ------------------------------------------------------------------------------------------

#: pages in which one looks something up, or the whole of a measurement
LOOKED_UP = {"algorithms", "faq", "field", "guarantees", "operations"}
WIDTH = 88
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
#: headings that a reader searches for
SEARCHED = (
    *("backfill", "late data", "user-defined aggregate", "dead letter", "leakage", "point-in-time"),
    *("exactly once", "out-of-order", "moving average", "processing time", "watermark", "integer overflow"),
)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_can_be_read_in_one_go(page: Path) -> None:
    words = len(FENCE.sub("", page.read_text(encoding="utf-8")).split())
    assert words <= 1_550 or page.stem in LOOKED_UP


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.stem
)
def test_code_fits_beside_the_navigation(page: Path) -> None:
    blocks = [found for found in FENCE.findall(page.read_text(encoding="utf-8")) if found[1] == "python"]
    lines = [line for indent, _, code in blocks for line in code.removeprefix(indent).split(f"\n{indent}")]
    assert [line for line in lines if len(line) > WIDTH] == []


def test_headings_have_the_words_that_people_search_for() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    headings = " ".join(re.findall(r"^#+ (.*)$", text, re.MULTILINE)).lower()
    assert [words for words in SEARCHED if words not in headings] == []


HOME = (DOCS / "index.md").read_text(encoding="utf-8")
TABS = dict(re.findall(r'=== "([^"]+)"\n\n    ```python\n(.*?)    ```', HOME, re.DOTALL))


@pytest.mark.parametrize("name", ["pandas", "Polars", "DuckDB", "Arrow", "Rows as they arrive"])
def test_each_tab_of_the_home_page_prints_its_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(re.sub(r"^    ", "", TABS[name], flags=re.MULTILINE), {})
    printed = capsys.readouterr().out
    table = re.findall(r"^\| (-?\d+) \| (\d+) \| (\d+) \| (\w+) \| (\d+) \|$", HOME, re.MULTILINE)
    assert len(table) == 4
    for row in table:
        assert re.search(r"\b.*?\D".join(map(re.escape, row)), printed), row


def test_the_site_is_built_whole(tmp_path: Path) -> None:
    """With all links and anchors, an entry per aggregate, prompts told from code, and a footer."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    entries = (tmp_path / "reference" / "aggregates.html").read_text(encoding="utf-8")
    assert [name for name in AGGREGATES if f'<h2 id="{name}">' not in entries] == []
    streams = (tmp_path / "streams.html").read_text(encoding="utf-8")
    assert '<span class="gp">' in streams
    assert "md-footer__link--next" in streams
    assert "[data-md-copying] .gp" in (tmp_path / "stylesheets" / "site.css").read_text()
    if shutil.which("chromium"):
        assert _cut_blocks(tmp_path) == []


def _cut_blocks(site: Path) -> list[str]:
    """Pages in which code is cut in a window 1,400 px wide."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for option in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "window-size=1400,1000"):
        options.add_argument(f"--{option}")
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    found = []
    try:
        for page in sorted(site.glob("*.html")):
            driver.get(page.as_uri())
            script = "return [...document.querySelectorAll('pre > code')].filter(c => c.clientWidth && "
            cut = driver.execute_script(script + "c.scrollWidth > c.clientWidth).map(c => c.innerText)")
            found += [f"{page.name}: {code[:60]}" for code in cut]
    finally:
        driver.quit()
    return found
