"""Windows, aggregates and policies written as text, read without running any code.

Text is parsed to a syntax tree, of which only a few forms are accepted: a call of a known name with literals,
and for policies arithmetic over ``total`` and ``old``. Everything else is an error that names the text.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from windrow import monoids
from windrow.monoids.base import Aggregate, Monoid
from windrow.names import nearest
from windrow.windows import KINDS, Policy, Window
from windrow.words import word

__all__ = ["AGGREGATES", "WINDOWS", "SpecTextError", "aggregate_of", "policy_of", "window_of"]

#: kinds that are made of the arguments in their text; the others are made of text themselves
WINDOWS = tuple(sorted(name for name, kind in KINDS.items() if kind is not Policy))
#: names of windrow.monoids that make no aggregate over columns by themselves
_OTHERS = ("Aggregate", "Monoid", "laws", "monoid", "together")
AGGREGATES = tuple(name for name in monoids.__all__ if name not in _OTHERS)
_LONGEST = 1_000
#: how each is written
_FORMS = {
    "window": "write a name and sizes, as in Tumbling('1h')",
    "aggregate": (
        "write a name and columns, as in max(len), quantile(len, 0.99) or sum(len, where=is_paid), "
        "and count() for rows"
    ),
    "policy": "write one comparison, as in total.n - old.n >= 3",
}
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


class SpecTextError(ValueError):
    """A window, an aggregate or a policy that cannot be read."""


def window_of(text: Any) -> Window:
    """A window from its text.

    >>> window_of("Sliding(10, slide=5)")
    Sliding(10, slide=5)
    >>> window_of("Policy('total.n - old.n >= 3')")
    Policy(total.n - old.n >= 3)
    >>> window_of("exec('rm')")
    Traceback (most recent call last):
    windrow.spec_text.SpecTextError: window "exec('rm')": use one of Cumulative, Delta, Fixed,
    Punctuation, Rows, Session, Sliding, Threshold, Tumbling, Policy
    """
    call = _call(text, "window", (*WINDOWS, Policy.__name__))
    arguments, named = _arguments(call, text, "window", _literal)
    kind = KINDS[call.func.id]  # type: ignore[attr-defined]
    if kind is Policy:
        return policy_of(arguments[0]) if len(arguments) == 1 else _refuse("window", text, "give one text")
    return _built(kind, arguments, named, "window", text)


def aggregate_of(text: Any, own: Mapping[str, Monoid] | None = None) -> Aggregate:
    """An aggregate from its text, in which columns need no quotes. ``own``: more monoids, by name.

    >>> aggregate_of("max_by(caller, len)")
    max_by('caller', 'len')
    >>> aggregate_of("count(where=is_paid)")
    count(where='is_paid')
    >>> aggregate_of("avg(s)")
    Traceback (most recent call last):
    windrow.spec_text.SpecTextError: aggregate 'avg(s)': did you mean mean(...)? use one of all, any, ...
    """
    own = own or {}
    call = _call(text, "aggregate", (*AGGREGATES, *own))
    arguments, named = _arguments(call, text, "aggregate", _column_or_literal)
    name: str = call.func.id  # type: ignore[attr-defined]
    found = _built(own.get(name) or getattr(monoids, name), arguments, named, "aggregate", text)
    if not isinstance(found, Aggregate):
        _refuse("aggregate", text, f"name a column, as in {name}(len)")
    return found


def policy_of(text: Any) -> Policy:
    """A policy from a comparison of partial aggregates: ``total.n - old.n >= 3``.

    >>> from types import SimpleNamespace
    >>> policy = policy_of("total.n - old.n >= 3")
    >>> (
    ...     policy.fn(SimpleNamespace(n=5), SimpleNamespace(n=2)),
    ...     policy.fn(SimpleNamespace(n=5), SimpleNamespace(n=3)),
    ... )
    (True, False)
    """
    tree = _parsed(text, "policy")
    if not (isinstance(tree, ast.Compare) and len(tree.ops) == 1):
        _refuse("policy", text, "write one comparison such as 'total.n - old.n >= 3'")
    _check_expression(tree, text)

    def evicts(total: Any, old: Any) -> bool:
        return bool(_value(tree, {"total": total, "old": old}))

    evicts.__name__ = text
    return Policy(evicts)


# -- reading -------------------------------------------------------------------------------------------------


def _call(text: Any, what: str, known: tuple[str, ...]) -> ast.Call:
    tree = _parsed(text, what)
    if isinstance(tree, ast.Name) and tree.id in known:
        _refuse(what, text, _FORMS[what])
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in known):
        _refuse(what, text, _nearest(tree, known) + f"use one of {', '.join(known)}")
    assert isinstance(tree, ast.Call)
    return tree


def _nearest(tree: ast.expr, known: tuple[str, ...]) -> str:
    """What may have been meant by a name that is not known."""
    name = ast.unparse(tree.func if isinstance(tree, ast.Call) else tree)
    same = word(name)
    found = same if same in known else nearest(name, known, 0.7)
    return f"did you mean {found}(...)? " if found else ""


def _parsed(text: Any, what: str) -> ast.expr:
    if not isinstance(text, str):
        _refuse(what, text, "write it as text")
    if len(text) > _LONGEST:
        _refuse(what, text[:40] + "...", f"write at most {_LONGEST} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _refuse(what, text, f"this cannot be read: {_FORMS[what]}")


def _arguments(
    call: ast.Call, text: str, what: str, read: Callable[[ast.expr], Any]
) -> tuple[list[Any], dict[str, Any]]:
    try:
        named = {
            str(keyword.arg): (read if keyword.arg == "where" else _literal)(keyword.value)
            for keyword in call.keywords
            if keyword.arg
        }
        if len(named) != len(call.keywords):
            raise ValueError
        return [read(argument) for argument in call.args], named
    except ValueError:
        allowed = "numbers, text, lists of numbers, true or false, and columns"
        return _refuse(what, text, f"arguments are {allowed}: {_FORMS[what]}")


def _literal(node: ast.expr) -> Any:
    value = ast.literal_eval(node)
    if isinstance(value, (list, tuple)) and all(isinstance(each, (int, float)) for each in value):
        return value
    if not isinstance(value, (int, float, str, type(None))):
        raise ValueError
    return value


def _column_or_literal(node: ast.expr) -> Any:
    return node.id if isinstance(node, ast.Name) else _literal(node)


def _built(
    make: Callable[..., Any], arguments: list[Any], named: dict[str, Any], what: str, text: str
) -> Any:
    try:
        return make(*arguments, **named)
    except (TypeError, ValueError) as error:
        raise SpecTextError(f"{what} {text!r}: {error}") from error


def _refuse(what: str, text: Any, remedy: str) -> Any:
    raise SpecTextError(f"{what} {text!r}: {remedy}")


# -- policies ------------------------------------------------------------------------------------------------


def _check_expression(node: ast.expr, text: str) -> None:
    """Refuse what :func:`_value` does not know."""
    if isinstance(node, ast.Compare):
        operands, operation = [node.left, node.comparators[0]], node.ops[0]
    elif isinstance(node, ast.BinOp):
        operands, operation = [node.left, node.right], node.op  # type: ignore[assignment]
    elif _is_partial(node) or (isinstance(node, ast.Constant) and isinstance(node.value, (int, float))):
        return
    else:
        _refuse("policy", text, "only numbers, total.name, old.name and + - * are known")
    if type(operation) not in _OPERATORS:
        _refuse("policy", text, "only + - * and < <= > >= are known")
    for operand in operands:
        _check_expression(operand, text)


def _is_partial(node: ast.expr) -> bool:
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        return False
    return node.value.id in ("total", "old") and not node.attr.startswith("_")


def _value(node: ast.expr, partials: dict[str, Any]) -> Any:
    if isinstance(node, ast.Compare):
        left, right = node.left, node.comparators[0]
        return _OPERATORS[type(node.ops[0])](_value(left, partials), _value(right, partials))
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, partials), _value(node.right, partials))
    if isinstance(node, ast.Attribute):
        assert isinstance(node.value, ast.Name)
        return getattr(partials[node.value.id], node.attr)
    assert isinstance(node, ast.Constant)
    return node.value
