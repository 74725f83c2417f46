"""Buckets of Spark streams whose entries lie: headers, blocks of slices, chunks of rows and their wholes, and
the fence that vouches for the header. Everything that vouches for a forged entry is forged with it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from support.forged_state import COUNTED, SCHEMA, check_form, forged, queries, rows
from support.forgery import Forgery, Path
from support.packed_stream import DictEntries, PackedStream
from support.signed_entries import sign
from windrow.engines.stream.persistence.bound_entries import context_of, read_header
from windrow.state.codec import checksum_of, pack


class Stream:
    """A stream with state in its buckets."""

    def __init__(self, query: Any) -> None:
        self.query = query
        self.begun = PackedStream(query, SCHEMA, "stream")
        self.begun.batch(rows(0, 40, 1), 0)
        self.begun.batch(rows(25, 60, 2), 20)
        self.begun.batch(rows(30, 12, 3), 45)
        self.honest = self.finished(copy.deepcopy(self.begun))
        # micro-batches without results have no columns to compare with
        self.columns = next(table.schema for table in self.honest if table.num_rows)

    def finished(self, stream: PackedStream) -> list[pa.Table]:
        nothing = SCHEMA.empty_table()
        given = [(rows(40, 30, 4), 45), (nothing, 75), (rows(80, 10, 5), 75), (nothing, 100_000)]
        return [pa.Table.from_pylist(stream.batch(*each)) for each in given]

    def attempt(self, rng: random.Random) -> tuple[str, Callable[[], None]]:
        stream = copy.deepcopy(self.begun)
        entries = rng.choice([e for e in stream.entries.values() if e.head is not None])
        name = rng.choice(["header", *sorted(entries.blocks)])
        paths = _forge(entries, name, rng)
        return f"{self.query!r} as a stream, entry {name!r}, {paths}", partial(self._run, stream, paths)

    def _run(self, stream: PackedStream, paths: list[Path]) -> None:
        found = self.finished(stream)
        for table, honest in zip(found, self.honest, strict=True):
            if table.num_rows:
                expected = honest if honest.num_rows else self.columns.empty_table()
                check_form(self.query, [table], [expected])
        if all(COUNTED & set(path) for path in paths):
            assert [table.to_pylist() for table in found] == [table.to_pylist() for table in self.honest]


def _forge(entries: DictEntries, name: str, rng: random.Random) -> list[Path]:
    assert entries.head is not None
    if name == "header":
        entries.head, paths = forged(entries.head, context_of(entries.place, "header"), rng)
    else:
        entries.blocks[name], paths = forged(entries.blocks[name], context_of(entries.place, name), rng)
        tree = read_header(entries.head, entries.place)
        sign(entries.blocks, entries.place, tree, name)
        entries.head = pack("header", tree, context_of(entries.place, "header"))
    entries.guard = checksum_of(entries.head).to_bytes(4, "big")
    return paths


def streams() -> list[Forgery]:
    return [Stream(query) for query in queries()]
