"""Entry points of kernels, which Python calls: interpreted at first, compiled when that pays.

An entry rents before it buys: it is interpreted while all that this has taken so far, and what the call at
hand is expected to take, is less than what a compiled form costs. So the first result of a small table takes
as long as its rows, a long stream of small pushes gets native code soon, and a large table gets it at once.
Results are the same in either form (:mod:`windrow.compile.interpreted`).

``WINDROW_COMPILE=always`` compiles at the first call, and ``never`` at none that can be interpreted; those
are windrow's own kernels. Functions of users are always compiled: plain Python would take them differently
(integers without bounds, errors).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Protocol

import numpy as np

__all__ = [
    "Entry",
    "Forms",
    "NotOnDisk",
    "interpret",
    "is_compiling",
    "load_from_disk_at_once",
    "must_buy",
    "only_loading",
    "only_loads",
]

#: seconds: what it costs to compile a kernel, a kernel that lies on disk, and Numba itself
COMPILE, LOAD, NUMBA = 0.45, 0.02, 0.4
#: seconds per row, before an entry has been measured
_PER_ROW = 1.5e-6
_CHOICES = ("auto", "always", "never")
_lock = threading.RLock()
#: seconds in which kernels were interpreted, in all
_rent = [0.0]
#: whether kernels that lie on disk are loaded at their first call
_stays = [False]


class NotOnDisk(BaseException):
    """A kernel that would have to be compiled, while kernels are only loaded. Not an ``Exception``: what runs
    in plain Python where a kernel cannot be compiled must not take it for that."""


only_loads: ContextVar[bool] = ContextVar("windrow only loads kernels", default=False)


@contextlib.contextmanager
def only_loading() -> Iterator[None]:
    """Kernels are loaded when they are called, in here; those of aggregates that are not on disk raise
    :class:`NotOnDisk`, and are not compiled."""
    token = only_loads.set(True)
    try:
        yield
    finally:
        only_loads.reset(token)


def load_from_disk_at_once() -> None:
    """For a process that stays: load kernels that lie on disk at their first call. Others are interpreted
    until it pays to compile them, so that the first results wait for no compiler."""
    _stays[0] = True


def is_compiling() -> bool:
    """Whether kernels are compiled or loaded already, rather than interpreted."""
    return _choice() == "always" or (_choice() == "auto" and "numba" in sys.modules)


def must_buy() -> bool:
    """Whether a kernel is compiled, or loaded, before it is called."""
    return _choice() == "always" or (_choice() == "auto" and only_loads.get())


def _choice() -> str:
    chosen = os.environ.get("WINDROW_COMPILE") or "auto"
    if chosen not in _CHOICES:
        raise ValueError(f"WINDROW_COMPILE is {chosen!r}: give one of {', '.join(_CHOICES)}")
    return chosen


class Forms(Protocol):
    """What an entry chooses from."""

    @property
    def interpreted(self) -> Any: ...

    @property
    def compiled(self) -> Any: ...

    def is_on_disk(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the compiled form need only be loaded."""


class Entry:
    """Calls one of two forms."""

    __slots__ = ("_forms", "_is_whole", "_looked", "_rent", "ready")

    def __init__(self, forms: Forms) -> None:
        self._forms = forms
        #: the compiled form, once there is one
        self.ready: Any = None
        self._rent = 0.0
        #: what had been spent when the disk was last looked at: small calls cost less than a look
        self._looked = 0.0
        self._is_whole = False

    def __call__(self, *arguments: Any) -> Any:
        ready = self.ready
        if ready is not None:
            return ready(*arguments)
        if self._pays(arguments):
            return self.buy()(*arguments)
        return self._interpret(arguments)

    def never_interpret(self) -> None:
        self._is_whole = True

    def buy(self) -> Any:
        """The compiled form; from now on, all calls go there."""
        with _lock:
            if self.ready is None:
                self.ready = self._forms.compiled
        return self.ready

    def _pays(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the compiled form costs less than going on without."""
        choice = "always" if self._is_whole else _choice()
        if choice != "auto":
            return choice == "always"
        if only_loads.get():
            return True
        expected = _PER_ROW * _rows(arguments)
        if self._rent + expected > COMPILE:
            return True
        spent = self._rent + expected
        if not _stays[0] and (("numba" not in sys.modules and _rent[0] + expected <= NUMBA) or spent <= LOAD):
            return False
        if spent < 2 * self._looked:
            return False
        self._looked = max(spent, LOAD)
        return self._forms.is_on_disk(arguments)

    def _interpret(self, arguments: tuple[Any, ...]) -> Any:
        began = perf_counter()
        try:
            return interpret(self._forms, arguments)
        finally:
            seconds = perf_counter() - began
            self._rent += seconds
            _rent[0] += seconds


def interpret(forms: Forms, arguments: tuple[Any, ...]) -> Any:
    """Call the interpreted form, with numbers that are what compiled code makes of them."""
    with np.errstate(all="ignore"):
        numbers = [np.int64(each) if type(each) is int else each for each in arguments]
        return _as_python(forms.interpreted(*numbers))


def _rows(arguments: tuple[Any, ...]) -> int:
    """How many rows there are to work on: the longest array among the arguments."""
    most = 0
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            most = max(most, argument.size)
        elif isinstance(argument, tuple) and argument:
            most = max(most, _rows(argument))
    return most


def _as_python(result: Any) -> Any:
    """What a compiled function returns: Python's numbers."""
    if isinstance(result, np.generic):
        return result.item()
    return tuple([_as_python(each) for each in result]) if type(result) is tuple else result
