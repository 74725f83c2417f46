"""A monoid's functions as native ones, or the reason why not.

Kernels are memoised by monoid and input types; a monoid that does not compile is reported once, as a
:class:`CompileWarning` that names the function and what Numba said, and runs in plain Python from then on.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.compile import access
from windrow.compile.cache import attach, folder_of, is_known
from windrow.compile.fingerprint import Unfingerprintable, fingerprint
from windrow.compile.layout import Layout, NotCompilable, layout_of, native_identity
from windrow.compile.turns import turn
from windrow.errors import warn_caller
from windrow.monoids.base import Monoid

__all__ = [
    "CompileWarning",
    "NativeMonoid",
    "NotCompilable",
    "NotOnDisk",
    "build",
    "jit_for",
    "native",
    "only_loading",
    "warn_plain",
]


class CompileWarning(UserWarning):
    """A user's aggregate runs in plain Python because a function of it does not compile."""


@functools.cache
def jit_for(checked: bool, allocates: bool = False) -> Callable[..., Any]:
    """A decorator that compiles a function, and with it the plain Python functions that it calls.

    All is inlined into one function, so that the optimiser sees one loop with its registers.
    ``checked`` keeps Python's errors (division by zero) for functions windrow did not write. There is
    nothing to count references of in a kernel, so counting is off. What it returns is a
    :class:`~windrow.compile.steps.Step`, made for other compiled functions to call.
    """
    import windrow.compile.overloads  # noqa: F401  (registers the native forms)
    from windrow.compile.steps import Step

    options: dict[str, Any] = {
        "nopython": True,
        "error_model": "python" if checked else "numpy",
        "nogil": True,
        "forceinline": True,
        "_nrt": allocates,
    }
    made: dict[types.FunctionType, Any] = {}

    def jit(function: Any) -> Any:
        if not isinstance(function, types.FunctionType):
            return function
        if function not in made:
            made[function] = Step(_with_compiled_helpers(function, jit), targetoptions=options)
        return made[function]

    return jit


def _with_compiled_helpers(function: types.FunctionType, jit: Callable[..., Any]) -> types.FunctionType:
    """The same function, calling compiled forms of the plain functions among its globals and closure
    cells."""
    scope = function.__globals__
    helpers = {
        name: scope[name] for name in function.__code__.co_names if _is_helper(scope.get(name), function)
    }
    cells = function.__closure__ or ()
    captured = [cell.cell_contents for cell in cells]
    if not helpers and not any(_is_helper(value, function) for value in captured):
        return function
    closure = tuple(
        types.CellType(jit(value)) if _is_helper(value, function) else cell
        for cell, value in zip(cells, captured, strict=True)
    )
    renewed = {**scope, **{name: jit(helper) for name, helper in helpers.items()}}
    copy = types.FunctionType(function.__code__, renewed, function.__name__, function.__defaults__, closure)
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    return copy


def _is_helper(value: Any, caller: Any) -> bool:
    if not isinstance(value, types.FunctionType) or value is caller:
        return False
    return value.__module__ != access.__name__


@dataclass(frozen=True, eq=False)
class NativeMonoid:
    """The compiled functions of a monoid for one choice of input types."""

    monoid: Monoid
    dtypes: tuple[np.dtype[Any], ...]
    layout: Layout
    identity: Any
    jit: Callable[..., Any]
    lift: Any
    combine: Any
    lower: Any
    inverse: Any
    #: entry points already built, by whatever tells them apart
    kernels: dict[Any, Callable[..., Any] | None] = field(default_factory=dict[Any, Any])
    #: steps of algorithms, which all kernels share, and those of forms with another lift or lower too
    steps: dict[Any, Any] = field(default_factory=dict[Any, Any])
    #: forms with another lift or lower, by name
    variants: dict[str, NativeMonoid] = field(default_factory=dict[str, Any])

    @functools.cached_property
    def adds_integers(self) -> bool:
        """Whether partials are sums of integers, which may leave 64 bits."""
        return self.monoid.adds_integers and "i8" in self.layout.partial

    def to_native(self, partial: Any) -> Any:
        """A plain partial with exactly the native types; ValueError where it does not fit them."""
        if partial is self.monoid.identity:
            return self.identity
        value = self.layout.partial_value(partial)
        if not _equal(self.layout.python_value(value), partial):
            raise ValueError(f"{partial!r} does not fit {self.layout.partial}")
        return value

    def to_plain(self, element: Any) -> Any:
        """The plain partial of an element of a ring, or of a register."""
        value = self.layout.python_value(element) if hasattr(element, "item") else element
        return self.monoid.identity if value == self.layout.python_value(self.identity) else value


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b or (a != a and b != b))


