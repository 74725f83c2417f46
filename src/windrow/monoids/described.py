"""What an aggregate says about itself: the signature of a call, the documentation that ``help()`` shows, and
the source text that makes it again.

An aggregate is a value of one class, so that Python would show the same signature and the same documentation
for all of them. Both are made when they are asked for: ``import windrow`` pays nothing for them.
"""

from __future__ import annotations

import inspect
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.monoids.base import Monoid

__all__ = ["OwnDoc", "OwnSignature", "call_text", "example_call", "signature_of"]

_RULES = {"nulls": "skip", "nan": "propagate"}


class OwnSignature:
    """The attribute ``__signature__``, which instances have and their class does not."""

    def __get__(self, instance: Any, owner: Any = None) -> Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return signature_of(instance)


class OwnDoc:
    """The attribute ``__doc__``: of an instance its own, of its class what the class says."""

    def __init__(self, of_class: str | None) -> None:
        self.of_class = of_class

    def __get__(self, instance: Any, owner: Any = None) -> str | None:
        if instance is None or not instance.doc:
            return self.of_class
        return f"{instance.name}{signature_of(instance)}\n\n{inspect.cleandoc(instance.doc)}\n"


def signature_of(monoid: Monoid) -> Signature:
    """How an aggregate is called: its columns, then its parameters, then which rows count, and the rules for
    nulls and NaN.

    >>> import windrow as wr
    >>> str(signature_of(wr.quantile)), str(signature_of(wr.count))
    ("(column, /, q=0.5, *, where=None, min_count=None, nulls='skip', nan='propagate')",
     "(column=None, /, *, where=None, min_count=None, nulls='skip', nan='propagate')")
    """
    made = list(inspect.signature(monoid.make).parameters.values()) if monoid.make else []
    parameters = [
        Parameter(p.name, p.POSITIONAL_OR_KEYWORD, default=monoid.parameters.get(p.name, p.default))
        for p in made
    ]
    rules = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(monoid, name), annotation=Parameter.empty)
        for name in _RULES
    ]
    columns = _columns(monoid)
    if columns and columns[-1].kind is not Parameter.POSITIONAL_ONLY:
        parameters = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in parameters]
    options = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in ("where", "min_count")]
    return Signature([*columns, *parameters, *options, *rules])


def _columns(monoid: Monoid) -> list[Parameter]:
    """The columns that a call names; all but one that counts rows need theirs."""
    low, high = monoid.arity
    if high > 16:
        return [Parameter("columns", Parameter.VAR_POSITIONAL)]
    low = 0 if monoid.counts_rows else low
    return [
        Parameter(name, kind, default=Parameter.empty if place < low else None)
        for place, (name, kind) in enumerate(
            zip(_column_names(monoid, high), _kinds(monoid, high), strict=True)
        )
    ]


def _kinds(monoid: Monoid, count: int) -> list[Any]:
    """How each column is given: the last ones by keyword, if the aggregate says so."""
    plain = count - monoid.keyword_inputs
    return [Parameter.POSITIONAL_ONLY if k < plain else Parameter.KEYWORD_ONLY for k in range(count)]


def _column_names(monoid: Monoid, count: int) -> list[str]:
    if monoid.inputs:
        return list(monoid.inputs)
    if count == 1:
        return ["column"]
    try:
        found = [p.name for p in inspect.signature(monoid.lift).parameters.values()]
    except (TypeError, ValueError):
        found = []
    return found[:count] if len(found) >= count else [f"column{k + 1}" for k in range(count)]


def example_call(monoid: Monoid) -> str:
    """A call to show to somebody who made a wrong one.

    >>> import windrow as wr
    >>> example_call(wr.arg_max), example_call(wr.count)
    ("wr.arg_max('column', value='value')", 'wr.count()')
    """
    needed = tuple(p.name for p in _columns(monoid) if p.default is Parameter.empty)
    return f"{'wr.' if monoid.builtin else ''}{monoid.name}({', '.join(_written(monoid, needed))})"


def _written(monoid: Monoid, columns: tuple[str, ...]) -> list[str]:
    """Columns as a call has them."""
    plain = len(columns) - monoid.keyword_inputs if columns else 0
    named = zip(monoid.inputs[plain:], columns[plain:], strict=False)
    return [*map(repr, columns[:plain]), *(f"{name}={column!r}" for name, column in named)]


def call_text(
    monoid: Monoid, columns: tuple[str, ...] = (), where: str | None = None, min_count: int | None = None
) -> str:
    """The source text that makes an aggregate of these columns.

    >>> import windrow as wr
    >>> call_text(wr.max, ("len",)), call_text(wr.quantile(0.9)), call_text(wr.max)
    ("max('len')", 'quantile(q=0.9)', 'max')
    """
    rules: dict[str, Any] = {} if where is None else {"where": where}
    rules |= {} if min_count is None else {"min_count": min_count}
    rules |= {name: getattr(monoid, name) for name, usual in _RULES.items() if getattr(monoid, name) != usual}
    if monoid.members:
        made = f"together({', '.join(f'{name}={call_text(m)}' for name, m in monoid.members.items())})"
        rest = [*map(repr, columns), *(f"{name}={value!r}" for name, value in rules.items())]
        return f"{made}({', '.join(rest)})" if rest else made
    named = dict(monoid.parameters) | rules
    arguments = [*_written(monoid, columns), *(f"{name}={value!r}" for name, value in named.items())]
    return f"{monoid.name}({', '.join(arguments)})" if arguments else monoid.name
