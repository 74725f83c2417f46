"""Experiments as they run: those that take a second, and what they find in counts."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import windrow as wr
from windrow_experiments.cycles import native_latency, plain_latency
from windrow_experiments.measure import Counter, least_seconds, round_counts
from windrow_experiments.model import Result, Settings
from windrow_experiments.operators import BLOOM, COLLECT, DABA_OPERATORS, SUM
from windrow_experiments.ra import figure8, figure10
from windrow_experiments.throughput import break_even, native_rounds, plain_rounds, round_microseconds


def counted(result: Result) -> dict[str, bool | None]:
    return {f.claim: f.agrees for f in result.findings if "combines" in f.measured}


@pytest.mark.parametrize(("experiment", "claims"), [(figure8, 1), (figure10, 2)])
def test_a_quick_run_agrees_in_counts(experiment: Any, claims: int) -> None:
    steps: list[str] = []
    result = experiment.run(Settings(quick=True, progress=steps.append))
    found = counted(result)
    assert len(found) == claims
    assert all(found.values()), found
    assert steps
    assert Result.from_dict(result.as_dict()).as_dict() == result.as_dict()


@pytest.mark.parametrize("operator", [*DABA_OPERATORS, COLLECT], ids=lambda o: o.name)
def test_operators_run_in_plain_python(operator: Any) -> None:
    run, rounds = plain_rounds(wr.swag.DABA, operator, 8, 20, seed=1)
    assert round_microseconds([(run, rounds)], 1)[0] > 0


def test_native_rounds_leave_a_full_window() -> None:
    runs = [native_rounds(kind, SUM, 16, 100, seed=1) for kind in (wr.swag.FlatFAT, wr.swag.BInt)]
    assert all(taken > 0 for taken in round_microseconds(runs, 2))


@pytest.mark.parametrize("operator", [SUM, BLOOM], ids=lambda o: o.name)
def test_latencies_of_single_rounds(operator: Any) -> None:
    columns = operator.columns(64 + 500, seed=1)
    kinds = (wr.swag.TwoStacksLite, wr.swag.DABALite)
    for kind in kinds:
        latency = native_latency(kind, operator.monoid, columns, 64, 2)
        assert latency is not None
        assert latency.rounds.shape == (500,)
        assert 0 <= latency.median <= latency.worst
    rows = operator.rows(64 + 50, seed=1)
    plain = plain_latency(wr.swag.IOA, operator.monoid, rows, 64, 2)
    assert plain.rounds.shape == (50,)
    assert plain.mean > 0


def test_an_aggregate_without_native_code_has_no_native_latency() -> None:
    assert native_latency(wr.swag.DABA, BLOOM.monoid, BLOOM.columns(20, 1), 8, 1) is None


def test_counting() -> None:
    assert round_counts(wr.swag.TwoStacks, 4, 8)[:4] != round_counts(wr.swag.Recalc, 4, 4)
    counter = Counter()
    window = wr.swag.DABA(counter.monoid)
    assert [counter.cost(window.insert, v) for v in (1, 2)] == [0, 1]


def test_the_least_of_interleaved_runs() -> None:
    order: list[str] = []
    times = least_seconds([lambda: order.append("a"), lambda: order.append("b")], repeats=3)
    assert order == ["a", "b"] * 3
    assert len(times) == 2
    assert min(times) >= 0


def test_break_even_needs_all_larger_sizes() -> None:
    theirs = {2: 2.0, 4: 4.0, 8: 8.0, 16: 16.0}
    assert break_even(dict.fromkeys(theirs, 3.0), theirs) == 4
    assert break_even({**dict.fromkeys(theirs, 3.0), 8: 9.0}, theirs) == 16
    assert break_even(dict.fromkeys(theirs, 1.0), theirs, factor=10) == 16
    assert break_even(dict.fromkeys(theirs, 20.0), theirs) is None


def test_listing_experiments_loads_no_compiler() -> None:
    script = (
        "import sys; from windrow.cli.main import main; main(['bench']);"
        "print(sorted({'numba', 'pyspark', 'redis', 'rocksdict'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "daba-table2" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
