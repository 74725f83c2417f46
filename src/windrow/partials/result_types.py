"""The type of a result before there is one: the same answer for tables, operators, stores and Spark.

What an aggregate declares comes first, then the column it picks from or whose extreme it is, then what is
kept of its values, then its native form. What a built-in aggregate gives that runs in Python is seen from a
row made up for the purpose; a decimal that is computed has the digits that Spark gives it. Only results show
what a user's Python functions give. An engine that needs a schema before anything runs asks for
:func:`planned_type`, which also settles these.
Cost: a made-up row per aggregate and input types, once.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.inputs import is_extreme_moment, native_form
from windrow.partials.kept import Bag, family_of
from windrow.partials.results import array_of, arrow_type, holds_decimals, result_array
from windrow.rows.columns import plain_type

__all__ = ["decimals_over", "made_up", "planned_type", "result_type", "type_over"]

_MOMENT = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def result_type(aggregate: Aggregate, schema: pa.Schema) -> Any:
    """The Arrow type of the results over columns of this schema; null: only results show it.

    >>> import windrow as wr
    >>> schema = pa.schema({"n": pa.int32(), "s": pa.string(), "price": pa.decimal128(8, 2)})
    >>> [str(result_type(a, schema)) for a in (wr.sum("n"), wr.last("price"), wr.collect("s"), wr.count())]
    ['int64', 'decimal128(8, 2)', 'list<item: string>', 'int64']
    >>> [str(result_type(a, schema)) for a in (wr.sum("price"), wr.mean("price"), wr.max("price"))]
    ['decimal128(18, 2)', 'decimal128(12, 6)', 'decimal128(8, 2)']
    """
    return type_over(aggregate, _kinds(aggregate, schema))


def type_over(aggregate: Aggregate, kinds: Sequence[Any]) -> Any:
    """The same for columns of these plain types."""
    return _known(aggregate.monoid, tuple(kinds)) if aggregate.inputs else pa.int64()


def decimals_over(aggregate: Aggregate, arrays: Sequence[Any]) -> Any:
    """The type of the results over these columns where decimals are computed, else None."""
    kind = type_over(aggregate, [array.type for array in arrays])
    return kind if aggregate.monoid.picks is None and holds_decimals(kind) else None


def planned_type(aggregate: Aggregate, schema: pa.Schema) -> Any:
    """The type that results can be promised to have: known, or found with a made-up row. A user's aggregate
    that does not take such a row must declare it.

    >>> import windrow as wr
    >>> str(planned_type(wr.sum("price"), pa.schema({"price": pa.decimal128(8, 2)})))
    'decimal128(18, 2)'
    """
    kinds = _kinds(aggregate, schema)
    if aggregate.monoid.builtin and kinds:
        _check_lift(aggregate, kinds)
    found = type_over(aggregate, kinds)
    return _tried(aggregate, kinds) if pa.types.is_null(found) else found


def _kinds(aggregate: Aggregate, schema: pa.Schema) -> tuple[Any, ...]:
    return tuple(plain_type(schema.field(name).type) for name in aggregate.inputs)


@functools.lru_cache(maxsize=1024)
def _known(monoid: Monoid, kinds: tuple[Any, ...]) -> Any:
    if monoid.result_type is not None:
        return arrow_type(monoid.result_type)
    if monoid.picks is not None:
        return kinds[monoid.picks]
    if is_extreme_moment(monoid, kinds[0]) or (monoid.is_extreme and pa.types.is_uint64(kinds[0])):
        return kinds[0]
    family = family_of(monoid, kinds[0])
    if family is not None:
        nothing = np.zeros(0, np.int64)
        return family.answers(monoid, Bag(family.kept(monoid, pa.nulls(0, kinds[0]))), nothing, nothing).type
    form = native_form(monoid, kinds)
    if form is not None:
        return array_of(np.empty(0, form.layout.result_dtype), None, monoid).type
    if not monoid.builtin:
        return pa.null()
    try:
        found = _of_made_up_rows(monoid, kinds)
    except Exception:  # not an input that this aggregate takes, or made of a user's functions
        return pa.null()
    is_shown = _holds(pa.types.is_null, found) or (
        holds_decimals(found) and not any(map(pa.types.is_decimal, kinds))
    )
    return pa.null() if is_shown else _with_decimals(found, monoid, kinds)


def _of_made_up_rows(monoid: Monoid, kinds: Sequence[Any]) -> Any:
    """The type of what comes out for two made-up rows."""
    lifted = monoid.lift(*map(made_up, kinds))
    partial = monoid.combine(monoid.combine(monoid.identity, lifted), lifted)
    return result_array(monoid, [monoid.lower(partial)]).type


def _holds(matches: Callable[[Any], bool], kind: Any) -> bool:
    """Whether a type is, or has in it, such a one."""
    inner = [kind.field(k).type for k in range(kind.num_fields)]
    return matches(kind) or any(_holds(matches, each) for each in inner)


# -- promises ------------------------------------------------------------------------------------------------


def _check_lift(aggregate: Aggregate, kinds: Sequence[Any]) -> None:
    """Refuse columns that lift refuses, such as times that are not moments, before anything runs."""
    try:
        values = [made_up(kind) for kind in kinds]
    except TypeError:
        return  # nothing is known of such values
    try:
        aggregate.monoid.lift(*values)
    except TypeError as error:
        raise TypeError(f"{aggregate!r} does not work on {', '.join(map(str, kinds))}: {error}") from error


def _tried(aggregate: Aggregate, kinds: Sequence[Any]) -> Any:
    over = ", ".join(map(str, kinds))
    try:
        found = _of_made_up_rows(aggregate.monoid, kinds)
    except Exception as error:
        if aggregate.monoid.builtin:
            raise TypeError(f"{aggregate!r} does not work on {over}: {error}") from error
        raise TypeError(
            f"the type of {aggregate!r} over {over} is not known ({type(error).__name__}: {error}): "
            f"give result_type= to wr.monoid(...), such as result_type='string'"
        ) from error
    if pa.types.is_null(found):
        raise TypeError(
            f"the type of {aggregate!r} is not known: give result_type= to wr.monoid(...), such as 'float64'"
        )
    return _with_decimals(found, aggregate.monoid, kinds)


def _decimal(monoid: Monoid, kind: Any) -> Any:
    """As Spark has it: sums gain ten digits, means four behind the point. A user's own may need all."""
    if monoid.decimal_gain == (0, 0):
        return kind
    more, behind = monoid.decimal_gain
    make, most = (pa.decimal256, 76) if pa.types.is_decimal256(kind) else (pa.decimal128, 38)
    return make(min(most, kind.precision + more), min(most, kind.scale + behind))


