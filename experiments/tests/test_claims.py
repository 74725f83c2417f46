"""What the papers claim of their algorithms, in counts of combines: growth, fitted by least squares over
windows of several sizes."""

from __future__ import annotations

from typing import Any

import pytest

import windrow as wr
from windrow_experiments.daba.figure13_throughput import count_fits
from windrow_experiments.growth import Fit, growth_of
from windrow_experiments.measure import Counter, round_counts
from windrow_experiments.ra.figure9 import swing, swinging
from windrow_experiments.ra.figure10 import combine_fits
from windrow_experiments.ra.firings import combines_a_tuple

SIZES = [2**k for k in range(4, 11)]
#: tighter than for times: counts have no noise, only ends of windows
EXACT = 0.06

#: how the mean and the worst round (evict, insert, query) grow with the window
ROUNDS = {
    wr.swag.Recalc: ("linear", "linear"),
    wr.swag.TwoStacks: ("constant", "linear"),
    wr.swag.TwoStacksLite: ("constant", "linear"),
    wr.swag.FOA: ("constant", "constant"),
    wr.swag.IOA: ("constant", "constant"),
    wr.swag.DABA: ("constant", "constant"),
    wr.swag.DABALite: ("constant", "constant"),
    wr.swag.FlatFAT: ("logarithmic", "logarithmic"),
    wr.swag.BInt: ("logarithmic", "logarithmic"),
}
#: how the worst of each operation grows
OPERATIONS = {
    wr.swag.TwoStacks: {"evict": "linear", "insert": "constant", "query": "constant"},
    wr.swag.FOA: {"evict": "constant", "insert": "constant", "query": "constant"},
    wr.swag.IOA: {"evict": "constant", "insert": "constant", "query": "constant"},
    wr.swag.DABA: {"evict": "constant", "insert": "constant", "query": "constant"},
    wr.swag.DABALite: {"evict": "constant", "insert": "constant", "query": "constant"},
    wr.swag.Recalc: {"evict": "constant", "insert": "constant", "query": "linear"},
    wr.swag.FlatFAT: {"evict": "constant", "insert": "constant", "query": "logarithmic"},
    wr.swag.BInt: {"evict": "constant", "insert": "logarithmic", "query": "logarithmic"},
}


def named(kind: Any) -> str:
    return kind.__name__


@pytest.mark.parametrize("algorithm", ROUNDS, ids=named)
def test_rounds(algorithm: Any) -> None:
    counts = {n: round_counts(algorithm, n, 2 * n) for n in SIZES}
    mean = growth_of([(n, sum(of) / len(of)) for n, of in counts.items()], EXACT)
    worst = growth_of([(n, max(of)) for n, of in counts.items()], EXACT)
    assert (mean.growth, worst.growth) == ROUNDS[algorithm], (str(mean), str(worst))
    assert max(mean.misfit, worst.misfit) <= EXACT


@pytest.mark.parametrize("algorithm", OPERATIONS, ids=named)
def test_the_worst_of_each_operation(algorithm: Any) -> None:
    worst = {n: worst_operations(algorithm, n) for n in SIZES}
    for operation, growth in OPERATIONS[algorithm].items():
        found = growth_of([(n, of[operation]) for n, of in worst.items()], EXACT)
        assert found.growth == growth, (operation, str(found))


def worst_operations(algorithm: Any, size: int) -> dict[str, int]:
    counter = Counter()
    window = algorithm(counter.monoid)
    for value in range(size):
        window.insert(value)
    window.query()
    worst = {"evict": 0, "insert": 0, "query": 0}
    for value in range(2 * size):
        for name, arguments in (("evict", ()), ("insert", (value,)), ("query", ())):
            worst[name] = max(worst[name], counter.cost(getattr(window, name), *arguments))
    return worst


def test_figure_13_says_the_same() -> None:
    """The fits of the report are those of these tests."""
    names = {"Two-Stacks": wr.swag.TwoStacks, "Reactive": wr.swag.FlatFAT}
    for name, (mean, worst) in count_fits().items():
        algorithm = names.get(name) or getattr(wr.swag, name)
        assert (mean.growth, worst.growth) == ROUNDS[algorithm], name


def test_coarse_sliding_is_logarithmic_in_n_over_m() -> None:
    """[RA] figure 10: 1 + log(n/m) for each tuple."""
    fits: dict[str, Fit] = combine_fits([2**k for k in range(8, 13)])
    fine = {name: fits[name].slope for name in ("m = 1", "m = 4", "m = 64")}
    assert {fits[name].growth for name in fine} == {"logarithmic"}
    assert fine["m = 1"] == pytest.approx(4 * fine["m = 4"], rel=0.1)
    assert {fits[name].growth for name in ("m = n/16", "m = n/4", "m = n")} == {"constant"}


@pytest.mark.parametrize("algorithm", [wr.swag.FlatFAT, wr.swag.Recalc], ids=named)
def test_tumbling_combines_each_value_once(algorithm: Any) -> None:
    """[RA] figure 8."""
    for size in (4, 64, 1024):
        assert combines_a_tuple(algorithm, size, size) == pytest.approx(1, abs=1 / size)


def test_resizing_is_linear_once_and_amortised() -> None:
    """[RA] figure 9."""
    single, each = [], []
    for size in SIZES:
        counter = Counter()
        window = swinging(counter.monoid, size)
        assert window.capacity == size
        before = counter.combines
        changes = swing(window, size)
        assert window.capacity == size
        each.append((size, (counter.combines - before) / changes))
        full = wr.swag.FlatFAT(counter.monoid, capacity=size)
        for value in range(size):
            full.insert(value)
        full.query()
        single.append((size, counter.cost(full.insert, 0) + counter.cost(full.query)))
        assert full.capacity == 2 * size
    assert growth_of(single, EXACT).growth == "linear"
    assert growth_of(each, EXACT).growth == "logarithmic"


def test_a_broken_bound_is_noticed() -> None:
    """A DABA whose every query folds the window is not constant any more."""

    class Broken(wr.swag.DABA):
        def _partial(self) -> Any:
            for _ in range(len(self)):
                self.monoid.combine(0, 0)
            return super()._partial()

    found = growth_of([(n, max(round_counts(Broken, n, n))) for n in SIZES], EXACT)
    assert found.growth == "linear"
