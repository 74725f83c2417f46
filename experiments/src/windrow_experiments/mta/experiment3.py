"""[MTA] experiment 3, table 2: six operations with their slide policies over two years of readings."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from windrow.swag.daba import DABA
from windrow.swag.daba_lite import DABALite
from windrow_experiments.measure import power
from windrow_experiments.model import Cell, Finding, Result, Settings, Table
from windrow_experiments.mta.operations import OPERATIONS, Operation
from windrow_experiments.mta.readings import DAY, DAYS, Floats, days
from windrow_experiments.mta.stores import places
from windrow_experiments.mta.windows import Make, Measured, kinds, measured

__all__ = ["PAPER", "findings", "run"]

_WINDOWS = ("Naive", "KVS LMTA", "LMTA", "DABA", "KVS AMTA", "AMTA")
#: [MTA] table 2, nanoseconds
PAPER: dict[str, dict[str, float]] = {
    "Sum": dict(zip(_WINDOWS, (3.69e8, 14320, 10341, 4288, 6253, 4163), strict=True)),
    "Mean": dict(zip(_WINDOWS, (3.26e8, 14027, 10378, 4389, 6111, 4033), strict=True)),
    "G. Mean": dict(zip(_WINDOWS, (2.83e8, 15267, 11166, 4795, 6198, 4183), strict=True)),
    "Std. Dev.": dict(zip(_WINDOWS, (3.5e8, 15439, 12934, 4880, 6131, 3864), strict=True)),
    "Max": dict(zip(_WINDOWS, (2554, 8501, 6188, 3500, 2886, 1763), strict=True)),
    "LIS": dict(zip(_WINDOWS, (19294, 22306, 19794, 10027, 7350, 6476), strict=True)),
}
#: operations whose policies evict more than what is beyond the limit
EVICTING = ("Max", "LIS")
CONSTANT = ("Sum", "Mean", "G. Mean", "Std. Dev.")
FULL_WINDOW = 1 << 20
#: algorithms that run in native code
NATIVE = (DABA, DABALite)

#: operation: by window, what an update takes
Found = dict[str, dict[str, Measured]]

HOW = (
    "The readings are generated: {days} days of one a second. Windows in plain Python hold at most {limit} "
    "rows, not 2^20. They are filled with that many and then take {constant:,} updates (Naive {naive}, DABA "
    "and AMTA in memory {limit}, a whole turn), or {evicting:,} where the policy evicts more: {part}. "
    "Windows in native code take all {readings:,} readings with 2^20 rows in the window, without a policy. "
    "The longest increasing subsequence is a run of neighbouring rows. Stores are RocksDB in the process and "
    "Redis on loopback."
)
PART = {
    False: "a day whose peak is above the last one, so that a day is evicted at once",
    True: "a part of a day",
}


@dataclass(frozen=True)
class _Sizes:
    """The most rows of a window, and how many updates are measured."""

    limit: int
    naive: int
    constant: int
    evicting: int

    def updates(self, operation: str, window: str) -> int:
        if operation in EVICTING:
            return self.evicting
        if window in ("DABA", "AMTA"):  # a whole turn: DABA has cheap and dear stretches in it
            return self.limit
        return self.naive if window == "Naive" else self.constant


def run(settings: Settings) -> Result:
    sizes = settings.pick(_Sizes(1 << 17, 8, 16_000, DAY), _Sizes(1 << 11, 20, 2_000, 4_000))
    count = settings.pick(DAYS, 14)
    found: Found = {}
    with places() as where:
        for operation, what in OPERATIONS.items():
            for name, make in kinds(where).items():
                settings.progress(f"{operation}, {name}")
                updates = sizes.updates(operation, name)
                found.setdefault(operation, {})[name] = _updates(
                    make, what, sizes.limit, updates, settings.seed
                )
        facts = asdict(sizes) | {"days": count, "readings": count * DAY, "part": PART[settings.quick]}
        how = HOW.format(**(facts | {"limit": power(sizes.limit)})) + where.remark
    compiled = _compiled(settings, count)
    return Result(
        tables=[
            _table("Nanoseconds an update", found, "ns"),
            _table("Combines per update", found, "combines"),
            _compiled_table(compiled, count),
            _paper(),
        ],
        findings=findings(found),
        how=how,
    )


def _updates(make: Make, what: Operation, limit: int, updates: int, seed: int) -> Measured:
    """Updates around the peak of the third day."""
    first = max(limit, 2 * DAY + DAY // 4 - updates // 2)
    rows = _rows(first - limit, limit + updates, seed)
    return measured(make, what.monoid, what.policy(limit), rows[:limit], rows[limit:])


@functools.lru_cache(maxsize=3)
def _rows(first: int, count: int, seed: int) -> list[tuple[int, float]]:
    """Readings with their times, from second ``first`` on."""
    number, skipped = divmod(first, DAY)
    readings = np.concatenate(list(days(number, -(-(skipped + count) // DAY), seed)))
    return list(enumerate(readings[skipped : skipped + count].tolist(), start=first))


def _compiled(settings: Settings, count: int) -> dict[str, dict[str, float]]:
    """Nanoseconds a reading of windows in native code, with a constant size."""
    found: dict[str, dict[str, float]] = {operation: {} for operation in OPERATIONS}
    for algorithm in settings.pick(NATIVE, NATIVE[-1:]):
        settings.progress(f"{algorithm.__name__} in native code, {count * DAY:,} readings")
        windows = {operation: algorithm(what.compiled) for operation, what in OPERATIONS.items()}
        for window in windows.values():
            window.roll(np.full(16, 50.0), FULL_WINDOW)  # compiled, or loaded
        seconds = dict.fromkeys(OPERATIONS, 0.0)
        for readings in _fortnights(count, settings.seed):
            for operation, window in windows.items():
                seconds[operation] += _rolled(window, readings)
        for operation, took in seconds.items():
            found[operation][algorithm.__name__] = took / (count * DAY) * 1e9
    return found


def _fortnights(count: int, seed: int) -> Iterator[Floats]:
    return (np.concatenate(list(days(first, min(14, count - first), seed))) for first in range(0, count, 14))


def _rolled(window: DABA | DABALite, readings: Floats) -> float:
    begun = time.perf_counter()
    window.roll(readings, FULL_WINDOW)
    return time.perf_counter() - begun


def _table(title: str, found: Found, what: str) -> Table:
    windows = list(next(iter(found.values())))
    rows: list[list[Cell]] = [
        [operation, *(round(getattr(of[name], what), 2) for name in windows)]
        for operation, of in found.items()
    ]
    return Table(title, ["operation", *windows], rows)


def _compiled_table(compiled: dict[str, dict[str, float]], count: int) -> Table:
    rows: list[list[Cell]] = [[operation, *of.values()] for operation, of in compiled.items()]
    title = f"Nanoseconds a reading in native code, {count * DAY:,} readings, 2^20 in the window"
    return Table(title, ["operation", *next(iter(compiled.values()))], rows)


def _paper() -> Table:
    windows = list(PAPER["Sum"])
    rows: list[list[Cell]] = [[name, *(of[window] for window in windows)] for name, of in PAPER.items()]
    return Table("Table 2: nanoseconds an update", ["operation", *windows], rows, source="paper")


def findings(found: Found) -> list[Finding]:
    """What the figures say of the paper's statements."""
    return [
        _amta_first(found),
        _like_daba(found),
        *(_benefits(found[name], name) for name in EVICTING),
        _naive(found),
    ]


