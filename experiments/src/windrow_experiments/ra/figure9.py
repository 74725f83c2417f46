"""[RA] figure 9: windows whose capacity goes back and forth between n and 2n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import windrow as wr
from windrow_experiments.growth import Fit, growth_of
from windrow_experiments.measure import Counter, least_seconds
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.operators import MAX, STD_DEV

__all__ = ["run", "swing", "swinging"]

_SIZES = [1 << k for k in range(4, 15, 2)]
_QUICK_SIZES = [16, 64, 256, 1024]
_COUNTED = [1 << k for k in range(4, 13, 2)]
Costs = dict[str, dict[int, float]]

HOW = (
    "FlatFAT in plain Python, whose tree doubles and halves. Oscillating: values come until the capacity n "
    "becomes 2n, and go until it becomes n again, over and over. Fixed: one comes and one goes, at n "
    "values. A result is asked for after each value that comes and each that goes, and the cost is that of "
    "one change."
)


def run(settings: Settings) -> Result:
    times: Costs = {f"RA {o.name} ({way})": {} for o in (MAX, STD_DEV) for way in _WAYS}
    for operator in (MAX, STD_DEV):
        for size in settings.pick(_SIZES, _QUICK_SIZES):
            settings.progress(f"{operator.name}, window of {size:,}")
            for way, taken in _microseconds(operator.monoid, size, settings.pick(3, 2)).items():
                times[f"RA {operator.name} ({way})"][size] = taken
    settings.progress("combines")
    counts = {name: {n: _combines(way, n) for n in _COUNTED} for name, way in _WAYS.items()}
    resizes = {n: _resize_combines(n) for n in _COUNTED}
    lines = [Series(name, [(float(n), us) for n, us in of.items()]) for name, of in times.items()]
    chart = Chart("Cost of a change", "window size", "µs", lines, log_x=True)
    tables = [
        _table("µs a change", times),
        _table("Combines a change", counts | {"one resize to 2n": resizes}),
    ]
    return Result(tables, [chart], _findings(times, counts, resizes), HOW)


def swinging(monoid: Any, size: int) -> Any:
    """A window at the point where its capacity has just become ``size`` again."""
    window = wr.swag.FlatFAT(monoid)
    for value in range(size + 1):
        window.insert(value)
    while window.capacity > size:
        window.evict()
    window.query()
    return window


def swing(window: Any, size: int) -> int:
    """To capacity 2n and back to n; the changes that it took."""
    changes = 0
    while window.capacity == size:
        window.insert(changes)
        window.query()
        changes += 1
    while window.capacity > size:
        window.evict()
        window.query()
        changes += 1
    return changes


def _oscillate(monoid: Any, size: int) -> Callable[[], int]:
    window = swinging(monoid, size)
    swings = max(1, 2_000 // size)
    return lambda: sum(swing(window, size) for _ in range(swings))


def _fixed(monoid: Any, size: int) -> Callable[[], int]:
    window = wr.swag.FlatFAT(monoid, capacity=size)
    for value in range(size):
        window.insert(value)
    window.query()
    rounds = max(2_000, size)

    def run() -> int:
        for value in range(rounds):
            window.evict()
            window.query()
            window.insert(value)
            window.query()
        return 2 * rounds

    return run


_WAYS: dict[str, Callable[[Any, int], Callable[[], int]]] = {"fixed": _fixed, "osc.": _oscillate}


def _microseconds(monoid: Any, size: int, repeats: int) -> dict[str, float]:
    """Of one change, both ways in turn."""
    runs = [way(monoid, size) for way in _WAYS.values()]
    changes = [run() for run in runs]
    seconds = least_seconds(runs, repeats)
    return {name: 1e6 * taken / count for name, taken, count in zip(_WAYS, seconds, changes, strict=True)}


def _combines(way: Callable[[Any, int], Callable[[], int]], size: int) -> float:
    counter = Counter()
    run = way(counter.monoid, size)
    counter.combines = 0
    changes = run()
    return counter.combines / changes


def _resize_combines(size: int) -> float:
    """The combines of the one insert that doubles the capacity."""
    counter = Counter()
    window = wr.swag.FlatFAT(counter.monoid, capacity=size)
    for value in range(size):
        window.insert(value)
    window.query()
    return float(counter.cost(window.insert, 0))


def _table(title: str, costs: Costs) -> Table:
    sizes = list(next(iter(costs.values())))
    rows: list[list[Cell]] = [[size, *(of[size] for of in costs.values())] for size in sizes]
    return Table(title, ["Window", *costs], rows)


def _fit(costs: dict[int, float]) -> Fit:
    return growth_of([(float(n), cost) for n, cost in costs.items()])


def _findings(times: Costs, counts: Costs, resizes: dict[int, float]) -> list[Finding]:
    largest = max(times["RA Max (osc.)"])
    ratios = {
        o: times[f"RA {o} (osc.)"][largest] / times[f"RA {o} (fixed)"][largest] for o in ("Max", "StdDev")
    }
    grown = _fit(counts["osc."])
    once = _fit(resizes)
    return [
        Finding.judged(
            "Resizing is amortised: windows that grow and shrink cost no more a tuple than fixed ones, and "
            "less, as they hold fewer values.",
            max(ratios.values()) < 1.1,
            f"window of {largest:,}: oscillating takes "
            + " and ".join(f"{ratio:.2f} times as long for {name}" for name, ratio in ratios.items()),
            "A resize copies values and ordinals in interpreted code, which costs about as much as a few "
            "steps up the tree for each.",
        ),
        Finding.judged(
            "The amortised cost stays logarithmic.",
            grown.growth == "logarithmic" or (grown.growth == "constant"),
            f"combines of a change, oscillating: {grown}; fixed: {_fit(counts['fixed'])}",
            "A bound of the paper is broken: this is a mistake in windrow.",
        ),
        Finding.judged(
            "A single firing may cost linear time when the capacity changes.",
            once.growth == "linear",
            f"combines of the insert that doubles the tree: {once}",
            "A bound of the paper is broken: this is a mistake in windrow.",
        ),
    ]
