"""State that lies: unpacked with the codec, changed in some places, packed again with a right checksum.

Run as a program this restores such states and runs them to the end, ``python forged_state.py first count``
being the numbers of the cases; the case under way is printed, so that whoever started it sees the one that
killed it. Numba checks bounds there (NUMBA_BOUNDSCHECK=1): an access outside of an array is an IndexError.
"""

from __future__ import annotations

import contextlib
import random
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr
from small_chunks import small_chunks
from windrow.engines.stream.persistence.stored_state import _context, _listed, read_header
from windrow.errors import AggregateError, StateError
from windrow.state import MemoryStore
from windrow.state.codec import checksum_of, pack, unpack

SCHEMA = pa.schema(
    [("t", pa.int64()), ("k", pa.string()), ("j", pa.int64()), ("v", pa.int64()), ("x", pa.float64())]
)

#: errors with a name that say what does not fit; all else that is raised is a fault
NAMED = (StateError, AggregateError)


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
        {"best": wr.arg_max("v", "k"), "first": wr.first("k"), "last": wr.last("x"), "n": wr.count()},
        {"all": wr.collect("v"), "text": wr.concat("k")},
        {"half": wr.quantile("x", 0.5, k=8), "kinds": wr.approx_distinct("k", precision=4), "n": wr.count()},
        {"seen": wr.bloom("k", bits=64), "often": wr.count_min("k", width=4, depth=2), "total": wr.sum("v")},
    ]


