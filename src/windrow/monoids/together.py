"""Several aggregates over one window, sharing its structure ([MTA] experiment 5).

The partial is a named tuple of the members' partials, so that a slide policy can read them by name
(``total.n``); the result is a dict. One insert, evict and rotation serves all members; each combine costs the
sum of theirs.

Every member gets the same row: of a row with several inputs it reads the first ones, as many as it takes. A
row with a null is skipped for all members; ``nan="ignore"`` of a member holds for that member only.
``together`` is commutative, idempotent or invertible where all members are.

:func:`product_of` is what it is made of, and what engines make of a query's aggregates where these share one
window: any parts, each with its own part of the row, in a partial that the caller chooses.
"""

from __future__ import annotations

import functools
import keyword
import operator
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from windrow.monoids.base import Aggregate, Monoid, as_monoid, itself
from windrow.monoids.equality import magnitude, same

__all__ = ["Part", "part_of", "product_of", "record_of", "together"]


def together(**members: Any) -> Monoid:
    """One aggregate out of several: ``together(name=aggregate, ...)``.

    >>> import windrow as wr
    >>> window = wr.swag.DABA(wr.together(n=wr.count, largest=wr.max, who=wr.arg_max))
    >>> window.insert(3, "ann")
    >>> window.insert(5, "bob")
    >>> window.query()
    {'n': 2, 'largest': 5, 'who': 'bob'}
    >>> window.query_partial().n
    2
    """
    monoids = {name: _without_columns(name, member) for name, member in members.items()}
    _check(monoids)
    parts = [_Part(member) for member in monoids.values()]
    record = record_of(list(monoids))
    inverses = [member.inverse for member in monoids.values() if member.inverse is not None]

    def inverse(total: Any, oldest: Any) -> Any:
        return record([subtract(x, y) for subtract, x, y in zip(inverses, total, oldest, strict=True)])

    def lower(a: Any) -> dict[str, Any]:
        return {name: part.lower(x) for name, part, x in zip(monoids, parts, a, strict=True)}

    return product_of(
        "together",
        parts,
        record,
        lower=lower,
        inverse=inverse if all(_subtracts(m) for m in monoids.values()) else None,
        commutative=all(m.commutative for m in monoids.values()),
        idempotent=all(m.idempotent for m in monoids.values()),
        empty={name: member.empty_result() for name, member in monoids.items()},
        arity=(max(m.arity[0] for m in monoids.values()), max(m.arity[1] for m in monoids.values())),
        nulls=next(iter(monoids.values())).nulls,
        equal=_equal_parts(monoids),
        group=_group(monoids),
        parameters={name: member.name for name, member in monoids.items()},
        members=monoids,
        doc="several aggregates over one window; the result is a dict",
    )


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a product: what it makes of a row (the tuple of all inputs), and how it combines."""

    lift: Callable[[tuple[Any, ...]], Any]
    combine: Callable[[Any, Any], Any]
    identity: Any


def product_of(
    name: str, parts: Sequence[Any], record: Callable[[list[Any]], Any], **declared: Any
) -> Monoid:
    """The monoid whose partials hold one of each part; ``record`` makes a partial of them.

    >>> extent = product_of("extent", [Part(sum, min, 99), Part(sum, max, -99)], tuple)
    >>> extent.combine(extent.lift(3), extent.lift(5))
    (3, 5)
    """
    identity = record([part.identity for part in parts])

    def lift(*row: Any) -> Any:
        return record([part.lift(row) for part in parts])

    def combine(a: Any, b: Any) -> Any:
        if a is identity:
            return b
        if b is identity:
            return a
        return record([part.combine(x, y) for part, x, y in zip(parts, a, b, strict=True)])

    lower = declared.pop("lower", itself)
    return Monoid(
        name=name, lift=lift, combine=combine, lower=lower, identity=identity, compiles_for="", **declared
    )


def part_of(
    monoid: Monoid, inputs: Callable[[tuple[Any, ...]], tuple[Any, ...]], call: Callable[..., Any]
) -> Part:
    """An aggregate with its own ``inputs`` of the row as a part of a product; a row that it skips adds
    nothing to it. Its functions are called by ``call(monoid, function, *arguments)``."""

    def lift(row: tuple[Any, ...]) -> Any:
        values = inputs(row)
        return monoid.identity if monoid.skips(values) else call(monoid, monoid.lift, *values)

    return Part(lift, functools.partial(call, monoid, monoid.combine), monoid.identity)


# as a value, since mypy wants the names in a literal
_named: Any = namedtuple


def record_of(names: list[str], name: str = "Together") -> Any:
    """What makes a named tuple with these names of a list; a name that Python does not allow there, such as
    ``_n`` or ``my sum``, is also an attribute.

    >>> found = record_of(["n", "my sum", "_n"])([1, 2, 3])
    >>> found.n, getattr(found, "my sum"), found._n
    (1, 2, 3)
    """
    record = _named(name, names, rename=True)
    for place, (given, field) in enumerate(zip(names, record._fields, strict=True)):
        if given != field and not hasattr(record, given):
            setattr(record, given, property(operator.itemgetter(place)))
    return record._make


def _without_columns(name: str, member: Any) -> Monoid:
    if isinstance(member, Aggregate) and member.columns:
        raise TypeError(
            f"{name}={member!r} reads columns of its own: give {member.monoid.name} without columns, and the "
            f"columns to what together returns: together({name}={member.monoid.name})({member.columns[0]!r})"
        )
    return as_monoid(member)


def _check(monoids: dict[str, Monoid]) -> None:
    if not monoids:
        raise TypeError("together needs at least one aggregate: together(n=count, largest=max)")
    for name in monoids:
        if not name.isidentifier() or name.startswith("_") or keyword.iskeyword(name):
            raise ValueError(f"{name!r} cannot name a member: use a Python name that does not begin with '_'")
    if len({member.nulls for member in monoids.values()}) > 1:
        raise ValueError(
            "members skip and propagate nulls: give all members the same rule, or use two windows"
        )


class _Part:
    """One member's functions on its part; None stands for a member that ignored all rows, as NaN."""

    def __init__(self, member: Monoid) -> None:
        self.member = member
        self.most = member.arity[1]
        self.ignores = member.nan == "ignore"
        self.identity = None if self.ignores else member.identity
        self.combine = self._combine_some if self.ignores else member.combine

    def lift(self, values: tuple[Any, ...]) -> Any:
        values = values[: self.most]
        if self.ignores and self.member.skips(values):
            return None
        return self.member.lift(*values)

    def _combine_some(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        return a if b is None else self.member.combine(a, b)

    def lower(self, partial: Any) -> Any:
        return self.member.empty_result() if partial is None and self.ignores else self.member.lower(partial)


def _subtracts(member: Monoid) -> bool:
    # what is left of a member that ignores NaN might be no row at all, which no subtraction tells
    return member.inverse is not None and member.nan != "ignore"


def _group(monoids: dict[str, Monoid]) -> Monoid | None:
    """The members' forms with exact inverses, if all have one and it is not the plain form already."""
    exact = {name: m if m.inverse else m.group for name, m in monoids.items()}
    found = {name: m.with_rules(monoids[name].nulls) for name, m in exact.items() if m is not None}
    wanted = len(found) == len(monoids) and any(m.inverse is None for m in monoids.values())
    ignores = any(m.nan == "ignore" for m in monoids.values())
    return together(**found) if wanted and not ignores else None


def _equal_parts(monoids: dict[str, Monoid]) -> Callable[[Any, Any, float], bool] | None:
    """Equality part by part, where a member has its own."""
    if not any(member.equal for member in monoids.values()):
        return None
    tests = [member.equal or _about_the_same for member in monoids.values()]
    return lambda a, b, largest: all(test(x, y, largest) for test, x, y in zip(tests, a, b, strict=True))


def _about_the_same(a: Any, b: Any, largest: float) -> bool:
    return same(a, b, slack=1e-9 * magnitude(a, b, largest))
