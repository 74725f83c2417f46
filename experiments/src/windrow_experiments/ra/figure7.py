"""[RA] figure 7: the cost of a tuple and its best fit to a logarithm."""

from __future__ import annotations

import windrow as wr
from windrow_experiments.growth import Fit, fit, growth_of
from windrow_experiments.measure import power, round_counts
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.operators import MAX, STD_DEV
from windrow_experiments.throughput import native_rounds, round_microseconds

__all__ = ["run"]

_SIZES = [1 << k for k in (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 23)]
_QUICK_SIZES = [1 << k for k in (0, 4, 8, 12, 16)]
_COUNTED = [1 << k for k in range(2, 13, 2)]
_OPERATORS = {"Max": MAX, "StdDev": STD_DEV}
#: a fit is close if it misses by less than this share of the mean cost
_CLOSE = 0.25
Points = list[tuple[float, float]]

HOW = (
    "FlatFAT in native code through roll, 64-bit partials; the least of several runs. Fits are least squares "
    "of a + b log2 n. Combines are counted in the plain form, which is asked for a result after each tuple."
)


def run(settings: Settings) -> Result:
    measured = {name: _measured(settings, name) for name in _OPERATORS}
    fits = {name: fit(points, "logarithmic") for name, points in measured.items()}
    settings.progress("combines")
    counts = [(float(n), _mean_count(n)) for n in _COUNTED]
    count_fit = growth_of(counts)
    return Result(
        [_table(measured, fits), _count_table(counts, count_fit)],
        [
            _chart("Cost of a tuple", "µs", measured, fits),
            _chart("Combines of a tuple", "combines", {"RA": counts}, {"RA": count_fit}),
        ],
        _findings(measured, fits, count_fit),
        HOW,
    )


def _measured(settings: Settings, name: str) -> Points:
    found = []
    for size in settings.pick(_SIZES, _QUICK_SIZES):
        settings.progress(f"{name}, window of {size:,}")
        rounds = settings.pick(1 << 19, 1 << 16)
        runs = [native_rounds(wr.swag.FlatFAT, _OPERATORS[name], size, rounds, settings.seed)]
        found.append((float(size), round_microseconds(runs, 3, settings.pick(0.5, 0.05))[0]))
    return found


def _mean_count(size: int) -> float:
    counts = round_counts(wr.swag.FlatFAT, size, 2 * size)
    return sum(counts) / len(counts)


def _table(measured: dict[str, Points], fits: dict[str, Fit]) -> Table:
    rows: list[list[Cell]] = []
    for index, (size, _) in enumerate(measured["Max"]):
        row: list[Cell] = [power(int(size))]
        for name, points in measured.items():
            row += [points[index][1], fits[name].at(size)]
        rows.append(row)
    columns = ["Window", *(f"{name}{what}" for name in measured for what in ("", " (fit)"))]
    return Table(
        "µs per tuple", columns, rows, note="; ".join(f"{name} {found}" for name, found in fits.items())
    )


def _count_table(counts: Points, found: Fit) -> Table:
    rows: list[list[Cell]] = [[int(size), count, found.at(size)] for size, count in counts]
    return Table("Combines per tuple", ["Window", "mean", "fit"], rows, note=str(found))


def _chart(title: str, unit: str, measured: dict[str, Points], fits: dict[str, Fit]) -> Chart:
    lines = [Series(name, points) for name, points in measured.items()]
    lines += [
        Series(f"{name} (fit)", [(size, fits[name].at(size)) for size, _ in points])
        for name, points in measured.items()
    ]
    return Chart(title, "window size", unit, lines, log_x=True)


def _findings(measured: dict[str, Points], fits: dict[str, Fit], count_fit: Fit) -> list[Finding]:
    knees = {name: _knee(points) for name, points in measured.items()}
    large = {name: fit(points[-3:], "logarithmic").misfit for name, points in measured.items()}
    return [
        Finding.judged(
            "The cost of a tuple is logarithmic: measured values are close to the best fit.",
            all(found.misfit <= _CLOSE and found.slope > 0 for found in fits.values()),
            "; ".join(f"{name} {found}" for name, found in fits.items())
            + "; the three largest windows alone: "
            + ", ".join(f"{name} misfit {misfit:.1%}" for name, misfit in large.items()),
            "Steps take nanoseconds here. The positions of a small window come again so soon that the "
            "processor most likely foresees each branch of the walk up the tree; in large windows it does "
            "not, and each costs more than a combine. The combines themselves are on the line.",
        ),
        Finding.judged(
            "There is no knee where the tree outgrows a cache, since a tuple touches a small part of it.",
            max(knees.values()) <= 2,
            "a level of the tree costs "
            + ", ".join(f"{knee:.1f} times as much for {name}" for name, knee in knees.items())
            + " at the large end as in the middle",
            "Native steps take nanoseconds, so that a miss of the last cache shows; in the paper a tuple "
            "takes a microsecond.",
        ),
        Finding.judged(
            "The combines of a tuple grow with the logarithm of the window.",
            count_fit.growth == "logarithmic",
            str(count_fit),
            "A bound of the paper is broken: this is a mistake in windrow.",
        ),
    ]


def _knee(points: Points) -> float:
    """What doubling the window adds among the largest three, over what it adds up to the middle."""
    lower, upper = points[1 : len(points) // 2 + 2], points[-3:]
    return fit(upper, "logarithmic").slope / max(fit(lower, "logarithmic").slope, 1e-9)
