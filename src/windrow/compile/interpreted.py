"""Functions in two forms: compiled by Numba, and interpreted on the same arrays.

To compile the kernels of a query takes seconds, once; to interpret them on a few thousand rows takes less. So
a function is wrapped first, and becomes one form or the other when something asks for it. A form is a copy of
the function in which each wrapped function that it reaches, among its globals or in its closure, is of that
form too. What touches buffers (:mod:`windrow.compile.access`) has a form of its own for arrays.

Invariant: both forms do the same operations in the same order on values of the same types, so that results
are equal bit for bit. Importing this module imports neither Numba nor llvmlite.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from windrow.compile import access, array_access

__all__ = ["Source", "interpreted_helper", "rebound"]

_ON_ARRAYS = {getattr(access, name): getattr(array_access, name) for name in array_access.__all__}


class Source:
    """A function, and how it is compiled: ``make`` takes the copy that calls compiled functions. What else
    is asked of it is asked of the compiled form.

    >>> double = Source(lambda x: 2 * x, make=lambda function: function)
    >>> double.interpreted(21), double.compiled(21)
    (42, 42)
    """

    def __init__(
        self, function: types.FunctionType, make: Callable[..., Any], jit: Callable[..., Any] | None = None
    ) -> None:
        self.function = function
        self._make = make
        #: wraps plain functions that this one calls; None: Numba takes them as they are
        self._jit = jit

    @property
    def py_func(self) -> Any:
        """The function as it was written."""
        return self.function

    @functools.cached_property
    def compiled(self) -> Any:
        return self._make(rebound(self.function, self._compiled_form))

    @functools.cached_property
    def interpreted(self) -> Any:
        return rebound(self.function, _interpreted_form)

    def _compiled_form(self, value: Any, caller: Any) -> Any:
        if isinstance(value, Source):
            return value.compiled
        if self._jit is not None and _is_helper(value, caller):
            return self._jit(value).compiled
        return value

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.compiled(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.compiled, name)


@functools.cache
def interpreted_helper(function: Any) -> Any:
    """A plain function that kernels call, for arrays."""
    return rebound(function, _interpreted_form) if isinstance(function, types.FunctionType) else function


def _interpreted_form(value: Any, caller: Any) -> Any:
    if isinstance(value, Source):
        return value.interpreted
    if isinstance(value, types.FunctionType) and value in _ON_ARRAYS:
        return _ON_ARRAYS[value]
    value = getattr(value, "py_func", value)  # of what Numba was given to compile
    return interpreted_helper(value) if _is_helper(value, caller) else value


def _is_helper(value: Any, caller: Any) -> bool:
    """Whether a value is a plain function that a kernel calls."""
    if not isinstance(value, types.FunctionType) or value is caller:
        return False
    return value.__module__ != access.__name__


def rebound(function: types.FunctionType, form: Callable[[Any, Any], Any]) -> types.FunctionType:
    """The same function with ``form(value, function)`` in place of the globals that it names and of what it
    has captured; itself where none differs."""
    scope = function.__globals__
    named = {name: scope[name] for name in function.__code__.co_names if name in scope}
    renewed = {name: found for name, value in named.items() if (found := form(value, function)) is not value}
    cells = function.__closure__ or ()
    captured = [cell.cell_contents for cell in cells]
    wanted = [form(value, function) for value in captured]
    if not renewed and all(new is old for new, old in zip(wanted, captured, strict=True)):
        return function
    closure = tuple(
        cell if new is old else types.CellType(new)
        for cell, new, old in zip(cells, wanted, captured, strict=True)
    )
    scope = {**scope, **renewed}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, closure)
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
