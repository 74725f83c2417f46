"""Native and plain forms of an aggregate agree; what does not compile says why; what raises is named."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
import textwrap
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.compile.cache import Unfingerprintable, fingerprint
from windrow.compile.native import CompileWarning, build, jit_for, native
from windrow.swag import AggregateError

NUMERIC = [
    wr.count,
    wr.sum,
    wr.mean,
    wr.max,
    wr.min,
    wr.max_count,
    wr.min_count,
    wr.first,
    wr.last,
    wr.longest_run,
    wr.var(ddof=0),
    wr.stddev,
]


def plainly(monoid: Any, values: list[Any], size: int) -> list[Any]:
    window = wr.swag.DABALite(monoid)
    results = []
    for value in values:
        if len(window) == size:
            window.evict()
        window.insert(value)
        results.append(window.query())
    return results


@pytest.mark.parametrize("monoid", NUMERIC, ids=lambda m: m.name)
@settings(max_examples=examples(20), database=None)
@given(values=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30), size=st.integers(1, 7))
def test_integers_are_bit_equal(monoid: Any, values: list[int], size: int) -> None:
    assert native(monoid, (np.dtype("i8"),)) is not None
    found = wr.swag.DABALite(monoid).roll(np.array(values), size)
    wanted = plainly(monoid, values, size)
    if monoid.name in ("var", "stddev", "mean"):
        np.testing.assert_allclose(found, [math.nan if w is None else w for w in wanted], rtol=1e-12)
    else:
        assert found.tolist() == wanted


@pytest.mark.parametrize("monoid", NUMERIC, ids=lambda m: m.name)
@settings(max_examples=examples(20), database=None)
@given(
    values=st.lists(
        st.one_of(st.floats(-1e9, 1e9), st.sampled_from([math.nan, math.inf, -math.inf, -0.0])),
        min_size=1,
        max_size=30,
    ),
    size=st.integers(1, 7),
)
def test_floats_agree_to_the_last_bits(monoid: Any, values: list[float], size: int) -> None:
    """The same operations in the same order: equal but for fused multiply-adds, a bound of 1e-12 of the
    largest."""
    found = wr.swag.DABALite(monoid).roll(np.array(values), size)
    wanted = [math.nan if w is None else float(w) for w in plainly(monoid, values, size)]
    scale = max((abs(v) for v in values if math.isfinite(v)), default=1.0)
    power = 2 if monoid.name == "var" else 1
    np.testing.assert_allclose(
        found.astype(float), wanted, rtol=1e-12, atol=1e-12 * max(scale**power, 1e-300)
    )


def test_helper_functions_compile_with_the_aggregate() -> None:
    def clipped(v: float) -> float:
        return min(max(v, 0.0), 10.0)

    monoid = wr.monoid(lift=lambda v: (clipped(v), 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
                       lower=lambda a: a[0] / a[1], identity=(0.0, 0))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wr.swag.DABALite(monoid).roll(np.array([-5.0, 20.0, 4.0]), 2)
    assert found.tolist() == [0.0, 5.0, 7.0]


def test_a_kernel_that_does_not_compile_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function compiles, the kernel as a whole does not: plain Python, with a warning, even for
    windrow's own."""

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the compiler has moved")

    monkeypatch.setattr("windrow.swag.native.kernels.build", broken)
    fresh = dataclasses.replace(wr.range)  # nothing is compiled for it yet
    with pytest.warns(CompileWarning, match="the compiler has moved"):
        assert wr.swag.DABALite(fresh).roll([1.0, 3.0], 2) == [0.0, 2.0]


