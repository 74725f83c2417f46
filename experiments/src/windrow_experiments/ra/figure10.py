"""[RA] figure 10: m changes between two results, from fine-grained sliding to tumbling."""

from __future__ import annotations

from collections.abc import Callable

import windrow as wr
from windrow_experiments.growth import Fit, growth_of
from windrow_experiments.measure import least_seconds
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.operators import STD_DEV
from windrow_experiments.ra.firings import combines_a_tuple, firings

__all__ = ["CHANGES", "combine_fits", "run"]

#: m from n, by its name in the figure
CHANGES: dict[str, Callable[[int], int]] = {
    "m = 1": lambda n: 1,
    "m = 4": lambda n: 4,
    "m = 64": lambda n: 64,
    "m = n/16": lambda n: n // 16,
    "m = n/4": lambda n: n // 4,
    "m = n": lambda n: n,
}
_SIZES = [1 << k for k in range(4, 17, 2)]
_QUICK_SIZES = [64, 256, 1024]
_COUNTED = [1 << k for k in range(8, 15)]
Costs = dict[str, dict[int, float]]

HOW = (
    "FlatFAT of StdDev in plain Python, which puts changes off until a result is asked for and then renews "
    "each node above them once. The native form renews them at each change, and so gains nothing from a "
    "large m."
)


def run(settings: Settings) -> Result:
    times: Costs = {name: {} for name in CHANGES}
    for size in settings.pick(_SIZES, _QUICK_SIZES):
        settings.progress(f"window of {size:,}")
        names = [name for name, of in CHANGES.items() if 1 <= of(size) <= size]
        tuples = settings.pick(max(2_000, size), max(1_000, size))
        runs = [
            firings(wr.swag.FlatFAT, STD_DEV, size, CHANGES[name](size), tuples, settings.seed)
            for name in names
        ]
        seconds = least_seconds([run for run, _ in runs], settings.pick(3, 2))
        for name, taken, (_, done) in zip(names, seconds, runs, strict=True):
            times[name][size] = 1e6 * taken / done
    settings.progress("combines")
    counts = _combines(settings.pick(_COUNTED, _COUNTED[:5]))
    fits = {name: _fit(of) for name, of in counts.items()}
    charts = [_chart("Cost of a tuple", "µs", times), _chart("Combines of a tuple", "combines", counts)]
    return Result(
        [_table("µs per tuple", times), _table("Combines per tuple", counts)],
        charts,
        _findings(times, fits),
        HOW,
    )


def combine_fits(sizes: list[int]) -> dict[str, Fit]:
    """How the combines of a tuple grow with the window, for each m."""
    return {name: _fit(of) for name, of in _combines(sizes).items()}


def _combines(sizes: list[int]) -> Costs:
    return {
        name: {n: combines_a_tuple(wr.swag.FlatFAT, n, of(n)) for n in sizes} for name, of in CHANGES.items()
    }


def _fit(costs: dict[int, float]) -> Fit:
    return growth_of([(float(n), cost) for n, cost in costs.items()], small=0.02)


def _chart(title: str, unit: str, costs: Costs) -> Chart:
    lines = [Series(name, [(float(n), cost) for n, cost in of.items()]) for name, of in costs.items()]
    return Chart(title, "window size", unit, lines, log_x=True)


def _table(title: str, costs: Costs) -> Table:
    sizes = sorted({n for of in costs.values() for n in of})
    rows: list[list[Cell]] = [[n, *(of.get(n) for of in costs.values())] for n in sizes]
    return Table(title, ["Window", *costs], rows)


def _findings(times: Costs, fits: dict[str, Fit]) -> list[Finding]:
    largest = max(times["m = 1"])
    fine, coarse = ("m = 1", "m = 4", "m = 64"), ("m = n/16", "m = n/4", "m = n")
    costs = [times[name][largest] for name in CHANGES]
    return [
        Finding.judged(
            "For constant m the cost of a tuple is logarithmic: straight lines for m = 1, 4 and 64.",
            all(fits[name].growth == "logarithmic" for name in fine),
            f"combines: {'; '.join(f'{name}: {fits[name]}' for name in fine)}",
            "A bound of the paper is broken: this is a mistake in windrow.",
        ),
        Finding.judged(
            "For m in proportion to n it is constant for large windows, and falls on small ones, where the "
            "walk to the root still shows.",
            all(fits[name].growth == "constant" for name in coarse),
            f"combines: {'; '.join(f'{name}: {fits[name]}' for name in coarse)}",
            "A bound of the paper is broken: this is a mistake in windrow.",
        ),
        Finding.judged(
            "The larger m, the less a tuple costs, by 1 + log(n/m).",
            costs[0] > costs[1] > max(costs[3:]),
            f"window of {largest:,}, µs per tuple: "
            + ", ".join(f"{name}: {cost:.3g}" for name, cost in zip(CHANGES, costs, strict=True)),
            "Where a tuple costs a combine or two, what remains is the interpreter's work.",
        ),
    ]
