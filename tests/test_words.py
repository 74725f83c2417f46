"""The words of what users read: README, docs, ``--help`` and public docstrings. ``make lint`` runs this.

A reader of Spark, Flink, Polars or DuckDB searches for the words of that field. These are the rules that a
machine can check; code, commands and links are left out.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import windrow as wr
from windrow.cli.main import parser
from windrow.monoids.base import Monoid

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "RELEASING")]
PAGES += [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "reference").glob("*.md"))]

_BRANDS = "pandas|Polars|DuckDB|Spark|Kafka|Redis|Arrow|Flink|NumPy"
#: what is not written, and what is
RULES = {
    rf"\b(?:tables?|DataFrames?|brokers?|tests?|streams?|topics?|records?|settings) of (?:{_BRANDS})\b": (
        "the noun last: pandas tables, a Kafka broker"
    ),
    r"\b(?:come|comes|came|coming) out\b": "fire, be emitted",
    r"\b(?:go|goes|went) on\b": "continue, resume",
    r"\bhand(?:s|ed)? (?:over|back)\b": "return",
    r"\baggregates? of (?:your|one's) own\b": "user-defined aggregate",
    r", too\b": "also, before the verb",
    r"\bendless input\b": "streams, unbounded input",
    r"\bjudge[sd]?\b": "lateness is decided",
    r"\b(?:data|time) decides?\b": "data-driven, time-based windows",
    r"\bas of a moment\b": "point-in-time",
    r"\btaken back\b": "retracted",
    r"\bby the (?:minute|hour|day)\b": "24-hour windows sliding every minute",
    r"\b(?:shall|anew|somewhat)\b|\bfor ever\b|\bso many\b|\bin turns\b": "should, again, slightly",
    r"\bthis machine alone\b": "localhost only",
}


def unsaid(text: str) -> list[str]:
    """What breaks a rule, each with what to write instead.

    >>> unsaid("Rows come out, `go on` as well")
    ['come out: fire, be emitted']
    """
    plain = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    plain = " ".join(re.sub(r"`[^`\n]*`|\]\([^)]*\)", " ", plain).split())
    return [f"{found}: {better}" for rule, better in RULES.items() for found in re.findall(rule, plain)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages(page: Path) -> None:
    assert unsaid(page.read_text(encoding="utf-8")) == []


def _helps(command: argparse.ArgumentParser) -> Iterator[str]:
    yield command.format_help()
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _helps(inner)


def test_help() -> None:
    assert [found for text in _helps(parser()) for found in unsaid(text)] == []


def _documented() -> Iterator[tuple[str, str]]:
    """The docstrings of public names, without their doctests."""
    for name in wr.__all__:
        what = getattr(wr, name)
        if isinstance(what, Monoid) or inspect.isfunction(what):
            yield name, str(what.__doc__)
        elif inspect.isclass(what):
            yield name, str(what.__doc__)
            for inner, value in inspect.getmembers(what):
                if not inner.startswith("_") and callable(value):
                    yield f"{name}.{inner}", str(value.__doc__)
    for name in wr.spark.__all__:
        yield f"spark.{name}", str(getattr(wr.spark, name).__doc__)


def test_public_docstrings() -> None:
    found = {}
    for name, text in _documented():
        plain = re.sub(r"^ *>>> .*?(?:\n *\n|\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
        found[name] = unsaid(plain)
    assert {name: rules for name, rules in found.items() if rules} == {}
