"""[MTA] experiment 2, figure 7: one update that makes the slide policy evict many."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from windrow_experiments.growth import growth_of
from windrow_experiments.measure import Counter, power
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.mta.sized import sized, too_large
from windrow_experiments.mta.stores import ended, places
from windrow_experiments.mta.windows import Make, in_memory, kinds, no_collector

__all__ = ["Bulk", "evictions", "findings", "most_combines", "run"]

HOW = (
    "A window of {n} values, not 2^23: a Python window of that size takes minutes to fill, and is filled "
    "again after each eviction. An update whose maximal size is smaller makes the policy evict; measured is "
    "what the policy and the query after it take, the median of {repeats} evictions of the same size (of one "
    "from 2^{once} on). Combines are counted in the same run. Stores are RocksDB in the process and Redis on "
    "loopback, not Couchbase on other machines."
)
ONCE = 16


@dataclass(frozen=True)
class Bulk:
    """What evicting some values at once takes: seconds and combines."""

    seconds: float
    combines: int


#: the name of a window: by values evicted, what it takes
Found = dict[str, dict[int, Bulk]]


def run(settings: Settings) -> Result:
    n = settings.pick(1 << 20, 1 << 14)
    repeats = 3
    settings.progress("combines in windows of several sizes")
    most = most_combines([1 << k for k in range(6, settings.pick(17, 13), 2)])
    found: Found = {}
    with places() as where:
        for name, make in kinds(where).items():
            settings.progress(f"{name}, a window of {power(n)}")
            found[name] = evictions(make, n, _sizes(n), repeats)
        how = HOW.format(n=power(n), repeats=repeats, once=ONCE) + where.remark
    return Result(
        tables=[
            _table("Microseconds to evict m values at once", found, lambda each: each.seconds * 1e6),
            _table("Combines to evict m values at once", found, lambda each: each.combines),
            _most_table(most),
            _paper(),
        ],
        charts=[
            _chart("Evicting m values at once", "microseconds", found, lambda each: each.seconds * 1e6),
            _chart("Evicting m values at once", "combines", found, lambda each: each.combines),
        ],
        findings=findings(found, most, n),
        how=how,
    )


def _sizes(n: int) -> list[int]:
    return [1 << k for k in range(0, n.bit_length() - 1, 2)] + [n - 1]


def most_combines(windows: list[int]) -> dict[str, dict[int, int]]:
    """The most combines that evicting any number takes, by algorithm and size of the window."""
    found: dict[str, dict[int, int]] = {}
    for name, make in in_memory().items():
        for n in windows if name != "Naive" else ():
            bulks = evictions(make, n, _sizes(n), repeats=1)
            found.setdefault(name, {})[n] = max(bulk.combines for bulk in bulks.values())
    return found


def evictions(make: Make, n: int, sizes: list[int], repeats: int) -> dict[int, Bulk]:
    """For each size m: let an update make the policy evict m of n values, and fill the window again."""
    counter = Counter(sized)
    window = make(counter.monoid)
    found = {}
    with no_collector():
        _fill(window, n, n)
        for m in sizes:
            times = repeats if m < 1 << ONCE else 1
            each = [_evict(window, counter, n, m) for _ in range(times)]
            found[m] = Bulk(median(bulk.seconds for bulk in each), round(median(b.combines for b in each)))
    ended(window)
    return found


def _fill(window: Any, count: int, n: int) -> None:
    for _ in range(count):
        window.insert(n)
    window.query()


def _evict(window: Any, counter: Counter, n: int, m: int) -> Bulk:
    window.insert(n + 1 - m)
    before = counter.combines
    begun = time.perf_counter()
    evicted = window.evict_while(too_large)
    left = window.query()
    seconds = time.perf_counter() - begun
    combines = counter.combines - before
    if (evicted, left) != (m, n + 1 - m):
        raise AssertionError(f"{evicted} evicted and {left} left, not {m} and {n + 1 - m}")
    _fill(window, m - 1, n)
    return Bulk(seconds, combines)


def _table(title: str, found: Found, what: Any) -> Table:
    sizes = list(next(iter(found.values())))
    rows = [[power(m), *(round(what(of[m]), 1) for of in found.values())] for m in sizes]
    return Table(title, ["m", *found], rows)


def _most_table(most: dict[str, dict[int, int]]) -> Table:
    windows = list(next(iter(most.values())))
    rows: list[list[Cell]] = [[power(n), *(of[n] for of in most.values())] for n in windows]
    return Table("The most combines to evict any number, by size of the window", ["window", *most], rows)


def _paper() -> Table:
    rows = [
        ["Naive", "about 2 s, constant: checked and left updates are all of them, together"],
        ["DABA", "linear; slower than Naive from 2^20 - 1 of 2^23 on"],
        ["LMTA", "logarithmic, at most 258 µs; faster than AMTA for most sizes"],
        ["AMTA", "logarithmic, at most 455 µs"],
        ["LMTA, AMTA on the store", "logarithmic, at most about 5 ms, from cache misses; LMTA 1 ms faster"],
    ]
    note = "From the text: figure 7 is not printed as numbers."
    return Table("What the paper reports", ["window", "latency"], rows, source="paper", note=note)


def _chart(title: str, label: str, found: Found, what: Any) -> Chart:
    # what costs nothing has no place on a logarithmic axis
    lines = [
        Series(name, [(m, what(each)) for m, each in of.items() if what(each) > 0])
        for name, of in found.items()
    ]
    return Chart(title, "values evicted", label, lines, log_x=True, log_y=True)


def findings(found: Found, most: dict[str, dict[int, int]], n: int) -> list[Finding]:
    """What the figures say of the paper's statements."""
    return [
        _naive(found["Naive"], n),
        _daba(found["DABA"], found["Naive"], most["DABA"], n),
        *(_tree(name, of) for name, of in most.items() if name != "DABA"),
        _flat(found, n),
        _ahead(found, n),
        _log_before_amortised(found),
    ]


