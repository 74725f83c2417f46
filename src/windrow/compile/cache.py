"""Compiled kernels on disk, found by their fingerprints.

An entry is Numba's own form of a compiled function, behind a digest of it and of its place: the fingerprint,
and the name that stands for signature and processor. What was cut off, emptied or changed on disk, or lies
where another entry belongs, is compiled anew, and never reaches the unpickler. A disk that is full, or a
folder that cannot be written, costs time and nothing else. If Numba's internals have moved, or a closure
holds something that has no fingerprint, the kernel is compiled anew in each process: slower to start, never
wrong.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import pickle
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from windrow.compile.cache_folder import cache_folder
from windrow.compile.compile_lock import turn
from windrow.compile.compile_when_it_pays import Entry
from windrow.compile.fingerprint import Unfingerprintable, fingerprint
from windrow.compile.interpreted import Source

__all__ = [
    "Kernel",
    "attach",
    "folder_of",
    "is_known",
    "keep_freed_memory",
    "kernel",
    "recall",
    "remember",
    "whole_kernel",
]

_MAGIC = b"windrow kernel 2\n"
_DIGEST = 32
#: what using Numba's internals may raise once they have moved
_MOVED = (ImportError, AttributeError, TypeError)


class Kernel(Source):
    """A windrow function that Python calls, and other kernels do."""

    def __init__(
        self, function: Any, make: Callable[..., Any], jit: Any = None, is_whole: bool = False
    ) -> None:
        super().__init__(function, make, jit)
        self._entry = Entry(self)
        if is_whole:
            self._entry.never_interpret()

    def __call__(self, *arguments: Any) -> Any:
        ready = self._entry.ready
        return self._entry(*arguments) if ready is None else ready(*arguments)

    def is_on_disk(self, arguments: tuple[Any, ...]) -> bool:
        from numba import typeof

        with contextlib.suppress(Unfingerprintable):
            return is_known(self.compiled, tuple(typeof(argument) for argument in arguments))
        return False


def kernel(function: Any) -> Any:
    """A windrow function, compiled by Numba without the GIL and kept on disk; interpreted where that
    takes less.

    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    return Kernel(function, _dispatcher)


def whole_kernel(function: Any) -> Any:
    """The same for one that changes what outlives its call, and is never interpreted: Ctrl-C could come in
    the middle of it."""
    return Kernel(function, _dispatcher, is_whole=True)


def _dispatcher(function: Any) -> Any:
    from windrow.compile.steps import EntryPoint

    keep_freed_memory()
    options = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True}
    return attach(EntryPoint(function, targetoptions=options))


def attach(dispatcher: Any, print_: str | None = None) -> Any:
    """Let a Numba dispatcher load from and save to the disk under this fingerprint; without one, under its
    own, which is taken when it is first compiled."""
    dispatcher._cache = _KernelCache(dispatcher, print_)
    return dispatcher


def is_known(dispatcher: Any, signature: Any) -> bool:
    """Whether the kernel of an attached dispatcher for these types lies on disk."""
    try:
        path = dispatcher._cache._path(signature, dispatcher.targetctx.codegen())
    except _MOVED:
        return False
    return path is not None and path.exists()


def recall(print_: str, what: str) -> Any:
    """A small JSON note saved with :func:`remember`, or None."""
    folder = folder_of(print_)
    noted = None if folder is None else _read(folder / f"{what}.note")
    return None if noted is None else json.loads(noted)


def remember(print_: str, what: str, content: Any) -> None:
    """Save a small JSON note beside the kernels; a folder that cannot be written is not an error."""
    folder = folder_of(print_)
    if folder is not None:
        _write(folder / f"{what}.note", json.dumps(content).encode())


def folder_of(print_: str) -> Path | None:
    """Where what belongs to a fingerprint is kept; None: nowhere."""
    top = cache_folder()
    return None if top is None else top / print_[:2] / print_


class _KernelCache:
    """What a Numba dispatcher asks for compiled code before it compiles, and gives what it compiled."""

    def __init__(self, dispatcher: Any, print_: str | None) -> None:
        self._dispatcher = dispatcher
        self._print = print_

    def load_overload(self, signature: Any, target: Any) -> Any:
        target.refresh()
        try:
            path = self._path(signature, target.codegen())
            payload = None if path is None else _read(path)
            if payload is None:
                return None
            from numba.core.compiler import CompileResult

            return CompileResult._rebuild(target, *pickle.loads(payload))
        except Exception:
            # Numba has changed, or the entry was saved where modules were at hand that are not here
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if any(not lifted.can_cache for lifted in compiled.lifted) or compiled.library.has_dynamic_globals:
            return
        with contextlib.suppress(Unfingerprintable, *_MOVED, pickle.PickleError):
            from numba.core.serialize import dumps

            path = self._path(signature, compiled.codegen)
            if path is not None:
                _write(path, dumps(compiled._reduce()))

    def turn(self, signature: Any) -> contextlib.AbstractContextManager[None]:
        """The turn of this process to compile for a signature; at once where that is on disk, or has no place
        there."""
        with contextlib.suppress(Unfingerprintable, *_MOVED):
            path = self._path(signature, self._dispatcher.targetctx.codegen())
            if path is not None and not path.exists():
                return turn(path.parent)
        return contextlib.nullcontext()

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        """The file of a signature on a processor."""
        if self._print is None:
            self._print = fingerprint(self._dispatcher)
        folder = folder_of(self._print)
        if folder is None:
            return None
        name = hashlib.sha256(repr((str(signature), codegen.magic_tuple())).encode()).hexdigest()[:32]
        return folder / f"{name}.kernel"

    # the rest of what a dispatcher may call
    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


def _read(path: Path) -> bytes | None:
    """The payload of an entry; None: there is none, or not the one that was written in this place."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, payload = data[: len(_MAGIC) + _DIGEST], data[len(_MAGIC) + _DIGEST :]
    return payload if head == _MAGIC + _digest(path, payload) else None


def _digest(path: Path, payload: bytes) -> bytes:
    """Of an entry and its place, which are the names of its folder and of its file."""
    return hashlib.sha256(f"{path.parent.name}/{path.name}\n".encode() + payload).digest()


def _write(path: Path, payload: bytes) -> None:
    """A whole entry or none; what the disk refuses is not kept."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.write_bytes(_MAGIC + _digest(path, payload) + payload)
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()


#: the largest block that glibc learns from, without what it adds itself
_LARGEST = (1 << 25) - (1 << 16)


@functools.cache
def keep_freed_memory() -> None:
    """Free a block that was never touched, once in a process: memory is soon needed again, for arrays of some
    megabytes in every query or push. glibc gives large blocks back to the system at once, and a fresh one
    costs a page fault for every 4 kB, often more than what is computed in it. It does so with blocks larger
    than any that was freed before, up to 32 MB: this is where it would end up in any program with arrays of
    that size. Where ``MALLOC_`` variables say otherwise, or with another C library, nothing changes."""
    np.empty(_LARGEST, np.uint8)
