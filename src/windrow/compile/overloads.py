# mypy: allow-untyped-defs
"""The native twins of :mod:`windrow.compile.access`. Importing this imports Numba.

Partials are numbers in a plain array, or flat tuples of numbers in an array of records: one record a
position, so that a random access touches one cache line. Positions are never negative, and unsigned indices
spare Numba's wrap-around test. (Numba wants the signatures here bare, without annotations.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from windrow.compile import access

__all__: list[str] = []

_OPTIONS = {"forceinline": True, "_nrt": False, "no_cfunc_wrapper": True}


def _function(source: str, **names: Any) -> Any:
    scope: dict[str, Any] = {"np": np, **names}
    exec(source, scope)
    return scope["impl"]


def _is_records(kind: Any) -> bool:
    return isinstance(kind, types.Array) and isinstance(kind.dtype, types.Record)


def _tuple_of(parts: list[str]) -> str:
    return f"({', '.join(parts)},)"


@overload(access.load, jit_options=_OPTIONS)
def _load(buffer, position):
    if _is_records(buffer):
        fields = _tuple_of([f"record.{name}" for name in buffer.dtype.fields])
        return _function(
            f"def impl(buffer, position):\n record = buffer[np.uint64(position)]\n return {fields}"
        )
    if isinstance(buffer, types.Array):
        return lambda buffer, position: buffer[np.uint64(position)]
    return None


@overload(access.store, jit_options=_OPTIONS)
def _store(buffer, position, partial):
    if _is_records(buffer):
        lines = [f" record.{name} = partial[{k}]" for k, name in enumerate(buffer.dtype.fields)]
        head = "def impl(buffer, position, partial):\n record = buffer[np.uint64(position)]\n"
        return _function(head + "\n".join(lines))
    if isinstance(buffer, types.Array):

        def impl(buffer, position, partial):
            buffer[np.uint64(position)] = partial

        return impl
    return None


@overload(access.cast, jit_options=_OPTIONS)
def _cast(like, partial):
    if isinstance(like, types.BaseTuple):
        kinds = {f"t{k}": kind for k, kind in enumerate(like.types)}
        body = _tuple_of([f"t{k}(partial[{k}])" for k in range(len(like.types))])
        return _function(f"def impl(like, partial):\n return {body}", **kinds)
    return _function("def impl(like, partial):\n return kind(partial)", kind=like)


@overload(access.row, jit_options=_OPTIONS)
def _row(columns, index):
    body = _tuple_of([f"columns[{k}][np.uint64(index)]" for k in range(len(columns))])
    return _function(f"def impl(columns, index):\n return {body}")


@overload(access.row_count, jit_options=_OPTIONS)
def _row_count(columns):
    return lambda columns: columns[0].shape[0]


@overload(access.at, jit_options=_OPTIONS)
def _at(places, index):
    if isinstance(places, types.NoneType):
        return lambda places, index: index
    return lambda places, index: places[np.uint64(index)]


@overload(access.is_null, jit_options=_OPTIONS)
def _is_null(nulls, index):
    if isinstance(nulls, types.NoneType):
        return lambda nulls, index: False
    return lambda nulls, index: nulls[np.uint64(index)]


@overload(access.holds_value, jit_options=_OPTIONS)
def _holds_value(lasts, index, front):
    if isinstance(lasts, types.NoneType):
        return lambda lasts, index, front: True
    return lambda lasts, index, front: lasts[np.uint64(index)] >= front


@overload(access.emit, jit_options=_OPTIONS)
def _emit(out, valid, index, result):
    if isinstance(result, types.Optional):

        def impl(out, valid, index, result):
            valid[np.uint64(index)] = result is not None
            if result is not None:
                out[np.uint64(index)] = result

        return impl
    if _is_records(out):
        return lambda out, valid, index, result: access.store(out, index, result)

    def plain(out, valid, index, result):
        out[np.uint64(index)] = result

    return plain


@overload(access.note, jit_options=_OPTIONS)
def _note(where, index, value):
    if isinstance(where, types.NoneType):
        return lambda where, index, value: None

    def impl(where, index, value):
        where[np.uint64(index)] = value

    return impl
