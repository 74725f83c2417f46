"""What kernels call is linked into them, and only they become machine code."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numba import float64, int64, njit

import windrow as wr
from windrow.compile.native import CompileWarning, jit_for, native
from windrow.compile.steps import for_python
from windrow.partials.over_ranges import partials_form
from windrow.swag.two_stacks_lite import TwoStacksLite


@njit
def depth(n):  # type: ignore[no-untyped-def]
    return 0 if n < 1 else depth(n - 1) + 1


def refuse(value: float) -> float:
    if value < 0:
        raise ValueError("below zero", value)
    return value


def kernel(function: Any, allocates: bool = False) -> Any:
    return for_python(jit_for(checked=True, allocates=allocates)(function))


def test_a_linked_function_has_no_address() -> None:
    step = jit_for(checked=True)(lambda value: value + 1)
    step.compile((float64,))
    (compiled,) = step.overloads.values()
    assert not compiled.library.codegen._engine.is_symbol_defined(compiled.fndesc.mangled_name)


def test_what_a_linked_function_raises_has_its_arguments() -> None:
    checked = kernel(lambda value: refuse(value) + 1, allocates=True)
    assert checked(2.0) == 3.0
    with pytest.raises(ValueError, match="below zero") as raised:
        checked(-2.0)
    assert raised.value.args == ("below zero", -2.0)


def test_a_linked_function_may_call_one_that_calls_itself() -> None:
    def doubled(n: int) -> int:
        return 2 * depth(n)

    called = kernel(lambda n: doubled(n) + 1)
    called.compile((int64,))
    assert called(4) == 9


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        kernel(lambda value: value + 1).compile((float64,))
        with pytest.raises(Exception, match="no_such_name"):
            kernel(lambda value: no_such_name(value)).compile((float64,))  # type: ignore[name-defined] # noqa: F821
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_tuples_that_may_be_missing_have_no_native_form() -> None:
    """They run in plain Python, as structs that may be null."""
    spread = wr.monoid(
        name="spread or nothing",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda a: (a[0], a[1]) if a[0] < a[1] else None,
        identity=(np.inf, -np.inf),
    )
    rows = pa.table({"t": [1, 2, 11], "v": [1.0, 3.0, 5.0]})
    with pytest.warns(CompileWarning, match="spread or nothing"):
        found = wr.query(time="t").window(wr.Tumbling(10)).agg(s=spread("v")).run(rows)
    assert found["s"].to_pylist()[1] is None


def test_kernels_share_the_steps_of_an_algorithm() -> None:
    form = native(wr.max("v").monoid, (np.dtype("f8"),))
    assert form is not None
    rows = pa.table({"t": [1, 2, 3], "v": [5.0, 6.0, 7.0]})
    wr.query(time="t").rolling(2).agg(m=wr.max("v")).run(rows)
    steps = form.steps[TwoStacksLite]
    wr.query(time="t").rolling(rows=2).agg(m=wr.max("v")).run(rows)
    assert form.steps[TwoStacksLite] is steps
    assert partials_form(form).steps is form.steps


def test_kernels_compile_where_the_internals_of_numba_have_moved(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['windrow.compile.linked'] = None\n"
        "import pyarrow as pa, windrow as wr\n"
        "rows = pa.table({'t': [1, 2, 11], 'v': [1.5, 2.0, 4.0]})\n"
        "query = wr.query(time='t').window(wr.Tumbling(10)).agg(s=wr.sum('v'))\n"
        "print(query.run(rows)['s'].to_pylist())\n"
        "from windrow.compile.steps import LINKED\n"
        "print(LINKED.__module__)\n"
    )
    environment = os.environ | {"WINDROW_CACHE_DIR": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split("\n") == ["[3.5, 4.0]", "numba.core.compiler", ""]
