"""The native form of a monoid whose partial is a row of numbers (sketches).

A batch becomes 64-bit codes first, one per value; rows are lifted into and combined in place, so that nothing
is allocated. The result is what lower makes of a row, if that compiles to a number, or the row itself as
bytes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.compile.columns import as_array, inputs_of
from windrow.compile.native import jit_for
from windrow.monoids.base import Monoid, WideState

__all__ = ["Codes", "WideForm", "codes_of", "wide_form"]


@dataclass(frozen=True, eq=False)
class WideForm:
    """The compiled functions of a monoid over rows."""

    monoid: Monoid
    wide: WideState
    lift_into: Any
    combine_into: Any
    #: None: the row itself is the result
    lower: Any
    jit: Callable[..., Any]
    kernels: dict[Any, Callable[..., Any]] = field(default_factory=dict[Any, Any])

    def to_native(self, partial: Any) -> Any:
        return partial

    def to_plain(self, element: Any) -> Any:
        return self.monoid.identity if not element.any() else element.copy()


@dataclass(frozen=True, slots=True)
class Codes:
    """A batch of values as 64-bit codes, and which of them are to be skipped."""

    codes: np.ndarray[Any, np.dtype[np.uint64]]
    nulls: np.ndarray[Any, np.dtype[np.bool_]] | None

    def __len__(self) -> int:
        return len(self.codes)


_forms: weakref.WeakKeyDictionary[Monoid, WideForm] = weakref.WeakKeyDictionary()


def wide_form(monoid: Monoid) -> WideForm:
    if monoid not in _forms:
        assert monoid.wide is not None
        jit = jit_for(checked=False)
        row_itself = monoid.result_type == "binary"
        _forms[monoid] = WideForm(
            monoid=monoid,
            wide=monoid.wide,
            lift_into=jit(monoid.wide.lift_into),
            combine_into=jit(monoid.wide.combine_into),
            lower=None if row_itself else jit_for(checked=False, allocates=True)(monoid.lower),
            jit=jit,
        )
    return _forms[monoid]


def codes_of(values: Any, monoid: Monoid) -> Codes:
    """The codes of a column of numbers, text or anything that the monoid can encode."""
    from windrow.monoids.hashing import encode_array

    assert monoid.wide is not None
    (column,) = inputs_of(values, monoid)
    converted = as_array(column)
    if converted is not None:
        array, nulls = converted
        if monoid.nan == "ignore" and array.dtype.kind == "f":
            nulls = np.isnan(array) if nulls is None else nulls | np.isnan(array)
        return Codes(encode_array(array), nulls)
    objects = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    skipped = np.fromiter((monoid.skips((value,)) for value in objects), np.bool_, len(objects))
    encode = monoid.wide.encode
    codes = (0 if skip else encode(value) for value, skip in zip(objects, skipped, strict=True))
    return Codes(np.fromiter(codes, np.uint64, len(objects)), skipped if skipped.any() else None)
