"""Read numpy's timedelta64 and datetime64 scalars without importing numpy.

Purpose: users hand over numpy scalars, and this package must not load numpy to understand them.
Invariant: only the scalar's own attributes are used (``dtype.kind``, ``dtype.str``, ``astype``).
Source: numpy writes the unit into the type string: ``<m8[s]``, ``<m8[25us]``, ``<M8[D]``.
"""

from __future__ import annotations

import re
from typing import Any, Protocol, TypeGuard

_UNIT = re.compile(r"\[([0-9]*)([A-Za-z]+)\]$")
_NOT_A_TIME = -(2**63)


class NumpyScalar(Protocol):
    """What is used of ``numpy.timedelta64`` and ``numpy.datetime64``."""

    @property
    def dtype(self) -> Any: ...

    def astype(self, dtype: Any, /) -> Any: ...


def is_timedelta64(value: object) -> TypeGuard[NumpyScalar]:
    """Whether the value is a numpy.timedelta64 scalar."""
    return _kind(value) == "m"


def is_datetime64(value: object) -> TypeGuard[NumpyScalar]:
    """Whether the value is a numpy.datetime64 scalar."""
    return _kind(value) == "M"


def count_and_unit(value: NumpyScalar, name: str) -> tuple[int, str]:
    """The scalar as a number of numpy units, for instance ``(90, "s")``.

    Raises:
        ValueError: for NaT, and for a scalar without a unit.
    """
    found = _UNIT.search(value.dtype.str)
    if found is None:
        raise ValueError(f"{name} {value!r} has no unit: give one, such as numpy.timedelta64(5, 'm')")
    count = int(value.astype("int64"))
    if count == _NOT_A_TIME:
        raise ValueError(f"{name} is NaT: give a real time or duration")
    return count * int(found[1] or 1), found[2]


def _kind(value: object) -> str | None:
    dtype = getattr(value, "dtype", None)
    is_scalar = getattr(value, "shape", None) == ()
    return getattr(dtype, "kind", None) if is_scalar else None
