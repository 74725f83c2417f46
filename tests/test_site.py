"""The site has every page, once, and its settings name nothing that is not there."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from windrow.query import Query

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
