"""Sliding windows of queries: the algorithm that :func:`~windrow.swag.choose` picks, as engines drive it.

Measured natively, Subtract on Evict is the faster one for what it is picked for (`count`, `share`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.compile.native import NativeMonoid, NotCompilable
from windrow.monoids.base import Monoid
from windrow.swag.choose import choose
from windrow.swag.fifo import FifoSwag
from windrow.swag.native.kernels import driver_kernel

__all__ = ["sliding_algorithm", "sliding_kernel", "sliding_window"]


def sliding_algorithm(monoid: Monoid) -> type[FifoSwag]:
    """The algorithm for windows over ranges whose fronts and stops do not fall."""
    found = choose(monoid).algorithm
    assert issubclass(found, FifoSwag)
    return found


def sliding_window(monoid: Monoid) -> FifoSwag:
    """An empty window, for any Python objects."""
    return sliding_algorithm(monoid)(monoid)


def sliding_kernel(form: NativeMonoid, driver: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A driver of :mod:`windrow.swag.native.drivers` for these arguments, compiled."""
    kernel = driver_kernel(form, sliding_algorithm(form.monoid), driver, arguments)
    if kernel is None:
        raise NotCompilable(f"no native loop for {form.monoid.name!r}")
    return kernel
