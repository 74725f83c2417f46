"""Why an aggregate runs in plain Python and not as native code.

A user's aggregate that falls back says so once for each reason, with the remedy: what does not compile is
reported by :mod:`windrow.compile.native`, and what has no native form, or raises there alone, from here.
``compile=False`` says that plain Python is meant: then nothing is reported. ``explain()`` shows the reasons
that are known before there is data.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.compile.columns import as_array
from windrow.compile.layout import layout_of
from windrow.compile.native import NotCompilable, jit_for, warn_plain
from windrow.monoids.base import Monoid

__all__ = ["plain_reason", "reason_for_types", "warn_of_error", "warn_of_values"]

#: what was reported of each aggregate
_reported: weakref.WeakKeyDictionary[Monoid, set[str]] = weakref.WeakKeyDictionary()
_NUMBERS = (bool, int, float, np.bool_, np.number)


def plain_reason(monoid: Monoid) -> str:
    """Why an aggregate runs in plain Python, whatever its columns are; empty: its columns decide.

    >>> import windrow as wr
    >>> plain_reason(wr.monoid(name="names", lift=lambda v: {v}, combine=set.union, identity=set()))
    'the identity set() is not a number or a flat tuple of numbers'
    >>> plain_reason(wr.monoid(lift=str, combine=str.__add__, identity="", compile=False))
    'it was made with compile=False'
    """
    if monoid.builtin:
        return ""
    if not monoid.compiles_for:
        return "it was made with compile=False"
    members = monoid.identity if isinstance(monoid.identity, tuple) else (monoid.identity,)
    if members and all(isinstance(member, _NUMBERS) for member in members):
        return ""
    return f"the identity {monoid.identity!r} is not a number or a flat tuple of numbers"


def reason_for_types(monoid: Monoid, columns: Sequence[Any], dtypes: tuple[np.dtype[Any], ...] | None) -> str:
    """Why an aggregate runs in plain Python over these columns; ``dtypes``: those of their native form, None
    where there is none. Empty: it does not."""
    reason = plain_reason(monoid)
    if reason or dtypes is None:
        return reason or _without_form(columns)
    try:
        layout_of(monoid, dtypes, jit_for(checked=not monoid.builtin))
    except NotCompilable as why:
        return str(why)
    return ""


def warn_of_values(monoid: Monoid, columns: Sequence[Any]) -> None:
    """Report columns that have no native form; columns of nulls alone may have one later."""
    if not monoid.builtin and monoid.compiles_for:
        _report(monoid, _without_form(columns))


def warn_of_error(monoid: Monoid, error: BaseException) -> None:
    """Report what native code raised and plain Python did not. A loop that does not compile was reported when
    it was built."""
    if monoid.compiles_for and not isinstance(error, NotCompilable):
        _report(monoid, f"native code raised {type(error).__name__}: {error}")


def _report(monoid: Monoid, reason: str) -> None:
    known = _reported.setdefault(monoid, set())
    if reason and reason not in known:
        known.add(reason)
        warn_plain(monoid, reason)


def _without_form(columns: Sequence[Any]) -> str:
    """Which of the columns has no native form, and what would; empty: all have one, or hold nothing."""
    for column in columns:
        kind = "" if as_array(column) is not None else _kind(column)
        if kind in ("int", "uint64"):
            return "integers beyond 63 bits have no native form: cast the column to float64"
        if kind:
            return f"values of type {kind} have no native form: cast the column if it means numbers"
    return ""


def _kind(column: Any) -> str:
    """The type of values; empty: there is none."""
    kind = str(getattr(column, "type", None) or getattr(column, "dtype", "object"))
    if kind == "object":
        kind = " and ".join(sorted({type(value).__name__ for value in column if value is not None}))
    return "" if kind == "null" else kind
