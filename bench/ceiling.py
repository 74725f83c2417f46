"""The C++ ceiling: compiled at run time, called through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from common import machine, progress

__all__ = ["Ceiling", "CeilingWindow", "NoCompiler"]

_SOURCE = Path(__file__).with_name("ceiling.cpp")
_BUILD = Path(__file__).with_name("build")
_FLAGS = ("-std=c++17", "-O3", "-march=native", "-shared", "-fPIC")


class NoCompiler(RuntimeError):
    """There is no g++, or it does not compile the ceiling."""


class Ceiling:
    """The compiled library; ``window`` makes windows in it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(_compiled()))

    def window(self, algorithm: str, monoid: str, size: int) -> CeilingWindow:
        return CeilingWindow(self._library, f"{algorithm}_{monoid}", size)


class CeilingWindow:
    """One window in C++: ``roll`` as in windrow, into an array that is given."""

    def __init__(self, library: Any, name: str, size: int) -> None:
        make = getattr(library, f"new_{name}")
        make.argtypes, make.restype = [ctypes.c_int64], ctypes.c_void_p
        self._roll = getattr(library, f"roll_{name}")
        pointer = ctypes.c_void_p
        self._roll.argtypes, self._roll.restype = [pointer, pointer, pointer, ctypes.c_int64, pointer], None
        self._delete = getattr(library, f"del_{name}")
        self._delete.argtypes, self._delete.restype = [pointer], None
        self._window: Any = make(size)

    def roll(self, values: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        data = values.ctypes.data
        self._roll(self._window, data, data, len(values), out.ctypes.data)
        return out

    def close(self) -> None:
        self._delete(self._window)
        self._window = None


def _compiled() -> Path:
    """The library for this source, compiler and processor, from an earlier run if there is one."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise NoCompiler("there is no g++: install it, or name another compiler with CXX=...")
    about = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    key = "\n".join([about, machine()["cpu"], *_FLAGS, _SOURCE.read_text()])
    library = _BUILD / f"ceiling-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
    if not library.exists():
        progress(f"compiling {_SOURCE.name} with {' '.join(_FLAGS)}")
        _BUILD.mkdir(exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}.tmp")
        command = [compiler, *_FLAGS, "-o", str(unfinished), str(_SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoCompiler(f"{compiler} does not compile {_SOURCE.name}:\n{done.stderr}")
        unfinished.replace(library)
    return library
