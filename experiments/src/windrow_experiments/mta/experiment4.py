"""[MTA] experiment 4, figure 8: the window that fits in a limited memory."""

from __future__ import annotations

import sys

from windrow_experiments.measure import power
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.mta.limited import Reached, reached
from windrow_experiments.mta.stores import Places, places
from windrow_experiments.mta.windows import kinds

__all__ = ["findings", "run"]

#: the name of a window: by limit in MB, what it reached; the last limit is the first that suffices
Found = dict[str, dict[int, Reached]]
LARGE = 1 << 25
#: windows that take more than a store takes for itself
_TELLING = 1 << 20
_SMALL = (
    "RocksDB is in the process: what it needs for itself, some 10 MB, counts here, and is more than a window "
    "of fewer than a million values takes."
)

HOW = (
    "Each window is filled in a process of its own, up to {capacity} values (not 2^25: Python takes minutes "
    "to fill such a window), then slides. The limit is on memory beyond what the process has with its window "
    "open and empty (RLIMIT_DATA), where the paper limits the heap of a Java process with all that is in it. "
    "A window is not tried with more memory once it was full. {large}RocksDB has 16 MB for itself; Redis "
    "keeps its memory in another process."
)
HOW_LARGE = "A window of 2^25 values on RocksDB is tried with {megabytes} MB. "


def run(settings: Settings) -> Result:
    if sys.platform != "linux":
        return _elsewhere()
    capacity = settings.pick(1 << 20, 1 << 16)
    limits = settings.pick([4, 8, 16, 32, 64, 128, 256, 512], [6, 32])
    megabytes = 128
    large = None
    with places() as where:
        found = {name: _limits(settings, where, name, capacity, limits) for name in kinds(where)}
        if not settings.quick and "RocksDB" in where.kinds():
            settings.progress(f"AMTA on RocksDB, {power(LARGE)} values, {megabytes} MB")
            # RocksDB may have to tidy up before it takes more
            large = reached("AMTA on RocksDB", megabytes, LARGE, _place(where, "RocksDB"), patience=60)
        remark = where.remark
    tables = [_table(found, limits, capacity), _paper()]
    if large is not None:
        tables.insert(1, _large_table(large, megabytes))
    about_large = HOW_LARGE.format(megabytes=megabytes) if large is not None else ""
    return Result(
        tables=tables,
        charts=[_chart(found, limits)],
        findings=findings(found, capacity, large, megabytes),
        how=HOW.format(capacity=power(capacity), large=about_large) + remark,
    )


def _elsewhere() -> Result:
    finding = Finding(
        "On a store the MTAs reach the capacity with far less local memory than any window in memory.",
        None,
        "not measured",
        "The memory of a process is limited by what Linux has for that.",
    )
    return Result(tables=[_paper()], findings=[finding])


def _limits(
    settings: Settings, where: Places, name: str, capacity: int, limits: list[int]
) -> dict[int, Reached]:
    found: dict[int, Reached] = {}
    kind = name.partition(" on ")[2]
    for megabytes in limits:
        settings.progress(f"{name}, {megabytes} MB")
        found[megabytes] = reached(name, megabytes, capacity, _place(where, kind))
        if found[megabytes].is_full:
            break
    return found


def _place(where: Places, kind: str) -> str:
    if kind == "Redis":
        assert where.redis is not None
        return where.redis
    return str(where.folder / where.fresh())


def _at(of: dict[int, Reached], megabytes: int) -> Reached:
    """What was reached with that limit, or with a smaller one that sufficed."""
    return of[megabytes] if megabytes in of else of[max(of)]


def _table(found: Found, limits: list[int], capacity: int) -> Table:
    rows: list[list[Cell]] = [
        [megabytes, *(_at(of, megabytes).values for of in found.values())] for megabytes in limits
    ]
    used: list[Cell] = ["resident MB once full"]
    for of in found.values():
        resident = of[max(of)].resident_mb
        used.append(None if resident is None else round(resident, 1))
    title = f"Values reached, of {capacity:,}, by MB that the window may take"
    return Table(title, ["MB", *found], [*rows, used])


def _large_table(large: Reached, megabytes: int) -> Table:
    cells: list[Cell] = [megabytes, large.values, large.resident_mb, large.update_ns, large.update_combines]
    columns = ["MB", "values reached", "resident MB", "ns per update", "combines per update", "seconds"]
    title = f"AMTA on RocksDB, a window of {LARGE:,} values"
    return Table(title, columns, [[*cells, round(large.seconds, 1)]])


