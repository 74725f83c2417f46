"""Every call of a kernel in both of its forms, which must agree bit for bit.

``WINDROW_BOTH_FORMS=1 pytest ...`` does that in whatever tests are run, and ``checking`` in one test.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from windrow.compile.cache import Kernel
from windrow.compile.compile_when_it_pays import Entry, interpret

#: names of the kernels that were compared
compared: set[str] = set()
_one_at_a_time = threading.RLock()
_call, _kernel_call = Entry.__call__, Kernel.__call__


def install() -> None:
    Entry.__call__ = _call_both  # type: ignore[method-assign]
    Kernel.__call__ = lambda self, *arguments: _call_both(self._entry, *arguments)  # type: ignore[method-assign]


@contextmanager
def checking() -> Iterator[set[str]]:
    install()
    compared.clear()
    try:
        yield compared
    finally:
        Entry.__call__, Kernel.__call__ = _call, _kernel_call  # type: ignore[method-assign]


def _call_both(self: Entry, *arguments: Any) -> Any:
    source = getattr(self._forms, "_source", self._forms)
    checked = getattr(getattr(source, "_jit", None), "is_checked", False)
    if self._is_whole or checked:
        return _call(self, *arguments)
    name = f"{source.function.__module__}.{source.function.__qualname__}"
    with _one_at_a_time:  # other threads may write into the same arrays
        others = copy.deepcopy(arguments)
        result = self.buy()(*arguments)
        other = interpret(self._forms, others)
        assert_same(name, result, other)
        assert_same(name, arguments, others)
        compared.add(name)
    return result


def assert_same(name: str, a: Any, b: Any) -> None:
    """That two values are of one type and have the same bits; any NaN is like any other."""
    if isinstance(a, tuple):
        assert isinstance(b, tuple), f"{name}: {a!r} compiled, {b!r} interpreted"
        assert len(a) == len(b), f"{name}: {a!r} compiled, {b!r} interpreted"
        for mine, other in zip(a, b, strict=True):
            assert_same(name, mine, other)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, f"{name}: {a.dtype} compiled, {b.dtype} interpreted"
        assert a.shape == b.shape, f"{name}: shape {a.shape} compiled, {b.shape} interpreted"
        for field in a.dtype.names or [...]:
            _assert_same_bits(name, a[field], b[field])
    else:
        assert type(a) is type(b), f"{name}: {a!r} compiled, {b!r} interpreted"
        _assert_same_bits(name, np.asarray(a), np.asarray(b))


def _assert_same_bits(name: str, a: Any, b: Any) -> None:
    if a.dtype.kind == "O":
        assert a.tolist() == b.tolist(), name
        return
    same = a == b
    if a.dtype.kind == "f":
        same = (same & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    elif a.dtype.kind in "mM":
        same = a.view("i8") == b.view("i8")
    assert np.all(same), f"{name}: {a[~same][:5]} compiled, {b[~same][:5]} interpreted"
