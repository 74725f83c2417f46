"""What decides the machine code of a kernel, as a short text.

A *fingerprint* is made of bytecode, constants, names, defaults and closure cells of each function in a kernel
and of each function that these reach, of the versions of Python, NumPy and Numba, and of the sources of this
package. Equal fingerprints mean equal code, in any process; Numba's own key does not: it leaves out functions
that a kernel calls, and never matches for one whose closure holds other compiled functions.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Unfingerprintable", "fingerprint"]


class Unfingerprintable(Exception):
    """A function reaches a value whose content cannot be read."""


@functools.cache
def _salt() -> bytes:
    import llvmlite
    import numba

    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    digest.update(f"{numba.__version__} {llvmlite.__version__} {np.__version__} {sys.version}".encode())
    return digest.digest()


class _Digest:
    """Feeds values into a hash, each with its type, following functions into what they reach."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(_salt())
        self._seen: dict[int, int] = {}

    def result(self) -> str:
        return self._hash.hexdigest()[:40]

    def text(self, *parts: object) -> None:
        self._hash.update(repr(parts).encode())

    def value(self, value: Any) -> None:
        python_function = getattr(value, "py_func", None)
        if python_function is not None:  # a Numba dispatcher
            self.text("jit", sorted((k, repr(v)) for k, v in value.targetoptions.items()))
            value = python_function
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.ModuleType):
            self.text("module", value.__name__, getattr(value, "__version__", ""))
        elif value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self.text(type(value).__name__, value)
        elif isinstance(value, (tuple, list)):
            self.text(type(value).__name__, len(value))
            for item in value:
                self.value(item)
        elif isinstance(value, np.ndarray):
            self.text("array", value.dtype.str, value.shape, value.tobytes())
        elif isinstance(value, (np.generic, np.dtype)):
            self.text("numpy", repr(value))
        elif isinstance(value, (type, types.BuiltinFunctionType, np.ufunc)):
            self.text(
                "name", getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)
            )
        else:
            raise Unfingerprintable(f"{type(value).__name__} {value!r}")

    def _function(self, function: types.FunctionType) -> None:
        if id(function) in self._seen:
            self.text("again", self._seen[id(function)])
            return
        self._seen[id(function)] = len(self._seen)
        self._code(function.__code__, function.__globals__)
        self.value(function.__defaults__)
        for cell in function.__closure__ or ():
            self.value(cell.cell_contents)

    def _code(self, code: types.CodeType, scope: dict[str, Any]) -> None:
        self.text(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        self.text(code.co_argcount, code.co_kwonlyargcount)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, scope)
            else:
                self.text("constant", type(constant).__name__, constant)
        for name in code.co_names:
            if name in scope and not isinstance(scope[name], types.ModuleType):
                self.text("global", name)
                self.value(scope[name])
            elif name in scope:
                self.text("global module", name, scope[name].__name__)


def fingerprint(*values: Any) -> str:
    """A short text that is equal for equal code and constants, in any process.

    >>> fingerprint(lambda a, b: a + b) == fingerprint(lambda a, b: a + b)
    True
    >>> fingerprint(lambda a, b: a + b) == fingerprint(lambda a, b: a - b)
    False
    """
    digest = _Digest()
    for value in values:
        digest.value(value)
    return digest.result()
