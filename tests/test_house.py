"""The house is in order: what only its files can show, read with ast."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from windrow.engines.data_windows.registry import STRATEGIES
from windrow.windows import KINDS, TimeWindow, Window

SOURCE = Path(__file__).parent.parent / "src" / "windrow"
#: where a window may be asked what class it is of
MAY_ASK = ("windows", "engines/data_windows", "testing")
CLASSES = {*KINDS, TimeWindow.__name__, "GridWindow"}


def files() -> Iterator[Path]:
    for path in sorted(SOURCE.rglob("*.py")):
        if not path.relative_to(SOURCE).as_posix().startswith(MAY_ASK):
            yield path


def window_classes(tree: ast.AST) -> dict[str, str]:
    """The names of classes of windows in a module, with those under which it imports them."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("windrow"):
            found |= {each.asname or each.name: each.name for each in node.names if each.name in CLASSES}
    return found


def questions(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that ask an object, by isinstance or by its type, for a class of windows."""
    tree = ast.parse(text)
    known = window_classes(tree)
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asked = list(node.args[1:]) if node.func.id in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            asked = [node]
        elif isinstance(node, ast.match_case):
            asked = [node.pattern]
        for each in [inner for outer in asked for inner in ast.walk(outer)]:
            name = each.id if isinstance(each, ast.Name) else getattr(each, "attr", "")
            kind = known.get(name, name if isinstance(each, ast.Attribute) else "")
            if kind in CLASSES:
                yield node.lineno if hasattr(node, "lineno") else each.lineno, kind


def test_no_engine_asks_a_window_for_its_class() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {kind}"
        for path in files()
        for line, kind in questions(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "give Window an attribute, or the kind a strategy in engines/data_windows"


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(window, Rows)",
        "isinstance(window, (int, Delta))",
        "isinstance(window, windows.Session)",
        "issubclass(kind, Rows | Sliding)",
        "type(window) is Rows",
        "any(isinstance(each, Sliding) for each in found)",
    ],
)
def test_the_check_sees_what_asks_for_a_class(line: str) -> None:
    assert list(questions(f"from windrow.windows import Delta, Rows, Sliding\n{line}\n"))


@pytest.mark.parametrize("line", ["isinstance(rows, Rows)", "isinstance(window, Window)", "Rows(3)"])
def test_the_check_lets_other_questions_pass(line: str) -> None:
    assert not list(
        questions(f"from windrow.engines.stream.push import read_rows\nclass Rows: ...\n{line}\n")
    )


def test_every_kind_that_data_decides_has_a_strategy() -> None:
    decided = {kind for kind in KINDS.values() if kind.decided_by == "data"}
    assert set(STRATEGIES) == decided


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_says_what_is_asked_of_it(kind: type[Window]) -> None:
    assert kind.example.startswith(f"{kind.__name__}(")
    assert kind.job_keys
    assert any(key.is_needed for key in kind.job_keys)
