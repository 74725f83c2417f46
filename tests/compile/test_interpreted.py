"""Kernels do the same interpreted as compiled, bit for bit; small tables need no compiler."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.aggregates import CASES
from support.both_forms import assert_same, checking
from windrow.compile import compile_when_it_pays
from windrow.compile.compile_when_it_pays import Entry
from windrow.compile.layout import Layout, NotCompilable, _infer, layout_of, native_identity
from windrow.compile.native import jit_for

KINDS = {
    "tumbling": lambda events: events.window(wr.Tumbling("1m")),
    "sliding": lambda events: events.window(wr.Sliding("3m", slide="1m")),
    "session": lambda events: events.window(wr.Session("9s")),
    "rolling": lambda events: events.rolling("2m"),
    "rows": lambda events: events.rolling(rows=7),
}
COMMON = {
    "count": wr.count(),
    "sum": wr.sum("x"),
    "total": wr.sum("n"),
    "mean": wr.mean("x"),
    "min": wr.min("x"),
    "max": wr.max("n"),
    "stddev": wr.stddev("x"),
    "first": wr.first("x"),
    "last": wr.last("n"),
    "who": wr.arg_max("x", value="k"),
    "median": wr.median("x"),
    "p95": wr.quantile("x", 0.95),
    "distinct": wr.count_distinct("n"),
}


def table(rows: int) -> pa.Table:
    """Rows out of order, with nulls, NaN, infinities and zeros of both signs."""
    random = np.random.default_rng(5)
    values = random.normal(size=rows) * 10.0 ** random.integers(-8, 8, rows)
    values[::17], values[5::41], values[7::43], values[9::19] = np.nan, np.inf, -np.inf, -0.0
    times = np.cumsum(random.integers(0, 10_000_000, rows)) + random.integers(0, 30_000_000, rows)
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us")),
            "k": pa.array(random.choice(["a", "b", "longer than seven bytes"], rows)),
            "x": pa.array(values, mask=random.random(rows) < 0.1),
            "n": pa.array(random.integers(-5, 5, rows), mask=random.random(rows) < 0.1),
        }
    )


@pytest.mark.parametrize("by", ["k", None])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_both_forms_of_every_kernel_do_the_same(kind: Any, by: Any) -> None:
    with checking() as compared:
        kind(wr.events(table(200), time="t", by=by)).agg(**COMMON)
    assert len(compared) >= 5, compared


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_both_forms_do_the_same_for_rows_that_arrive(kind: Any) -> None:
    rows = table(120)
    with checking() as compared:
        operator = kind(wr.query(time="t", by="k", watermark="1m")).agg(**COMMON).open()
        for first in range(0, len(rows), 40):
            operator.push(rows.slice(first, 40))
        operator.finish()
    assert len(compared) >= 3, compared


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_results_are_the_same_whatever_answers(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for choice in ("always", "never"):
        monkeypatch.setenv("WINDROW_COMPILE", choice)
        found[choice] = kind(wr.events(table(200), time="t", by="k")).agg(**COMMON)
    assert found["always"].schema == found["never"].schema
    for name in found["always"].column_names:
        mine, other = (found[choice].column(name) for choice in found)
        assert mine.is_null() == other.is_null()
        assert_same(name, *(c.drop_null().to_numpy(zero_copy_only=False) for c in (mine, other)))


def _own_layouts() -> list[Any]:
    monoids = {c.monoid.name: c.monoid for c in CASES if c.monoid.builtin and c.monoid.wide is None}
    kinds = [np.dtype("f8"), np.dtype("i8")]
    return [
        pytest.param(monoid, dtypes, id=f"{name} {' '.join(map(str, dtypes))}")
        for name, monoid in monoids.items()
        for dtypes in itertools.product(kinds, repeat=monoid.arity[0])
        if all(d.kind in monoid.compiles_for for d in dtypes)
    ]


@pytest.mark.parametrize(("monoid", "dtypes"), _own_layouts())
def test_layouts_are_those_that_numba_infers(monoid: Any, dtypes: Any) -> None:
    jit = jit_for(checked=False)
    wanted: Layout | None
    try:
        wanted = _infer(monoid, dtypes, native_identity(monoid, dtypes), jit)
    except NotCompilable:
        with pytest.raises(NotCompilable):
            layout_of(monoid, dtypes, jit)
    else:
        assert layout_of(monoid, dtypes, jit) == wanted


FIRST = """
import sys
import pyarrow as pa
import windrow as wr

