"""Whether sums of integers fit 64 bits: asked before native code adds them up, which would wrap around.

Where they may not fit, the plain form takes over, whose integers have no bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from windrow.compile.native import NativeMonoid

__all__ = ["extreme_integers", "sums_fit"]


def extreme_integers(arrays: Iterable[Any]) -> tuple[int, int]:
    """The smallest and the largest integer in these arrays, or 0; floats and booleans are not looked at."""
    integers = [array for array in arrays if array.dtype.kind == "i" and array.size]
    smallest = min((int(array.min()) for array in integers), default=0)
    return smallest, max((int(array.max()) for array in integers), default=0)


def sums_fit(form: NativeMonoid, smallest: int, largest: int, count: int) -> bool:
    """Whether no partial of so many integers within these bounds can leave 64 bits."""
    if not form.monoid.adds_integers or "i8" not in form.layout.partial:
        return True
    return largest * count < 2**63 and smallest * count >= -(2**63)
