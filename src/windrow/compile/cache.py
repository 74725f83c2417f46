"""Compiled kernels on disk.

Numba's own cache never hits for a kernel whose closure holds other compiled functions: their pickles carry a
random id. Here a kernel is found by a *fingerprint* of everything that decides its machine code: bytecode,
constants, names, defaults and closure cells of each function in it and of each function that these reach,
the versions of windrow and Numba, and the sources of this package. Numba still writes and reads the files
(its format, its check of the processor), under ``$WINDROW_CACHE_DIR`` or the user's cache folder; like
Numba's, they are to be writable by their owner only.

If Numba's internals have moved, or a closure holds something that has no fingerprint, the kernel is compiled
anew in each process: slower to start, never wrong.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Unfingerprintable", "attach", "cache_folder", "fingerprint", "is_known", "recall", "remember"]


class Unfingerprintable(Exception):
    """A function reaches a value whose content cannot be read."""


def cache_folder() -> Path:
    """Where compiled kernels are kept."""
    chosen = os.environ.get("WINDROW_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "windrow"


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


def attach(dispatcher: Any, print_: str) -> Any:
    """Let a Numba dispatcher load from and save to the disk under this fingerprint; without, if that
    fails."""
    try:
        dispatcher._cache = _kernel_cache(dispatcher.py_func, print_)
    except (ImportError, AttributeError, TypeError, OSError):
        return dispatcher  # Numba has changed, or the folder cannot be written: compile in each process
    return dispatcher


def _kernel_cache(function: Any, print_: str) -> Any:
    from numba.core import caching

    class Locator(caching._CacheLocator):
        def __init__(self) -> None:
            self._py_file = "<windrow kernel>"
            self.ensure_cache_path()

        def get_cache_path(self) -> str:
            return str(cache_folder() / print_[:2] / print_)

        def get_source_stamp(self) -> str:
            return print_

        def get_disambiguator(self) -> str:
            return print_

    class Implementation(caching.CompileResultCacheImpl):
        def __init__(self) -> None:
            self._lineno = 0
            self._locator = Locator()
            self._filename_base = f"kernel.py{sys.version_info[0]}{sys.version_info[1]}"

    class KernelCache(caching.FunctionCache):
        def __init__(self) -> None:
            self._name = repr(function)
            self._py_func = function
            self._impl = Implementation()
            self._cache_path = self._impl.locator.get_cache_path()
            self._cache_file = caching.IndexDataCacheFile(self._cache_path, self._impl.filename_base, print_)
            self.enable()

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            return sig, codegen.magic_tuple(), print_

        def _load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                return super()._load_overload(sig, target_context)
            except Exception:
                # cut off, or saved where modules were at hand that are not here: compile anew
                return None

    return KernelCache()


def is_known(print_: str) -> bool:
    """Whether a kernel with this fingerprint lies on disk."""
    return any((cache_folder() / print_[:2] / print_).glob("*.nbi"))


def recall(print_: str, what: str) -> Any:
    """A small JSON note saved with :func:`remember`, or None."""
    try:
        return json.loads((cache_folder() / print_[:2] / print_ / f"{what}.json").read_text())
    except (OSError, ValueError):
        return None


def remember(print_: str, what: str, content: Any) -> None:
    """Save a small JSON note beside the kernels; a folder that cannot be written is no error."""
    folder = cache_folder() / print_[:2] / print_
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{what}.{os.getpid()}.tmp"
        partial.write_text(json.dumps(content))
        partial.replace(folder / f"{what}.json")
    except OSError:
        return
