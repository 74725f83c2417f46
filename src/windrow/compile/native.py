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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.compile.cache import attach, is_known
from windrow.compile.compile_when_it_pays import Entry, NotOnDisk, must_buy, only_loading, only_loads
from windrow.compile.fingerprint import Unfingerprintable
from windrow.compile.interpreted import Source
from windrow.compile.layout import Layout, NotCompilable, layout_of, native_identity
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
    "step_of",
    "warn_plain",
]


class CompileWarning(UserWarning):
    """A user's aggregate runs in plain Python because a function of it does not compile."""


@functools.cache
def jit_for(checked: bool, allocates: bool = False) -> Callable[..., Any]:
    """A decorator that compiles a function, and with it the plain Python functions that it calls.

    All is inlined into one function, so that the optimiser sees one loop with its registers. ``checked``
    keeps Python's errors (division by zero) for functions windrow did not write. There is nothing to count
    references of in a kernel, so counting is off. What it returns is a
    :class:`~windrow.compile.interpreted.Source`, which becomes a :class:`~windrow.compile.steps.Step`, made
    for other compiled functions to call, when one of them is compiled.
    """
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
            made[function] = Source(function, step_of(options), jit)
        return made[function]

    jit.is_checked = checked  # type: ignore[attr-defined]
    return jit


def step_of(options: dict[str, Any]) -> Callable[..., Any]:
    """How a function becomes a step of kernels, by Numba's options."""

    def make(function: Any) -> Any:
        import windrow.compile.overloads  # noqa: F401  (registers the native forms)
        from windrow.compile.steps import Step

        return Step(function, targetoptions=options)

    return make


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
    kernels: dict[Any, Any] = field(default_factory=dict[Any, Any])
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
        combine=jit(monoid.native_combine or monoid.combine),
        lower=jit(monoid.lower),
        inverse=jit(monoid.inverse) if monoid.inverse else None,
    )


class _Built:
    """A kernel for arguments of some types: a call of the compiled form converts each to its type and does
    not dispatch again."""

    def __init__(self, source: Source, arguments: tuple[Any, ...]) -> None:
        self._source, self._arguments = source, tuple(map(_example, arguments))

    @property
    def interpreted(self) -> Any:
        return self._source.interpreted

    def is_on_disk(self, arguments: tuple[Any, ...]) -> bool:
        with contextlib.suppress(Unfingerprintable):
            return is_known(self._dispatcher, self._signature)
        return False

    @functools.cached_property
    def _dispatcher(self) -> Any:
        from windrow.compile.steps import for_python

        return attach(for_python(self._source))

    @functools.cached_property
    def _signature(self) -> tuple[Any, ...]:
        from numba import typeof

        return tuple(_writable(typeof(argument)) for argument in self._arguments)

    @property
    def compiled(self) -> Any:
        """Loaded from disk where it is known there."""
        dispatcher, signature = self._dispatcher, self._signature
        if self.is_on_disk(self._arguments):
            return dispatcher.compile(signature)
        if only_loads.get():
            raise NotOnDisk(self._source.function.__qualname__)
        with _announced():
            return dispatcher.compile(signature)


def _example(argument: Any) -> Any:
    """A value of the same type that holds no rows."""
    if not isinstance(argument, np.ndarray):
        return tuple(map(_example, argument)) if type(argument) is tuple else argument
    few = np.empty((2,) * argument.ndim, argument.dtype)
    if argument.flags.c_contiguous:
        return few
    return few.T if argument.flags.f_contiguous else few.repeat(2, -1)[..., ::2]


def build(
    factory: Callable[..., Any], jit: Callable[..., Any], *functions: Any, arguments: tuple[Any, ...]
) -> Any:
    """The entry point of ``factory(jit, *functions)`` for arguments like these. Windrow's own kernels are
    interpreted until it pays to compile them; users' functions are compiled now, and what Numba raises is
    raised here."""
    source = factory(jit, *functions)
    entry = Entry(_Built(source, arguments))
    if getattr(jit, "is_checked", True) or must_buy():
        entry.buy()
    return entry


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
