"""Drivers compiled for an algorithm and a monoid: each is built when it is first asked for, and kept with the
monoid's native form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.compile.compile_when_it_pays import Entry
from windrow.compile.native import NativeMonoid, build, warn_plain
from windrow.swag.fifo import FifoSwag

__all__ = ["driver_kernel"]


def driver_kernel(
    form: NativeMonoid, algorithm: type[FifoSwag], driver: Callable[..., Any], arguments: tuple[Any, ...]
) -> Entry | None:
    """The entry point of a driver for arguments like these, or None, with one warning, if it does not
    compile."""
    known = form.kernels
    key: tuple[Any, ...] = (algorithm, driver, *(argument is None for argument in arguments))
    key = (*key, *(a.dtype.str for a in arguments if isinstance(a, np.ndarray)))
    if key not in known:
        if algorithm not in form.steps:
            form.steps[algorithm] = algorithm._make_operations(form.jit, form)
        steps = form.steps[algorithm]

        def factory(jit: Any, lift: Any, lower: Any) -> Any:
            return driver(jit, steps, lift, lower)

        try:
            known[key] = build(factory, form.jit, form.lift, form.lower, arguments=arguments)
        except Exception as error:  # whatever Numba raises means the same here
            warn_plain(form.monoid, f"{type(error).__name__}: {error}")
            known[key] = None
    return known[key]