_natives: weakref.WeakKeyDictionary[Monoid, dict[Any, NativeMonoid | str]] = weakref.WeakKeyDictionary()


def native(monoid: Monoid, dtypes: tuple[np.dtype[Any], ...]) -> NativeMonoid | None:
    """The native form for these inputs, or None (with one warning for a user's monoid)."""
    known = _natives.setdefault(monoid, {})
    key = dtypes
    if key not in known:
        try:
            known[key] = _compile(monoid, dtypes)
        except NotCompilable as reason:
            known[key] = str(reason)
            if not monoid.builtin and monoid.compiles_for:
                warn_plain(monoid, str(reason))
    found = known[key]
    return found if isinstance(found, NativeMonoid) else None


def warn_plain(monoid: Monoid, reason: str) -> None:
    warn_caller(
        f"aggregate {monoid.name!r} runs in plain Python, not as native code: {reason}. "
        f"Give compile=False to wr.monoid(...) if that is fine.",
        CompileWarning,
    )


def _compile(monoid: Monoid, dtypes: tuple[np.dtype[Any], ...]) -> NativeMonoid:
    bad = [d for d in dtypes if d.kind not in monoid.compiles_for]
    if bad:
        raise NotCompilable(f"inputs of type {bad[0]} have no native form here")
    jit = jit_for(checked=not monoid.builtin)
    layout = layout_of(monoid, dtypes, jit)
    return NativeMonoid(
        monoid=monoid,
        dtypes=dtypes,
        layout=layout,
        identity=layout.partial_value(native_identity(monoid, dtypes)),
        jit=jit,
        lift=jit(monoid.native_lift or monoid.lift),
        combine=jit(monoid.combine),
        lower=jit(monoid.lower),
        inverse=jit(monoid.inverse) if monoid.inverse else None,
    )


class NotOnDisk(BaseException):
    """A kernel that would have to be compiled, while kernels are only loaded. Not an ``Exception``: what runs
    in plain Python where a kernel cannot be compiled must not take it for that."""


_only_loads: ContextVar[bool] = ContextVar("windrow only loads kernels", default=False)


@contextlib.contextmanager
def only_loading() -> Iterator[None]:
    """Kernels of aggregates that are not on disk raise :class:`NotOnDisk` in here, and are not compiled."""
    token = _only_loads.set(True)
    try:
        yield
    finally:
        _only_loads.reset(token)


def build(
    factory: Callable[..., Any], jit: Callable[..., Any], *functions: Any, arguments: tuple[Any, ...]
) -> Any:
    """Compile ``factory(jit, *functions)`` for these arguments and return the entry point: a call of it
    converts each argument to the compiled type and does not dispatch again. Loaded from disk where it is
    known there."""
    from numba import typeof

    from windrow.compile.steps import for_python

    dispatcher = for_python(factory(jit, *functions))
    signature = tuple(_writable(typeof(argument)) for argument in arguments)
    folder = None
    with contextlib.suppress(Unfingerprintable):
        print_ = fingerprint(dispatcher)
        attach(dispatcher, print_)
        if is_known(dispatcher, signature):
            return dispatcher.compile(signature)
        folder = folder_of(print_)
    if _only_loads.get():
        raise NotOnDisk(factory.__name__)
    with _announced(), turn(folder):
        return dispatcher.compile(signature)


def _writable(kind: Any) -> Any:
    """The type for arrays that may be written to, which serves the others too: one kernel for both."""
    from numba import types as numba_types

    if isinstance(kind, numba_types.Array):
        return kind.copy(readonly=False)
    if isinstance(kind, (numba_types.UniTuple, numba_types.Tuple)):
        return numba_types.BaseTuple.from_types([_writable(part) for part in kind])
    return kind


@contextlib.contextmanager
def _announced() -> Iterator[None]:
    """Say on a terminal that something is being compiled: it takes a second or two, once."""
    if not sys.stderr.isatty():
        yield
        return
    sys.stderr.write("windrow: compiling a kernel (once; later runs load it) ...")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
