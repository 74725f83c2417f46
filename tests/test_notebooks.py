"""The notebooks of the examples give the outputs that are stored in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.notebooks import run_notebook

FILES = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_notebook_gives_what_it_shows(file: Path) -> None:
    notebook = json.loads(file.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert cells
    for cell, outputs in zip(cells, run_notebook(notebook), strict=True):
        assert outputs == cell["outputs"], "".join(cell["source"])


def test_there_is_a_notebook() -> None:
    assert FILES
