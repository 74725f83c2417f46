"""An aggregate says itself what it is: no code outside windrow.monoids asks for its name.

To add an aggregate is to write one file and to export it. That holds while engines read what aggregates
declare (``picks``, ``is_extreme``, ``spark`` and so on), and compare no names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import windrow
from windrow.spec_text import AGGREGATES

ROOT = Path(windrow.__file__).parent
#: where aggregates are, where the definitions are that engines are compared with, and what other libraries
#: call them
EXEMPT = ("monoids", "testing", "words.py")


def findings(text: str) -> Iterator[str]:
    """Comparisons of a monoid's name with literals, and lookups of it in a table."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and any(map(_is_name, [node.left, *node.comparators])):
            yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Subscript) and _is_name(node.slice):
            yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Call) and _is_lookup(node):
            yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Match) and _is_name(node.subject):
            yield f"{node.lineno}: match {ast.unparse(node.subject)}"
        if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)) and _names_aggregates(node):
            yield f"{node.lineno}: {ast.unparse(node)}"


def _is_name(node: ast.expr) -> bool:
    """``monoid.name``, ``aggregate.monoid.name``, ``self._monoid.name``."""
    if not (isinstance(node, ast.Attribute) and node.attr == "name"):
        return False
    owner = ast.unparse(node.value).rpartition(".")[2].strip("_()")
    return owner in ("monoid", "aggregate", "member")


def _is_lookup(call: ast.Call) -> bool:
    methods = ("get", "pop", "startswith", "endswith", "setdefault")
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in methods):
        return False
    return _is_name(call.func.value) or any(map(_is_name, call.args))


def _names_aggregates(node: ast.Tuple | ast.List | ast.Set | ast.Dict) -> bool:
    """A table of names: three or more strings, and all of them are aggregates."""
    members = node.keys if isinstance(node, ast.Dict) else node.elts
    names = [m.value for m in members if isinstance(m, ast.Constant) and isinstance(m.value, str)]
    return len(names) == len(members) > 2 and set(names) <= set(AGGREGATES)


def test_no_engine_compares_the_names_of_aggregates() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{finding}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in EXEMPT
        for finding in findings(path.read_text(encoding="utf-8"))
    ]
    allowed = [f for f in found if f.startswith("__init__.py:")]  # the export
    assert [f for f in found if f not in allowed] == []


@pytest.mark.parametrize(
    "line",
    [
        "monoid.builtin and monoid.name == 'max'",
        "aggregate.monoid.name in ('max', 'min')",
        "'sum' != self._monoid.name",
        "PICKED.get(monoid.name)",
        "PICKED[aggregate.monoid.name]",
        "monoid.name.startswith('arg')",
        "match monoid.name:\n    case 'sum': pass",
        "KNOWN = ('count', 'sum', 'mean')",
        "GAINS = {'sum': (10, 0), 'mean': (4, 4), 'range': (1, 0)}",
    ],
)
def test_a_comparison_would_be_found(line: str) -> None:
    assert list(findings(line))


@pytest.mark.parametrize("line", ["raise ValueError(monoid.name)", "field.name in known", "('low', 'last')"])
def test_other_uses_of_a_name_are_not_findings(line: str) -> None:
    assert not list(findings(line))
