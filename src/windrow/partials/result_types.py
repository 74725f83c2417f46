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
from windrow.partials.results import array_of, arrow_type, holds_decimals, result_array
from windrow.partials.value_aggregates import Bag, family_of
from windrow.rows.columns import check_flags, plain_type
from windrow.spec import Spec

__all__ = ["check_inputs", "decimals_over", "made_up", "planned_type", "result_type", "type_over"]

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
    _check_kinds(aggregate, kinds)
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
    first, second = (monoid.lift(*[made_up(kind, k) for kind in kinds]) for k in (1, 2))
    partial = monoid.combine(monoid.combine(monoid.identity, first), second)
    return result_array(monoid, [monoid.lower(partial)]).type


def _holds(matches: Callable[[Any], bool], kind: Any) -> bool:
    """Whether a type is, or has in it, such a one."""
    inner = [kind.field(k).type for k in range(kind.num_fields)]
    return matches(kind) or any(_holds(matches, each) for each in inner)


# -- promises ------------------------------------------------------------------------------------------------


def check_inputs(query: Spec, schema: pa.Schema) -> None:
    """Refuse columns that an aggregate does not take, and columns of ``where`` that are not boolean.

    >>> import windrow as wr
    >>> query = wr.query(time="t").window(wr.Tumbling(10)).agg(m=wr.mean("who"))
    >>> check_inputs(query, pa.schema({"t": pa.int64(), "who": pa.string()}))
    Traceback (most recent call last):
    TypeError: mean('who') does not work on column 'who' of type string: cast it to a number, such as
    float64, or take an aggregate of text, such as count, count_distinct, first, last, max, min or collect
    """
    check_flags(query, schema)
    for _, aggregate in query.aggregates:
        _check_kinds(aggregate, _kinds(aggregate, schema))


def _check_kinds(aggregate: Aggregate, kinds: tuple[Any, ...]) -> None:
    error = _refused(aggregate.monoid, kinds) if kinds and aggregate.monoid.builtin else None
    if error is None:
        return
    pairs = list(zip(aggregate.inputs, kinds, strict=True))
    strange = [pair for pair in pairs if not _is_number(pair[1])] or pairs
    over = " and ".join(dict.fromkeys(f"column {name!r} of type {kind}" for name, kind in strange))
    says_what_to_do = "olumn" in str(error) or "give a" in str(error)
    remedy = str(error) if says_what_to_do else _remedy(strange[0][1])
    raise TypeError(f"{aggregate!r} does not work on {over}: {remedy}") from error


@functools.lru_cache(maxsize=1024)
def _refused(monoid: Monoid, kinds: tuple[Any, ...]) -> Exception | None:
    """What an aggregate raises over two rows of these types, if anything is known of such values."""
    try:
        for kind in kinds:
            made_up(kind)
    except TypeError:
        return None
    try:
        _of_made_up_rows(monoid, kinds)
    except (TypeError, ValueError) as error:
        return error
    return None


def _is_number(kind: Any) -> bool:
    return any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))


def _remedy(kind: Any) -> str:
    if pa.types.is_nested(kind):
        return "take one of its fields or elements, in a column of its own"
    number, others = "float64", "text, such as count, count_distinct, first, last, max, min or collect"
    if pa.types.is_temporal(kind):
        number, others = "int64", "times, such as count, first, last, max or min"
    return f"cast it to a number, such as {number}, or take an aggregate of {others}"


def _tried(aggregate: Aggregate, kinds: Sequence[Any]) -> Any:
    over = ", ".join(map(str, kinds))
    try:
        found = _of_made_up_rows(aggregate.monoid, kinds)
    except Exception as error:
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


_VALUES: list[tuple[Callable[[Any], bool], Callable[[Any, int], Any]]] = [
    (pa.types.is_boolean, lambda kind, k: k == 1),
    (pa.types.is_integer, lambda kind, k: k),
    (pa.types.is_floating, lambda kind, k: k + 0.5),
    (pa.types.is_decimal, lambda kind, k: Decimal(k).scaleb(-kind.scale)),
    (pa.types.is_string, lambda kind, k: "a" * k),
    (pa.types.is_large_string, lambda kind, k: "a" * k),
    (pa.types.is_binary, lambda kind, k: b"a" * k),
    (pa.types.is_large_binary, lambda kind, k: b"a" * k),
    (pa.types.is_fixed_size_binary, lambda kind, k: bytes([96 + k]) * kind.byte_width),
    (pa.types.is_date, lambda kind, k: (_MOMENT + dt.timedelta(days=k)).date()),
    (pa.types.is_time, lambda kind, k: dt.time(k)),
    (pa.types.is_timestamp, lambda kind, k: _moment(k) if kind.tz else _moment(k).replace(tzinfo=None)),
    (pa.types.is_duration, lambda kind, k: dt.timedelta(seconds=k)),
    (pa.types.is_list, lambda kind, k: [made_up(kind.value_type, k)]),
    (pa.types.is_large_list, lambda kind, k: [made_up(kind.value_type, k)]),
    (pa.types.is_fixed_size_list, lambda kind, k: [made_up(kind.value_type, k)] * kind.list_size),
    (pa.types.is_map, lambda kind, k: [(made_up(kind.key_type, k), made_up(kind.item_type, k))]),
    (pa.types.is_struct, lambda kind, k: {field.name: made_up(field.type, k) for field in kind}),
]


def _moment(k: int) -> dt.datetime:
    return _MOMENT + dt.timedelta(days=k)


def made_up(kind: Any, k: int = 1) -> Any:
    """A value of an Arrow type, as Python sees those of a column; another for another number, 1 or 2.

    >>> made_up(pa.list_(pa.int64())), made_up(pa.string(), 2)
    ([1], 'aa')
    """
    for matches, make in _VALUES:
        if matches(kind):
            return pa.array([make(kind, k)], kind).to_pylist()[0]
    raise TypeError(f"no value of type {kind} can be made up")