def queries() -> list[Any]:
    """Queries of all kinds, each with the aggregates of another list."""
    bases: list[Any] = [
        {"by": "k", "watermark": 5},
        {"watermark": 5},
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
                query = query.rolling(over["time"])
            elif "rows" in over:
                query = query.rolling(rows=over["rows"])
            else:
                query = query.window(**over)
            found.append(query.agg(**given))
    return found


class Case:
    """A query with state, and what is done with it."""

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

    def names(self) -> list[bytes]:
        """The entries that are read; a store also holds those which the last step has replaced."""
        if not self.in_entries:
            return list(self.entries)
        header = self.place + b"h"
        listed = sorted(_listed(read_header(self.entries[header], self.place)))
        return [header, *(self.place + b"b" + name.encode() for name in listed)]

    def finished(self, entries: dict[bytes, bytes]) -> list[Any]:
        """All that comes out when the operator goes on from these entries."""
        if self.in_entries:
            store = MemoryStore()
            store.write(list(entries.items()))
            operator = self.query.open(store=store, name="case")
        else:
            operator = self.query.restore(entries[b"snapshot"])
        found = [operator.push(rows(40, 30, 4)), operator.advance(75), operator.push(rows(80, 10, 5))]
        return [table.to_pylist() for table in [*found, operator.finish()]]


# -- lies ----------------------------------------------------------------------------------------------------


def kind_of(data: bytes) -> str | None:
    """The kind that a frame says it is of, where that is one that is unpacked without more."""
    if data[:4] != b"WRST":
        return None
    kind = data[6 : 6 + data[5]].decode()
    return kind if kind in ("operator", "header", "block", "rows") else None


def forged_entries(case: Case, name: bytes, rng: random.Random) -> dict[bytes, bytes]:
    """The entries of a case with one of them forged, and whatever vouches for it forged as well."""
    entries = dict(case.entries)
    if not case.in_entries:
        return entries | {name: forged(entries[name], b"", rng)}
    header = case.place + b"h"
    if name == header:
        entries[header] = forged(entries[header], _context(case.place, "header"), rng)
    else:
        own = name.removeprefix(case.place + b"b").decode()
        entries[name] = forged(entries[name], _context(case.place, own), rng)
        tree = read_header(entries[header], case.place)
        tree["sums"][sorted(_listed(tree)).index(own)] = checksum_of(entries[name])
        entries[header] = pack("header", tree, _context(case.place, "header"))
    fence = case.place + b"g"
    entries[fence] = entries[fence][:8] + checksum_of(entries[header]).to_bytes(4, "big")
    return entries


def forged(data: bytes, context: bytes, rng: random.Random) -> bytes:
    kind = kind_of(data)
    assert kind is not None
    tree = unpack(kind, data, context)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        # arrays are what compiled code reads: they are changed more often than what is around them
        every = list(_places(tree))
        arrays = [(holder, key) for holder, key in every if type(holder[key]) is np.ndarray]
        places = arrays if arrays and rng.random() < 0.6 else every
        holder, key = rng.choice(places)
        _change(holder, key, rng)
    return pack(kind, _frozen(tree), context)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Where values are, in containers that can be changed; tuples become lists on the way."""
    items = tree.items() if type(tree) is dict else enumerate(tree) if type(tree) is list else ()
    for key, value in list(items):
        if key == "query":
            continue
        if type(value) is tuple:
            value = tree[key] = _Tuple(value)
        yield tree, key
        yield from _places(value) if type(value) is not _Tuple else _places_in(value)


class _Tuple(list[Any]):
    """A tuple that can be changed."""


def _places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, part in enumerate(value):
        yield value, key
        yield from _places(part)


def _frozen(tree: Any) -> Any:
    if type(tree) is dict:
        return {key: _frozen(value) for key, value in tree.items()}
    if type(tree) is _Tuple:
        return tuple(map(_frozen, tree))
    return [_frozen(value) for value in tree] if type(tree) is list else tree


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder[key]
    action = rng.random()
    if action < 0.08:
        holder[key] = rng.choice([None, -1, 2**62, 2**70, "x", b"x", 0.5, [], {}, True])
    elif action < 0.12 and type(holder) is dict:
        del holder[key]
    elif action < 0.2 and type(holder) in (list, _Tuple):
        other = rng.randrange(len(holder))
        holder[key], holder[other] = holder[other], holder[key]
    elif type(value) is np.ndarray:
        holder[key] = _other_array(value, rng)
    elif isinstance(value, (pa.Table, pa.Array)):
        holder[key] = _other_rows(value, rng)
    elif type(value) is bytes and value:
        at = rng.randrange(len(value))
        holder[key] = value[:at] + bytes([rng.randrange(256)]) + value[at + 1 :]
    elif type(value) in (list, _Tuple) and value and rng.random() < 0.5:
        value.pop(rng.randrange(len(value)))
    elif type(value) is int:
        holder[key] = rng.choice([value + 1, value - 1, -value, 0, 2**31, 2**40, -(2**62), 2**63 - 1])


def _other_array(value: Any, rng: random.Random) -> Any:
    found = value.reshape(-1).copy()
    action = rng.randrange(8)
    if action == 0:
        return found[: rng.randrange(len(found) + 1)]
    if action == 1:
        return np.concatenate([found, found[: rng.randrange(1, 4)]])
    if action == 2:
        return found[::-1].copy()
    if action == 3:
        return found.astype(rng.choice(["i4", "f8", "u8", "?", "i8"]))
    if action == 4:
        return found.reshape(1, -1)
    if len(found):
        at = rng.randrange(len(found))
        near = int(np.nan_to_num(found[at]))
        lies = [0, 1, -1, 2**31, 2**40, 2**62, -(2**62), 2**63 - 1, -(2**63), near + 1, near - 1]
        with contextlib.suppress(OverflowError):
            found[at] = float("nan") if found.dtype.kind == "f" and rng.random() < 0.5 else rng.choice(lies)
    return found


def _other_rows(value: Any, rng: random.Random) -> Any:
    count, action = len(value), rng.randrange(4)
    if action == 0 or not count:
        return value.slice(0, rng.randrange(count + 1))
    places = list(range(count))
    if action == 1:
        places.append(rng.randrange(count))
    elif action == 2:
        places.reverse()
    else:
        places[rng.randrange(count)] = rng.randrange(count)
    found = value.take(pa.array(places))
    return found.combine_chunks() if isinstance(found, pa.Table) else found


# -- running -------------------------------------------------------------------------------------------------


def run(first: int, count: int) -> bool:
    """Whether all of these cases are accepted, or refused by a named error."""
    warnings.simplefilter("ignore")
    is_sound = True
    with small_chunks():
        cases = [Case(query, in_entries) for query in queries() for in_entries in (False, True)]
        for number in range(first, first + count):
            rng = random.Random(number)
            case = cases[number % len(cases)]
            name = rng.choice(case.names())
            entries = forged_entries(case, name, rng)
            print(f"case {number}: {case.query!r}, entry {name!r}", flush=True)
            try:
                case.finished(entries)
                print("accepted", flush=True)
            except NAMED as error:
                print(f"refused: {type(error).__name__}: {str(error)[:150]}", flush=True)
            except Exception as error:
                if "make no Arrow column" in str(error):  # objects of several types; the aggregate is named
                    print(f"refused: {error}", flush=True)
                    continue
                is_sound = False
                print(f"FAULT: case {number}: {traceback.format_exc(limit=-4)}", flush=True)
    return is_sound


if __name__ == "__main__":
    sys.exit(0 if run(int(sys.argv[1]), int(sys.argv[2])) else 1)
