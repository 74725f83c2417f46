"""Functions that kernels call have no entry points, and still may be called from Python."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numba import float64

import windrow as wr
from windrow.compile.native import jit_for, native
from windrow.compile.steps import Step, for_python


def halved(value: float, by: float = 2.0) -> float:
    return value / by


def step() -> Any:
    return jit_for(checked=True)(halved).compiled


def wrappers(dispatcher: Any) -> list[str]:
    """The entry points in the code of each compiled form."""
    code = "".join(dispatcher.inspect_llvm().values())
    return [line for line in code.splitlines() if line.startswith("define") and "@_ZN7cpython" in line]


def test_a_step_is_called_from_python_before_and_after_a_kernel_has_compiled_it() -> None:
    function = step()
    assert function(3.0) == 1.5
    kernel = for_python(jit_for(checked=True)(lambda value: halved(value) + 1))
    assert kernel(3.0) == 2.5
    function.compile((float64, float64))
    assert function(3.0) == 1.5
    assert function(value=3.0, by=4.0) == 0.75
    assert function(3) == 1.5


def test_a_step_that_raises_raises_in_python_too() -> None:
    with pytest.raises(ZeroDivisionError):
        step()(3.0, 0.0)


def test_a_step_gives_python_nothing_to_jump_to() -> None:
    function = step()
    assert isinstance(function, Step)
    assert function.compile((float64, float64)) is None
    assert wrappers(function) == []
    function.callable_form.compile((float64, float64))
    assert wrappers(function.callable_form)


def test_a_step_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(step()))
    assert isinstance(copy, Step)
    assert copy(3.0) == 1.5


def test_the_functions_of_a_monoid_are_steps() -> None:
    form = native(wr.max("v").monoid, (np.dtype("f8"),))
    assert form is not None
    assert all(isinstance(function.compiled, Step) for function in (form.lift, form.combine, form.lower))
    assert form.combine(1.0, form.lift(2.0)) == 2.0