rows = pa.table({"t": pa.array(range(0, 600_000_000, 1_000_000), pa.timestamp("us")),
                 "k": ["a", "b"] * 300, "x": [float(v % 7) for v in range(600)]})
found = [wr.count(), wr.sum("x"), wr.mean("x"), wr.min("x"), wr.max("x"), wr.stddev("x"), wr.first("x"),
         wr.last("x"), wr.median("x"), wr.quantile("x", 0.95), wr.count_distinct("x")]
named = {str(k): aggregate for k, aggregate in enumerate(found)}
events = wr.events(rows, time="t", by="k")
for query in (events.window(wr.Tumbling("1m")), events.window(wr.Sliding("5m", slide="1m")),
              events.rolling("5m"), events.rolling(rows=10)):
    assert query.agg(**named).num_rows
assert "numba" not in sys.modules
"""


def test_the_first_results_of_common_aggregates_need_no_compiler(tmp_path: Path) -> None:
    environment = {**os.environ, "WINDROW_COMPILE": "never", "WINDROW_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", FIRST], env=environment, check=True)
    assert not list(tmp_path.rglob("*.kernel"))


class Counted:
    """Forms that count how often each is called."""

    def __init__(self, is_known: bool = False) -> None:
        self.is_known, self.calls = is_known, [0, 0]

    def interpreted(self, *arguments: Any) -> int:
        self.calls[0] += 1
        return 1

    def compiled(self, *arguments: Any) -> int:
        self.calls[1] += 1
        return 1

    def is_on_disk(self, arguments: tuple[Any, ...]) -> bool:
        return self.is_known


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_COMPILE", "auto")


@pytest.mark.usefixtures("auto")
def test_many_rows_are_compiled_at_once() -> None:
    forms = Counted()
    Entry(forms)(np.zeros(1_000_000))
    assert forms.calls == [0, 1]


@pytest.mark.usefixtures("auto")
def test_few_rows_are_interpreted_until_that_has_cost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    forms, now = Counted(), itertools.count()
    monkeypatch.setattr(
        compile_when_it_pays, "perf_counter", lambda: next(now) * compile_when_it_pays.COMPILE / 4
    )
    called = Entry(forms)
    for _ in range(7):
        called(np.zeros(10))
    assert forms.calls == [4, 3]


@pytest.mark.usefixtures("auto")
def test_kernels_that_lie_on_disk_are_loaded_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    forms, now = Counted(is_known=True), itertools.count()
    monkeypatch.setitem(sys.modules, "numba", np)
    monkeypatch.setattr(
        compile_when_it_pays, "perf_counter", lambda: next(now) * compile_when_it_pays.LOAD / 2
    )
    called = Entry(forms)
    for _ in range(5):
        called(np.zeros(10))
    assert forms.calls == [2, 3]


@pytest.mark.usefixtures("auto")
def test_processes_that_stay_load_kernels_at_once_and_wait_for_no_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compile_when_it_pays, "_stays", [False])
    compile_when_it_pays.load_from_disk_at_once()
    on_disk, unknown = Counted(is_known=True), Counted()
    for forms in (on_disk, unknown):
        Entry(forms)(np.zeros(10))
    assert (on_disk.calls, unknown.calls) == ([0, 1], [1, 0])


def test_other_choices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_COMPILE", "sometimes")
    with pytest.raises(ValueError, match="WINDROW_COMPILE is 'sometimes': give one of auto, always, never"):
        Entry(Counted())(1)