def _amta_first(found: Found) -> Finding:
    others = ("Naive", "DABA", "LMTA")
    first = [name for name, of in found.items() if of["AMTA"].ns <= min(of[other].ns for other in others)]
    return Finding.judged(
        "All operations run faster on AMTA in memory than on any other window.",
        len(first) == len(found),
        f"AMTA is the fastest in memory for {', '.join(first) or 'none'}; combines per update: "
        + ", ".join(
            f"{k} {of['AMTA'].combines:.1f} (DABA {of['DABA'].combines:.1f})" for k, of in found.items()
        ),
        "In Python the steps around a combine decide: AMTA keeps levels of pairs and searches by the policy, "
        "DABA has an array.",
    )


def _like_daba(found: Found) -> Finding:
    ratios = [found[name]["DABA"].combines / found[name]["AMTA"].combines for name in CONSTANT]
    return Finding.judged(
        "Windows of constant size: DABA behaves much like AMTA, and LMTA costs more.",
        all(0.5 <= ratio <= 2 for ratio in ratios)
        and all(found[name]["LMTA"].combines > found[name]["AMTA"].combines for name in CONSTANT),
        f"combines of DABA: {min(ratios):.2f} to {max(ratios):.2f} times those of AMTA; of LMTA: "
        f"{found['Sum']['LMTA'].combines / found['Sum']['AMTA'].combines:.2f} times (Sum)",
        "Expected is a factor of less than two.",
    )


def _benefits(of: dict[str, Measured], name: str) -> Finding:
    amta, daba = of["AMTA"], of["DABA"]
    paper = PAPER[name]["DABA"] / PAPER[name]["AMTA"]
    return Finding.judged(
        f"{name}: bulk eviction pays; DABA takes {paper:.1f} times as long as AMTA.",
        daba.ns > amta.ns,
        f"DABA takes {daba.ns / amta.ns:.2f} times as long and {daba.combines / amta.combines:.2f} times the "
        f"combines ({daba.combines:.1f} and {amta.combines:.1f} an update)",
        "Evictions that come at once are rare in these readings, and each row is evicted once either way; "
        "what remains is the cost of the steps around combines.",
    )


def _naive(found: Found) -> Finding:
    limit = found["Sum"]["Naive"].combines
    return Finding.judged(
        "Naive folds the whole window for sums and means, and does well where policies keep windows from "
        "sliding.",
        all(found[name]["Naive"].combines < limit / 10 for name in EVICTING),
        f"combines per update: Sum {limit:,.0f}, "
        + ", ".join(f"{name} {found[name]['Naive'].combines:,.1f}" for name in EVICTING),
        "A window that starts with its maximum, or its longest rise, at the limit of rows has to be folded "
        "again.",
    )