def _paper() -> Table:
    rows: list[list[Cell]] = [
        ["KVS AMTA", 1_281, 59_276, "full", "", ""],
        ["KVS LMTA", 1_459, 66_171, "full", "", ""],
        ["Mem. AMTA", 0, 1_015, "", "", "full"],
        ["Mem. LMTA", 0, 877, "", "", "full"],
        ["DABA", 0, 1_120, "", "", "full"],
        ["Naive", 0, 0, 171_923, "full", ""],
    ]
    columns = ["window", "128 MB", "256 MB", "512 MB", "16 GB", "32 GB"]
    note = "From the text: the other points of figure 8 are not printed as numbers."
    return Table("Updates reached, of 2^25, by heap of the Java process", columns, rows, "paper", note)


def _chart(found: Found, limits: list[int]) -> Chart:
    lines = [
        Series(name, [(megabytes, _at(of, megabytes).values) for megabytes in limits])
        for name, of in found.items()
    ]
    return Chart("Values that fit", "MB that the window may take", "values", lines, log_x=True)


def _enough(of: dict[int, Reached]) -> int | None:
    """The smallest limit that was enough."""
    return next((megabytes for megabytes, each in of.items() if each.is_full), None)


def _said(megabytes: int | None) -> str:
    return "more than was tried" if megabytes is None else f"{megabytes} MB"


def findings(found: Found, capacity: int, large: Reached | None, megabytes: int) -> list[Finding]:
    """What the figures say of the paper's statements."""
    enough = {name: _enough(of) for name, of in found.items()}
    stores = {name: limit for name, limit in enough.items() if " on " in name}
    memory = {name: limit for name, limit in enough.items() if " on " not in name}
    said = ", ".join(f"{name} {_said(limit)}" for name, limit in enough.items())
    out = [_naive_first(memory, said)]
    if stores:
        out += [_stores_first(stores, memory, capacity, said), _of_stores(stores, found)]
    if large is not None:
        out.append(_large(large, megabytes, found, capacity))
    return out


def _naive_first(memory: dict[str, int | None], said: str) -> Finding:
    least = memory["Naive"]
    others = [limit for name, limit in memory.items() if name != "Naive"]
    return Finding.judged(
        "In memory, Naive needs half of what DABA and the MTAs need, as it keeps no partials.",
        least is not None and all(limit is None or 2 * least <= limit for limit in others),
        f"enough for the whole window: {said}",
        "Limits are tried in steps of two.",
    )


def _stores_first(
    stores: dict[str, int | None], memory: dict[str, int | None], capacity: int, said: str
) -> Finding:
    least = min((limit for limit in memory.values() if limit is not None), default=None)
    far_less = all(limit is not None and (least is None or 4 * limit <= least) for limit in stores.values())
    return Finding(
        "On a store the MTAs reach the capacity with far less local memory than any window in memory.",
        far_less if far_less or capacity >= _TELLING else None,
        f"enough for the whole window: {said}",
        "" if far_less else _SMALL,
    )


def _of_stores(stores: dict[str, int | None], found: Found) -> Finding:
    used = {name: found[name][limit].resident_mb for name, limit in stores.items() if limit is not None}
    lighter = [
        kind
        for kind in ("RocksDB", "Redis")
        if (used.get(f"LMTA on {kind}") or 0) <= (used.get(f"AMTA on {kind}") or 0)
    ]
    return Finding.judged(
        "LMTA on the store takes slightly less local memory than AMTA.",
        len(lighter) == len({name.partition(" on ")[2] for name in stores}),
        "resident once full, MB: " + ", ".join(f"{name} {used.get(name) or 0:.1f}" for name in stores),
        "Both keep a few values a level here, AMTA a stack and LMTA the first nodes; buffers, caches and "
        "RocksDB outweigh them.",
    )


def _large(large: Reached, megabytes: int, found: Found, capacity: int) -> Finding:
    per_value = (found["AMTA"][max(found["AMTA"])].resident_mb or 0) / capacity
    return Finding.judged(
        "AMTA on the store holds a window of 2^25 updates in 512 MB, where in memory 32 GB are needed.",
        large.is_full,
        f"{large.values:,} of {LARGE:,} values with {megabytes} MB beyond the empty window"
        + (f", {large.resident_mb:.0f} MB resident" if large.resident_mb is not None else "")
        + (f", {large.update_combines:.2f} combines per update" if large.update_combines is not None else "")
        + f"; in memory AMTA would take about {per_value * LARGE / 1e3:.1f} GB, going by {capacity:,} values",
        f"It ended there: {large.why}. What RocksDB takes for itself grows a little with its files.",
    )
