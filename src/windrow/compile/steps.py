"""Compiled functions that other compiled functions call.

Numba gives each function that it compiles two entry points: one for Python and one for C. Each repeats all
of the inlined code, and a kernel has a dozen functions that only the kernel calls. A :class:`Step` has
neither, so kernels compile faster. A call from Python still works: it goes to a form with an entry point,
compiled at the first such call. An :class:`EntryPoint` is compiled by one process at a time, where compiled
code is kept on disk. Importing this module imports Numba.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from numba.core.registry import CPUDispatcher

from windrow.compile.interpreted import Source

__all__ = ["ENTRY", "LINKED", "NO_ENTRY_POINTS", "EntryPoint", "Step", "for_python"]

#: compilers for functions that Python calls, and for functions that compiled functions call: those of
#: :mod:`windrow.compile.linked`, which know Numba's internals, or Numba's own where these have moved. Kernels
#: then take longer to compile and do the same
ENTRY: Any
LINKED: Any

try:
    from windrow.compile.linked import EntryCompiler, LinkedCompiler
except (ImportError, AttributeError):
    from numba.core.compiler import Compiler

    ENTRY = LINKED = Compiler
else:
    ENTRY, LINKED = EntryCompiler, LinkedCompiler

#: Numba's options: no entry point for Python, none for C
NO_ENTRY_POINTS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class EntryPoint(CPUDispatcher):
    """A function for Python to call."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals or {}, targetoptions or {}, pipeline_class=ENTRY)

    def compile(self, sig: Any) -> Any:
        """Of several processes that need it, one compiles it, and the others load it."""
        is_kept = hasattr(self._cache, "turn")  # on disk
        is_compiled = isinstance(sig, tuple) and sig in self.overloads
        with self._cache.turn(sig) if is_kept and not is_compiled else contextlib.nullcontext():
            return super().compile(sig)


class Step(CPUDispatcher):
    """A function for compiled functions to call.

    Invariant: Numba's dispatch of calls from Python never sees a compiled form of it: none has an address to
    jump to, and a jump would end the process.

    >>> @functools.partial(Step, targetoptions={"nopython": True})
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        options = {**(targetoptions or {}), **NO_ENTRY_POINTS}
        super().__init__(py_func, locals or {}, options, pipeline_class=LINKED)

    @functools.cached_property
    def callable_form(self) -> Any:
        """The same function, for Python to call."""
        options = {**self.targetoptions, "no_cpython_wrapper": False}
        return EntryPoint(self.py_func, self.locals, options)

    def add_overload(self, cres: Any) -> None:
        self.overloads[tuple(cres.signature.args)] = cres

    def compile(self, sig: Any) -> None:
        """Compile for these types. There is nothing to return, as Python cannot call what was compiled."""
        super().compile(sig)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """What Numba asks for when it has no compiled form for a call from Python."""
        return self.callable_form._compile_for_args(*args, **kws)


def for_python(function: Any) -> Any:
    """The form of a compiled function that Python calls without a detour."""
    function = function.compiled if isinstance(function, Source) else function
    return function.callable_form if isinstance(function, Step) else function
