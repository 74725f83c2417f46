"""The table that ``make compat`` wrote into docs, and the versions of PySpark that follow from it."""

from __future__ import annotations

import tomllib

import pytest

import compat

#: extras, and the column that says from which version on they are of use
EXTRAS = {"spark": "tables", "connect": "tables on Connect", "pipelines": "pipelines"}


def cells() -> dict[str, dict[str, str]]:
    """What docs say of each version and column."""
    _, _, rest = compat.DOCS.read_text().partition(compat.BEGIN)
    lines = rest.partition(compat.END)[0].splitlines()
    (_, *columns), _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {version: dict(zip(columns, found, strict=True)) for version, *found in rows}


def test_docs_have_a_row_for_every_version() -> None:
    assert list(cells()) == list(compat.VERSIONS)


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_asks_for_the_first_version_that_passes(extra: str) -> None:
    extras = tomllib.loads((compat.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = next(package for package in extras[extra] if package.startswith("pyspark"))
    passes = [version for version, row in cells().items() if row[EXTRAS[extra]] == "yes"]
    assert asked.partition(">=")[2] == passes[0]
    assert passes == list(compat.VERSIONS)[-len(passes) :], "a newer version does not pass"
