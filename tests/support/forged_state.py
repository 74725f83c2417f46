"""State that lies: unpacked with the codec, changed in some places, packed again with a right checksum.

Run as a program this restores such states and runs them to the end, ``python forged_state.py kind first
count`` being the kind of state (operators, windows or streams) and the numbers of the cases; the case under
way is printed, so that the one that killed the process is known. Numba checks bounds there
(NUMBA_BOUNDSCHECK=1): an access outside of an array is an IndexError.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

import windrow as wr
from support.forgery import Forgery, Path, lie_in, run
from support.signed_entries import every_name, sign
from support.small_chunks import small_chunks
from windrow.engines.stream.persistence.bound_entries import context_of, read_header
from windrow.state import MemoryStore
from windrow.state.codec import checksum_of, pack, unpack

SCHEMA = pa.schema(
    [("t", pa.int64()), ("k", pa.string()), ("j", pa.int64()), ("v", pa.int64()), ("x", pa.float64())]
)
#: what is counted for people and changes no result
COUNTED = {"reach", "rows_aggregated", "windows_fired", "windows_corrected", "windows_retracted"}
#: no honest run of these streams gives as many results
MOST_RESULTS = 20_000


def rows(start: int, count: int, seed: int) -> pa.Table:
    rng = random.Random(seed)
    found = [
        {"t": start + rng.randrange(30), "k": rng.choice("abc"), "j": rng.randrange(3), "v": rng.randrange(9),
         "x": rng.random()}
        for _ in range(count)
    ]  # fmt: skip
    return pa.Table.from_pylist(found, SCHEMA)


def _aggregates() -> list[dict[str, Any]]:
    return [
        {"n": wr.count(), "total": wr.sum("v"), "m": wr.mean("x"), "top": wr.max("v")},
        {"best": wr.arg_max("v", value="k"), "first": wr.first("k"), "last": wr.last("x"), "n": wr.count()},
        {"all": wr.collect("v"), "text": wr.concat("k")},
        {
            "half": wr.approx_quantile("x", 0.5),
            "kinds": wr.approx_distinct("k", precision=4),
            "n": wr.count(),
        },
        {"seen": wr.bloom("k", bits=64), "often": wr.count_min("k", width=4, depth=2), "total": wr.sum("v")},
    ]


def queries() -> list[Any]:
    """Queries of all kinds, each with the aggregates of another list."""
    bases: list[Any] = [
        {"by": "k", "watermark": 5},
        {"watermark": 5, "late": "emit"},
        {"by": ["k", "j"], "watermark": 5, "allowed_lateness": 60},
        {"by": "k", "watermark": 5, "empty": "emit"},
    ]
    windows: list[Any] = [
        {"w": wr.Sliding(40, slide=5), "u": wr.Tumbling(10)},
        {"s": wr.Session(3), "w": wr.Tumbling(20)},
        {"s": wr.Session(2, max_size=12)},
        {"w": wr.Cumulative(60, step=20), "r": wr.Rows(4)},
        {"d": wr.Delta("t", 3), "w": wr.Sliding(200, slide=2)},
        {"p": wr.Policy(lambda window, row: window.n > 5)},
        {"time": 25},
        {"rows": 6},
        {"time": 25, "shift": 10},
        {"rows": 6, "shift": 2},
    ]
    found = []
    for number, over in enumerate(windows):
        for base in bases:
            given = _aggregates()[(number + len(found)) % 5]
            if "p" in over:
                given = given | {"n": wr.count()}
            if base.get("empty") and ("time" in over or "rows" in over or "p" in over):
                continue
            query = wr.query(time="t", **base)
            if "time" in over:
                query = query.rolling(over["time"], shift=over.get("shift", 0))
            elif "rows" in over:
                query = query.rolling(rows=over["rows"], shift=over.get("shift", 0))
            else:
                query = query.window(**over)
            found.append(query.agg(**given))
    return found


# -- what results must be, whatever the state says -----------------------------------------------------------


def check_form(query: Any, found: list[pa.Table], honest: list[pa.Table]) -> None:
    """Results have the columns of honest ones, keys that came, and windows that the query has."""
    assert len(found) == len(honest)
    typed = {name for name, aggregate in query.aggregates if aggregate.monoid.name == "collect"}
    for table, other in zip(found, honest, strict=True):
        assert table.num_rows <= MOST_RESULTS, f"{table.num_rows} results"
        if query.rolling_over is not None:
            # of columns that no one reads, and that rows are given back with, only the state knows
            assert {query.time, *query.by, *(n for n, _ in query.aggregates)} <= set(table.column_names)
            assert set(table.column_names) <= set(other.column_names)
            table = table.select([n for n in other.column_names if n in table.column_names])
            other = other.select(table.column_names)
        assert table.column_names == other.column_names
        for one, field in zip(table.schema, other.schema, strict=True):
            nulls = pa.types.is_null(one.type) or pa.types.is_null(field.type)
            assert nulls or one.name in typed or one.type == field.type, (one, field)
        _check_keys(query, table)
        if query.rolling_over is None:
            _check_windows(query, table)


def _check_keys(query: Any, table: pa.Table) -> None:
    known: dict[str, set[Any]] = {"k": {"a", "b", "c", None}, "j": {0, 1, 2, None}}
    for name in query.by:
        assert set(table.column(name).to_pylist()) <= known[name]


def _check_windows(query: Any, table: pa.Table) -> None:
    windows = dict(query.windows)
    names = table.column("window").to_pylist() if "window" in table.column_names else [""] * len(table)
    edges = (table.column(name).to_pylist() for name in ("window_start", "window_end"))
    for name, start, end in zip(names, *edges, strict=True):
        window = windows[name] if name else next(iter(windows.values()))
        if isinstance(window, wr.Policy) and start is None:  # it has let all rows go
            assert end is None
        elif isinstance(window, wr.Cumulative):
            assert (start % 60, end % 20) == (0, 0), (start, end)
            assert 0 < end - start <= 60
        elif isinstance(window, (wr.Sliding, wr.Tumbling)):
            slide = window.slide if isinstance(window, wr.Sliding) else window.size
            assert end - start == window.size.amount, (name, start, end)
            assert start % slide.amount == 0
        else:
            assert start <= end


class Operator:
    """An operator with state, in a snapshot or in the entries of a store."""

    def __init__(self, query: Any, in_entries: bool) -> None:
        self.query, self.in_entries = query, in_entries
        self.entries: dict[bytes, bytes] = {}
        self.place = b""
        begun = query.open(store=MemoryStore(), name="case") if in_entries else query.open()
        begun.push(rows(0, 40, 1))
        begun.push(rows(25, 90, 2))
        begun.push(rows(30, 12, 3))
        if in_entries:
            store, self.place = begun._saved.entries.store, begun._saved.entries.place
            self.entries = dict(zip(keys := list(store.scan(b"")), store.get_many(keys), strict=True))
        else:
            self.entries = {b"snapshot": begun.snapshot()}
        self.honest = self.finished(self.entries)

    def names(self) -> list[bytes]:
        """The entries that are read; a store also holds those which the last step has replaced."""
        if not self.in_entries:
            return list(self.entries)
        header = self.place + b"h"
        tree = read_header(self.entries[header], self.place)
        return [header, *map(self.key_of, every_name(self.blocks(self.entries), self.place, tree))]

    def key_of(self, name: str) -> bytes:
        """Where an entry is in the store."""
        return self.place + b"b" + name.encode()

    def blocks(self, entries: dict[bytes, bytes]) -> dict[str, bytes]:
        """All entries but the header, by their names."""
        prefix = self.key_of("")
        return {k.removeprefix(prefix).decode(): v for k, v in entries.items() if k.startswith(prefix)}

    def finished(self, entries: dict[bytes, bytes]) -> list[pa.Table]:
        """All that comes out when the operator goes on from these entries."""
        if self.in_entries:
            store = MemoryStore()
            store.write(list(entries.items()))
            operator = self.query.open(store=store, name="case")
        else:
            operator = self.query.restore(entries[b"snapshot"])
        found = [operator.push(rows(40, 30, 4)), operator.advance(75), operator.push(rows(80, 10, 5))]
        if self.query.late == "return":
            found_late = operator.late_rows()
            assert {"late_by", "late_reason"} <= set(found_late.column_names)
        return [*found, operator.finish()]

    def attempt(self, rng: random.Random) -> tuple[str, Callable[[], None]]:
        name = rng.choice(self.names())
        entries, paths = forged_entries(self, name, rng)
        return f"{self.query!r}, entry {name!r}, {paths}", partial(self._run, entries, paths)

    def _run(self, entries: dict[bytes, bytes], paths: list[Path]) -> None:
        found = self.finished(entries)
        check_form(self.query, found, self.honest)
        if all(COUNTED & set(path) for path in paths):
            assert [table.to_pylist() for table in found] == [table.to_pylist() for table in self.honest]


# -- lies ----------------------------------------------------------------------------------------------------


def kind_of(data: bytes) -> str | None:
    """The kind that a frame says it is of, where that is one that is unpacked without more."""
    if data[:4] != b"WRST":
        return None
    kind = data[6 : 6 + data[5]].decode()
    return kind if kind in ("operator", "header", "block", "rows") else None


def forged_entries(case: Operator, name: bytes, rng: random.Random) -> tuple[dict[bytes, bytes], list[Path]]:
    """The entries of a case with one of them forged, and whatever vouches for it forged as well."""
    entries = dict(case.entries)
    if not case.in_entries:
        entries[name], paths = forged(entries[name], b"", rng)
        return entries, paths
    header = case.place + b"h"
    if name == header:
        entries[header], paths = forged(entries[header], context_of(case.place, "header"), rng)
    else:
        own = name.removeprefix(case.place + b"b").decode()
        entries[name], paths = forged(entries[name], context_of(case.place, own), rng)
        tree = read_header(entries[header], case.place)
        blocks = case.blocks(entries)
        sign(blocks, case.place, tree, own)
        entries |= {case.key_of(each): data for each, data in blocks.items()}
        entries[header] = pack("header", tree, context_of(case.place, "header"))
    fence = case.place + b"g"
    entries[fence] = entries[fence][:8] + checksum_of(entries[header]).to_bytes(4, "big")
    return entries, paths


def forged(data: bytes, context: bytes, rng: random.Random) -> tuple[bytes, list[Path]]:
    kind = kind_of(data)
    assert kind is not None
    tree, paths = lie_in(unpack(kind, data, context), rng)
    return pack(kind, tree, context), paths


def operators() -> list[Forgery]:
    return [Operator(query, in_entries) for query in queries() for in_entries in (False, True)]


def _of_kind(kind: str) -> list[Forgery]:
    """The cases of a kind; ``windows`` and ``streams`` are in modules of their own."""
    if kind == "operators":
        return operators()
    module = importlib.import_module(f"support.forged_{kind}")
    found: list[Forgery] = getattr(module, kind)()
    return found


if __name__ == "__main__":
    kind, first, count = sys.argv[1:]
    with small_chunks():
        sys.exit(0 if run(_of_kind(kind), int(first), int(count)) else 1)
