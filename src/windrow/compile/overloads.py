"""Native forms of :mod:`windrow.compile.access`. Importing this module registers them with Numba.

Partials that are tuples live in an array of records: one record per position, so that a random access touches
one cache line. Positions are never negative, and unsigned indices spare Numba's wrap-around test.

Each form is the type of its result, and a function that writes a few instructions into the caller. A form
written in Python, as Numba's ``overload`` takes it, is a function of its own, which Numba analyses, types and
lowers for each mixture of types.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, type_callable

from windrow.compile import access

__all__: list[str] = []

_NUMBERS = (types.Number, types.Boolean)


def _native(function: Any, lower: Any) -> Any:
    """Register the typing function that this decorates, and how a call is lowered."""

    def register(typing: Any) -> Any:
        type_callable(function)(lambda context: typing)
        lower_builtin(function, types.VarArg(types.Any))(lower)
        return typing

    return register


def _is_records(kind: Any) -> bool:
    return isinstance(kind, types.Array) and isinstance(kind.dtype, types.Record)


def _fields(kind: Any) -> list[tuple[str, Any]]:
    """Names and types of the members of records in an array."""
    return [(name, kind.dtype.typeof(name)) for name in kind.dtype.fields]


def _is_number(kind: Any) -> bool:
    return isinstance(kind, _NUMBERS)


# -- instructions --------------------------------------------------------------------------------------------


def _element(context: Any, builder: Any, kind: Any, array: Any, index_kind: Any, index: Any) -> Any:
    """``array[np.uint64(index)]``; of an array of records, where the record lies."""
    unsigned = context.cast(builder, index, index_kind, types.uint64)
    get = context.get_function(operator.getitem, signature(kind.dtype, kind, types.uint64))
    return get(builder, (array, unsigned))


def _put(
    context: Any,
    builder: Any,
    kind: Any,
    array: Any,
    index_kind: Any,
    index: Any,
    value_kind: Any,
    value: Any,
) -> None:
    """``array[np.uint64(index)] = value``; into an array of records, member by member."""
    if _is_records(kind):
        record = _element(context, builder, kind, array, index_kind, index)
        for k, (name, field) in enumerate(_fields(kind)):
            member = builder.extract_value(value, k)
            member = context.cast(builder, member, value_kind.types[k], field)
            put = context.get_setattr(name, signature(types.none, kind.dtype, field))
            put(builder, (record, member))
        return
    unsigned = context.cast(builder, index, index_kind, types.uint64)
    value = context.cast(builder, value, value_kind, kind.dtype)
    put = context.get_function(operator.setitem, signature(types.none, kind, types.uint64, kind.dtype))
    put(builder, (array, unsigned, value))


def _can_put(kind: Any, value: Any) -> bool:
    """Whether an array takes a value."""
    if _is_records(kind):
        return isinstance(value, types.BaseTuple) and len(value) == len(kind.dtype.fields)
    return isinstance(kind, types.Array) and _is_number(value)


# -- partials ------------------------------------------------------------------------------------------------


def _lower_load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, index_kind = sig.args
    found = _element(context, builder, kind, args[0], index_kind, args[1])
    if not _is_records(kind):
        return found
    members = [
        context.get_getattr(kind.dtype, name)(context, builder, kind.dtype, found, name)
        for name, _ in _fields(kind)
    ]
    return context.make_tuple(builder, sig.return_type, members)


@_native(access.load, _lower_load)
def _load(buffer: Any, position: Any) -> Any:
    if _is_records(buffer):
        return types.Tuple([member for _, member in _fields(buffer)])
    return buffer.dtype if isinstance(buffer, types.Array) else None


def _lower_store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, index_kind, value_kind = sig.args
    _put(context, builder, kind, args[0], index_kind, args[1], value_kind, args[2])
    return context.get_dummy_value()


@_native(access.store, _lower_store)
def _store(buffer: Any, position: Any, partial: Any) -> Any:
    return types.none if _can_put(buffer, partial) else None


def _lower_cast(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, value_kind, value = sig.return_type, sig.args[1], args[1]
    if not isinstance(kind, types.BaseTuple):
        return context.cast(builder, value, value_kind, kind)
    members = [
        context.cast(builder, builder.extract_value(value, k), value_kind.types[k], member)
        for k, member in enumerate(kind.types)
    ]
    return context.make_tuple(builder, kind, members)


@_native(access.cast, _lower_cast)
def _cast(like: Any, partial: Any) -> Any:
    if not isinstance(like, types.BaseTuple):
        return like if _is_number(partial) else None
    if not isinstance(partial, types.BaseTuple) or len(partial) != len(like):
        return None
    return types.Tuple(like.types) if all(map(_is_number, partial.types)) else None


# -- rows ----------------------------------------------------------------------------------------------------


def _lower_row(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kinds, index_kind = sig.args
    members = [
        _element(context, builder, kind, builder.extract_value(args[0], k), index_kind, args[1])
        for k, kind in enumerate(kinds.types)
    ]
    return context.make_tuple(builder, sig.return_type, members)


@_native(access.row, _lower_row)
def _row(columns: Any, index: Any) -> Any:
    return types.Tuple([column.dtype for column in columns.types])


def _lower_row_count(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    first = context.make_array(sig.args[0].types[0])(context, builder, builder.extract_value(args[0], 0))
    return builder.extract_value(first.shape, 0)


@_native(access.row_count, _lower_row_count)
def _row_count(columns: Any) -> Any:
    return types.intp


def _lower_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    places, index_kind = sig.args
    if isinstance(places, types.NoneType):
        return args[1]
    return _element(context, builder, places, args[0], index_kind, args[1])


@_native(access.at, _lower_at)
def _at(places: Any, index: Any) -> Any:
    return index if isinstance(places, types.NoneType) else places.dtype


def _lower_is_null(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    nulls, index_kind = sig.args
    if isinstance(nulls, types.NoneType):
        return context.get_constant(types.boolean, False)
    found = _element(context, builder, nulls, args[0], index_kind, args[1])
    return context.cast(builder, found, nulls.dtype, types.boolean)


@_native(access.is_null, _lower_is_null)
def _is_null(nulls: Any, index: Any) -> Any:
    return types.boolean


def _lower_holds_value(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    lasts, index_kind, front_kind = sig.args
    if isinstance(lasts, types.NoneType):
        return context.get_constant(types.boolean, True)
    last = _element(context, builder, lasts, args[0], index_kind, args[1])
    last = context.cast(builder, last, lasts.dtype, types.int64)
    return builder.icmp_signed(">=", last, context.cast(builder, args[2], front_kind, types.int64))


@_native(access.holds_value, _lower_holds_value)
def _holds_value(lasts: Any, index: Any, front: Any) -> Any:
    return types.boolean


# -- results -------------------------------------------------------------------------------------------------


def _lower_emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    out_kind, valid_kind, index_kind, kind = sig.args
    out, valid, index, result = args
    if not isinstance(kind, types.Optional):
        _put(context, builder, out_kind, out, index_kind, index, kind, result)
        return context.get_dummy_value()
    optional = context.make_helper(builder, kind, result)
    is_valid = cgutils.as_bool_bit(builder, optional.valid)
    _put(context, builder, valid_kind, valid, index_kind, index, types.boolean, is_valid)
    with builder.if_then(is_valid):
        _put(context, builder, out_kind, out, index_kind, index, kind.type, optional.data)
    return context.get_dummy_value()


@_native(access.emit, _lower_emit)
def _emit(out: Any, valid: Any, index: Any, result: Any) -> Any:
    if not isinstance(result, types.Optional):
        return types.none if _can_put(out, result) else None
    if _is_records(out) or not _can_put(out, result.type):
        raise TypingError(f"results of type {result} have no native form")
    return types.none


def _lower_note(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    where, index_kind, value_kind = sig.args
    if not isinstance(where, types.NoneType):
        _put(context, builder, where, args[0], index_kind, args[1], value_kind, args[2])
    return context.get_dummy_value()


@_native(access.note, _lower_note)
def _note(where: Any, index: Any, value: Any) -> Any:
    return types.none
