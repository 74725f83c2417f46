"""Which of Numba's compilers compile kernels and their steps: those of :mod:`windrow.compile.linked`, which
know Numba's internals, or, where these have moved, Numba's own. Kernels then take longer to compile and do
the same. Importing this module imports Numba."""

from __future__ import annotations

from typing import Any

__all__ = ["ENTRY", "LINKED"]

#: for functions that Python calls; for functions that compiled functions call
ENTRY: Any
LINKED: Any

try:
    from windrow.compile.linked import EntryCompiler, LinkedCompiler
except (ImportError, AttributeError):
    from numba.core.compiler import Compiler

    ENTRY = LINKED = Compiler
else:
    ENTRY, LINKED = EntryCompiler, LinkedCompiler