def _naive(of: dict[int, Bulk], n: int) -> Finding:
    combines = [each.combines for each in of.values()]
    return Finding.judged(
        "Naive: evicting any number combines all updates once, those that go and those that stay.",
        n <= min(combines) and max(combines) <= n + 5,
        f"{min(combines):,} to {max(combines):,} combines for {n:,} values",
        "Expected is one combine per value.",
    )


def _daba(of: dict[int, Bulk], naive: dict[int, Bulk], most: dict[int, int], n: int) -> Finding:
    fitted = growth_of(list(most.items()))
    slower = [m for m in of if of[m].seconds > naive[m].seconds]
    return Finding.judged(
        "DABA: linear in the number of updates evicted, and in the end slower than Naive.",
        fitted.growth == "linear" and bool(slower),
        f"combines to evict all but one of n: {fitted}; slower than Naive from "
        + (f"m = {power(min(slower))} of {power(n)} on" if slower else "no size on"),
        "It evicts one by one, and adds up what goes.",
    )


def _tree(name: str, most: dict[int, int]) -> Finding:
    fitted = growth_of(list(most.items()))
    return Finding.judged(
        f"{name}: evicting any number of updates costs O(log n).",
        fitted.growth in ("constant", "logarithmic"),
        f"the most combines for any number, windows of {power(min(most))} to {power(max(most))}: {fitted}",
        "The fit is over the sizes of the table.",
    )


def _flat(found: Found, n: int) -> Finding:
    # finding how many, evicting them and asking again: windrow.swag.amta
    bound = 2 * (3 * (n - 1).bit_length() + 1)
    trees = {name: of for name, of in found.items() if "MTA" in name}
    most = max(each.combines for of in trees.values() for each in of.values())
    slowest = {name: max(each.seconds for each in of.values()) for name, of in trees.items()}
    return Finding.judged(
        "No MTA costs more the more is evicted, but for the store that has to be asked.",
        most <= bound,
        f"at most {most} combines for any number of {power(n)}; the longest, µs: "
        + ", ".join(f"{name} {seconds * 1e6:,.0f}" for name, seconds in slowest.items()),
        f"Expected are at most {bound} combines.",
    )


def _ahead(found: Found, n: int) -> Finding:
    m = max(m for m in found["DABA"] if m <= n // 4)
    trees = {name: found["DABA"][m].seconds / of[m].seconds for name, of in found.items() if "MTA" in name}
    return Finding.judged(
        "Every MTA, even on a store, evicts many updates faster than DABA in memory.",
        min(trees.values()) > 1,
        f"times as fast as DABA at m = {power(m)}: "
        + ", ".join(f"{name} {ratio:,.0f}" for name, ratio in trees.items()),
        "A store that has to be asked takes longer than evicting a few values.",
    )


def _log_before_amortised(found: Found) -> Finding:
    faster = [m for m in found["LMTA"] if found["LMTA"][m].seconds < found["AMTA"][m].seconds]
    fewer = [m for m in found["LMTA"] if found["LMTA"][m].combines < found["AMTA"][m].combines]
    many = len(found["LMTA"])
    return Finding.judged(
        "LMTA evicts in bulk faster than AMTA for most sizes, as its enforcement has fewer stages.",
        2 * len(faster) > many,
        f"faster for {len(faster)} of {many} sizes, fewer combines for {len(fewer)}",
        "windrow's AMTA first asks the policy about the oldest value and then ever larger nodes, rather than "
        "evicting some values one by one before it searches from the root.",
    )