def test_what_does_not_compile_warns_once_and_says_why() -> None:
    monoid = wr.monoid(
        name="names", lift=lambda v: {v}, combine=lambda a, b: a | b, lower=sorted, identity=set()
    )
    with pytest.warns(CompileWarning, match="'names' runs in plain Python.*identity"):
        found = wr.swag.DABALite(monoid).roll([3, 1, 2], 2)
    assert found == [[3], [1, 3], [1, 2]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wr.swag.TwoStacksLite(monoid).roll([3, 1, 2], 2)


def test_the_warning_names_the_function_that_does_not_compile() -> None:
    monoid = wr.monoid(
        name="texts", lift=lambda v: v, combine=lambda a, b: a + b, lower=lambda a: f"{a:.3f}", identity=0.0
    )
    with pytest.warns(CompileWarning, match="lower"):
        found = wr.swag.DABALite(monoid).roll([1.0, 2.0], 2)
    assert found == ["1.000", "3.000"]


LINES = {
    "run": lambda query, table: query.run(table),
    "push": lambda query, table: query.open().push(table),
    "roll": lambda query, table: wr.swag.DABALite(query.aggregates[0][1].monoid).roll([1.0, 2.0], 2),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_warning_that_an_aggregate_does_not_compile_points_at_the_users_line(line: Any) -> None:
    monoid = wr.monoid(
        name="names", lift=lambda v: {v}, combine=lambda a, b: a | b, lower=sorted, identity=set()
    )
    query = wr.query(time="t").window(wr.Tumbling(10)).agg(x=monoid("v"))
    with pytest.warns(CompileWarning) as caught:
        line(query, pa.table({"t": [1, 2], "v": [1.0, 2.0]}))
    assert caught[0].filename == __file__


def test_compile_false_is_silent() -> None:
    monoid = wr.monoid(lift=lambda v: [v], combine=lambda a, b: a + b, identity=[], compile=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wr.swag.DABALite(monoid).roll([1, 2], 2) == [[1], [1, 2]]


@pytest.mark.parametrize("form", ["native", "plain"])
def test_a_combine_that_raises_names_aggregate_and_row_and_loses_nothing(form: str) -> None:
    monoid = wr.monoid(
        name="ratio",
        lift=lambda v: v,
        combine=lambda a, b: a + b if b != 13.0 else a / (b - 13.0),
        identity=0.0,
        compile=form == "native",
    )
    window = wr.swag.DABALite(monoid)
    window.roll(np.array([8.0, 2.0]), 10)
    with pytest.raises(AggregateError, match=r"'ratio' raised ZeroDivisionError at row 1 \(value 13\.0\)"):
        window.roll(np.array([2.0, 13.0, 4.0]), 10)
    if form == "native":
        assert len(window) == 2
        assert window.query() == 10.0
        assert window.roll(np.array([2.0]), 10).tolist() == [12.0]


def test_a_lift_that_raises_in_a_single_insert_changes_nothing() -> None:
    window = wr.swag.DABA(wr.monoid(lift=lambda v: 1 / v, combine=lambda a, b: a + b, identity=0.0))
    window.insert(2)
    with pytest.raises(ZeroDivisionError):
        window.insert(0)
    assert len(window) == 1
    assert window.query() == 0.5


def test_a_combine_of_the_wrong_shape_runs_plainly_with_a_reason() -> None:
    monoid = wr.monoid(
        name="lopsided", lift=lambda v: (v, 1), combine=lambda a, b: (a[0], b[1], 0), identity=(0.0, 0)
    )
    with pytest.warns(CompileWarning, match="different shapes"):
        wr.swag.DABALite(monoid).roll([1.0, 2.0], 2)
    with pytest.raises(wr.laws.LawViolation):
        wr.laws.check(monoid, [1.0, 2.0, 3.0])


def test_integer_sums_never_wrap() -> None:
    """Sums that 64 bits might not hold go through in plain Python, exactly."""
    big = 2**62
    found = wr.swag.DABALite(wr.sum).roll([big, big, big, -big], 3)
    assert found == [big, 2 * big, 3 * big, big]
    window = wr.swag.TwoStacksLite(wr.sum)
    window.roll(np.array([big]), 4)
    assert window.roll([big, big], 4) == [2 * big, 3 * big]
    assert wr.swag.DABALite(wr.mean).roll([big, big, big], 3)[-1] == float(big)


def test_a_users_integers_are_64_bits_in_native_code() -> None:
    """Documented: native integers wrap as numpy's do; compile=False keeps Python's unbounded ones."""
    functions: dict[str, Any] = {"lift": lambda v: v, "combine": lambda a, b: a * 3 + b * 0, "identity": 1}
    wraps = wr.swag.Recalc(wr.monoid(**functions)).roll(np.arange(60), 60)
    exact = wr.swag.Recalc(wr.monoid(**functions, compile=False)).roll(list(range(60)), 60)
    assert exact[-1] == 3**60
    assert wraps[-1] == (3**60 + 2**63) % 2**64 - 2**63


def test_python_numbers_of_any_kind_stay_exact() -> None:
    thirds = [Fraction(1, 3)] * 3
    assert wr.swag.DABA(wr.sum).roll(thirds, 3)[-1] == 1
    huge = [10**30, 1]
    assert wr.swag.DABA(wr.sum).roll(huge, 2)[-1] == 10**30 + 1


def test_integers_after_floats_keep_the_floats() -> None:
    window = wr.swag.DABALite(wr.sum)
    window.roll([0.5, 5.5], 3)
    assert window.roll([1, None], 3) == [7.0, 6.5]


def test_fingerprints_tell_code_and_constants_apart() -> None:
    def adder(amount: Any) -> Any:
        return lambda v: v + amount

    assert fingerprint(adder(1)) == fingerprint(adder(1))
    assert fingerprint(adder(1)) != fingerprint(adder(2))
    assert fingerprint(adder(1)) != fingerprint(adder(1.0))
    assert fingerprint(lambda v: math.sin(v)) != fingerprint(lambda v: math.cos(v))
    with pytest.raises(Unfingerprintable):
        fingerprint(adder(object()))


PROGRAM = """
    import time
    import numpy as np
    import windrow as wr
    import numba
    from numba.core import compiler
    compiled = []
    original = compiler.compile_extra
    def counting(*a, **k):
        compiled.append(a[2].__qualname__)
        return original(*a, **k)
    compiler.compile_extra = counting
    for monoid in (wr.sum, wr.stddev, wr.monoid(lift=lambda v: v, combine=lambda a, b: a + 2 * b,
    identity=0.0)):
        print(wr.swag.DABALite(monoid).roll(np.arange(5.0), 3)[-1])
    print("compiled", len(compiled))
"""


def run_program(folder: Path) -> list[str]:
    environment = {**os.environ, "WINDROW_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    cold, warm = run_program(tmp_path), run_program(tmp_path)
    assert cold[:3] == warm[:3]
    assert cold[3] != "compiled 0"
    assert warm[3] == "compiled 0"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run_program(blocked)[0] == "9.0"


def _sum_of(jit: Any) -> Any:
    @jit
    def total(values: Any, others: Any) -> float:
        return values.sum() + others[0].sum()

    return total


def test_arrays_that_cannot_be_written_to_share_the_kernel_of_those_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "kernels"))
    for is_writable in (True, False):
        values = np.arange(3.0)
        values.flags.writeable = is_writable
        arguments = (values, (values, values))
        assert build(_sum_of, jit_for(checked=False), arguments=arguments)(*arguments) == 6.0
    assert len(list(tmp_path.rglob("*.kernel"))) == 1