def _with_decimals(kind: Any, monoid: Monoid, given: Sequence[Any]) -> Any:
    """The type of results over columns of which one is of decimals, with planned digits in place of those
    that were inferred from a value; results of several aggregates together have the digits of each."""
    if pa.types.is_decimal(kind):
        decimals = [each for each in given if pa.types.is_decimal(each)]
        return _decimal(monoid, decimals[0]) if decimals else kind
    if pa.types.is_list(kind):
        return pa.list_(_with_decimals(kind.value_type, monoid, given))
    if pa.types.is_struct(kind):
        members = [(field, monoid.members.get(field.name, monoid)) for field in kind]
        return pa.struct([field.with_type(_with_decimals(field.type, m, given)) for field, m in members])
    return kind


# -- made-up rows --------------------------------------------------------------------------------------------


_VALUES: list[tuple[Callable[[Any], bool], Callable[[Any], Any]]] = [
    (pa.types.is_boolean, lambda kind: True),
    (pa.types.is_integer, lambda kind: 1),
    (pa.types.is_floating, lambda kind: 1.5),
    (pa.types.is_decimal, lambda kind: Decimal(1).scaleb(-kind.scale)),
    (pa.types.is_string, lambda kind: "a"),
    (pa.types.is_large_string, lambda kind: "a"),
    (pa.types.is_binary, lambda kind: b"a"),
    (pa.types.is_large_binary, lambda kind: b"a"),
    (pa.types.is_fixed_size_binary, lambda kind: b"a" * kind.byte_width),
    (pa.types.is_date, lambda kind: _MOMENT.date()),
    (pa.types.is_time, lambda kind: _MOMENT.time()),
    (pa.types.is_timestamp, lambda kind: _MOMENT if kind.tz else _MOMENT.replace(tzinfo=None)),
    (pa.types.is_duration, lambda kind: dt.timedelta(seconds=1)),
    (pa.types.is_list, lambda kind: [made_up(kind.value_type)]),
    (pa.types.is_large_list, lambda kind: [made_up(kind.value_type)]),
    (pa.types.is_fixed_size_list, lambda kind: [made_up(kind.value_type)] * kind.list_size),
    (pa.types.is_map, lambda kind: [(made_up(kind.key_type), made_up(kind.item_type))]),
    (pa.types.is_struct, lambda kind: {field.name: made_up(field.type) for field in kind}),
]


def made_up(kind: Any) -> Any:
    """A value of an Arrow type, as Python sees those of a column.

    >>> made_up(pa.list_(pa.int64()))
    [1]
    """
    for matches, make in _VALUES:
        if matches(kind):
            return pa.array([make(kind)], kind).to_pylist()[0]
    raise TypeError(f"no value of type {kind} can be made up")
