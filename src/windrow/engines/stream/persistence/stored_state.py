"""The state of an operator in pieces that are read and written by themselves, wherever they are kept.

The *header* holds all but the slices of time windows and rows that are many: watermark, counts, keys, open
sessions, few rows. Each block of slices is an entry of its own, and beside it, for the eager store, the
partials of the whole block: a step reads the blocks that its rows fall into and those at the ends of windows
that are due, writes the blocks it changed, and deletes those that nobody needs. Rows for rolling, and for
windows that data decide, are in chunks (:mod:`windrow.engines.kept_rows.stored_rows`).

Entries are bound to their place and to their header
(:mod:`windrow.engines.stream.persistence.bound_entries`).

Invariant: what is written is what the operator would snapshot; the codec is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.kept_rows.stored_rows import StoredRows, highest_number, walk_pages
from windrow.engines.stream.persistence.bound_entries import (
    BLOCK,
    HEADER,
    ROWS,
    context_of,
    listed_entries,
    listed_sums,
    read_header,
    verified,
)
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.snapshot import (
    check_order,
    read_slices,
    restored_value,
    slices_state,
    snapshot_value,
)
from windrow.engines.stream.state import State
from windrow.engines.stream.stored_query import added_names, check_query
from windrow.errors import ChangedQuery, CorruptState
from windrow.slicing.blocks import Block, check_block
from windrow.slicing.slices import HeldSlices
from windrow.state.checks import check_sorted, making_sense, require, whole
from windrow.state.codec import checksum_of, pack

__all__ = ["Cache", "Entries", "StoredState", "lineage"]


class Entries(Protocol):
    """Where the header and the blocks are kept."""

    @property
    def place(self) -> bytes:
        """What tells them from the entries of other operators and buckets."""

    def header(self) -> bytes | None: ...

    def set_header(self, data: bytes) -> None: ...

    def block(self, name: str) -> bytes: ...

    def set_block(self, name: str, data: bytes) -> None: ...

    def delete_block(self, name: str) -> None: ...


class Cache(Protocol):
    """What holds slices, rows and wholes in memory for blocks and chunks that do not keep them."""

    def get(self, name: str) -> Any: ...

    def put(self, name: str, value: Any) -> None: ...


@dataclass(frozen=True)
class _Entry:
    """A block as it is stored: under which name, and what the header says of it."""

    block: Block
    name: str
    has_whole: bool

    @property
    def facts(self) -> tuple[bool, bool, int, int, str]:
        return (self.block.is_settled, self.has_whole, *self.block.sizes, self.name)

    @property
    def names(self) -> list[str]:
        return [self.name, f"{self.name}w"] if self.has_whole else [self.name]


@dataclass(frozen=True)
class _Bounds:
    """What the slices of a block must keep to, from when it was written."""

    name: str
    number: int
    count: int
    key_count: int
    span: int

    def check_size(self, nbytes: Any) -> None:
        whole(f"slices of block {self.number}", self.count, 1, 2**62)
        whole(f"bytes of block {self.number}", nbytes, 0, 2**62)
        require(type(self.name) is str, f"block {self.number}: its name is not text")

    def check(self, slices: HeldSlices, is_whole: bool) -> None:
        slices.check_invariants(self.key_count)
        check_block(slices, self.number, self.span)
        if is_whole:
            check_sorted("keys of a whole block", slices.keys, each_once=True)
        else:
            require(len(slices) == self.count, f"{len(slices)} slices, and the header says {self.count}")


@dataclass
class StoredState:
    """An operator's state between steps.

    Without a cache, blocks keep what they load, and are written where they were: right for callers who load
    and save once, and whose entries can be taken back. With one, every write of a block has a name of its
    own, so that what was there before can be read until ``settled`` says that the new is safe."""

    entries: Entries
    cache: Cache | None = None
    #: settings of the place where state is kept that must not change, by name
    marks: Mapping[str, int] = field(default_factory=dict[str, int])
    #: what to do where they have changed
    remedy: str = "Make it as it was"
    #: the id of whom the state belongs to, which the header then has; None: it is not known
    owner: str | None = None
    #: the blocks that are stored, by number
    _stored: dict[int, _Entry] = field(default_factory=dict[int, _Entry])
    #: those of a save that is not settled
    _saved: dict[int, _Entry] = field(default_factory=dict[int, _Entry])
    _written: bytes | None = None
    _header: bytes | None = None
    _version: int = 0
    #: whether the query has windows or aggregates that were not there when the state was stored
    has_additions: bool = False
    bytes_read: int = 0
    bytes_written: int = 0
    #: the header as it was loaded, in plain values
    _loaded_header: dict[str, Any] = field(default_factory=dict[str, Any])
    #: the checksum of each entry, by name; also those of a save that is not settled
    _sums: dict[str, int] = field(default_factory=dict[str, int])
    #: entries of windows that were removed, until there is a header that does not list them
    _orphans: set[str] = field(default_factory=set[str])
    #: how many keys there are, and how long blocks are, when blocks are read or written
    _key_count: int = 0
    _span: int = 1

    #: the rows of a save that is not settled
    _ordered: dict[int, OrderedRows] = field(default_factory=dict[int, OrderedRows])

    def __post_init__(self) -> None:
        self._rows = StoredRows(self, keeps=self.cache is None)

    def check(self, plan: Plan) -> list[str]:
        """Raise if the state is of another query, or kept in another way; reads the header alone. Gives the
        windows and aggregates that were added to the query."""
        data = self.entries.header()
        if data is None:
            return []
        header = read_header(data, self.entries.place)
        check_query(plan.query, header["query"])
        # after the query, which says more: with other keys, the number of buckets differs, too
        self._check_marks(header.get("marks", {}))
        return added_names(plan.query, header["query"])

    def load(self, plan: Plan, check: Callable[[bytes], None] | None = None) -> tuple[Plan, State] | None:
        """The state; None: there is none yet. ``check`` may refuse the header."""
        data = self.entries.header()
        if data is None:
            return None
        self.bytes_read += len(data)
        self._written = data
        self._loaded_header = read_header(data, self.entries.place)
        if check is not None:
            check(data)
        with making_sense("the header"):
            self._sums = listed_sums(self._loaded_header)
            least = 1 + highest_number(self._loaded_header["state"]["ordered"].values())
            following = self._loaded_header.get("following", 0)
            self._rows.following = whole("number of the next chunk", following, least, 2**62)
        found = restored_value(plan, self._loaded_header, self)
        self.has_additions = bool(added_names(plan.query, self._loaded_header["query"]))
        with making_sense("the header"):
            marks = dict(self._loaded_header.get("marks", {}))
            versions = [_version_of(entry.name) for entry in self._stored.values()]
        self._check_marks(marks)
        self._check_owner(self._loaded_header.get("owner"))
        self._orphans = set(self._sums) - self.names
        with making_sense("the header"):
            for number, part in self._loaded_header["state"]["ordered"].items():
                if number not in found[1].ordered:
                    self._orphans.update(walk_pages(part, self))
        self._loaded_header = {}
        self._version = 1 + max(versions, default=0)
        return found

    def blocks(self, plan: Plan, places: Sequence[int | None], key_count: int, span: int) -> dict[int, Block]:
        """The blocks that the header lists, while it is being restored."""
        self._key_count, self._span = key_count, span
        self._stored = {
            number: self._entry(plan, places, number, *facts)
            for number, facts in self._loaded_header["blocks"].items()
        }
        found = {number: entry.block for number, entry in self._stored.items()}
        if self._is_same(places):
            return found
        # the header will list other aggregates than are in these blocks: they are written anew
        return {number: _same(block) for number, block in found.items()}

    def rows(
        self, part: OrderedRows, stored: dict[str, Any], places: Sequence[int | None], has_less: bool
    ) -> None:
        """The same for rows."""
        self._rows.load(part, stored, self._is_same(places) and not has_less)

    def _is_same(self, places: Sequence[int | None]) -> bool:
        return list(places) == list(range(len(self._loaded_header["query"]["aggregates"])))

    def _check_marks(self, stored: Mapping[str, int]) -> None:
        names = [name for name in {**stored, **self.marks} if stored.get(name) != self.marks.get(name)]
        changed = [f"{name} was {stored.get(name)}, is {self.marks.get(name)}" for name in names]
        if changed:
            raise ChangedQuery(f"the state was kept in another way: {', '.join(changed)}. {self.remedy}")

    def _check_owner(self, stored: Any) -> None:
        """State without an owner is of an earlier version, and has one from its next header on."""
        require(stored is None or type(stored) is str, "the owner of the state: not an id")
        if stored is not None and self.owner is not None and lineage(stored) != lineage(self.owner):
            raise CorruptState(
                f"the state is of another stream, {stored!r:.60}, and this is {self.owner!r}: entries of "
                f"another checkpoint were put here. Put back all of the checkpoint together"
            )
        self.owner = self.owner or stored

    @property
    def names(self) -> set[str]:
        """The entries of all blocks and chunks, as far as pages are loaded that list them."""
        return self._block_names | self._rows.names | self._orphans

    def all_names(self) -> set[str]:
        """The entries of all blocks and chunks; reads all pages."""
        self._rows.load_pages()
        return self.names

    @property
    def _block_names(self) -> set[str]:
        return {name for entry in self._stored.values() for name in entry.names}

    def _entry(
        self,
        plan: Plan,
        places: Sequence[int | None],
        number: int,
        is_settled: bool,
        has_whole: bool,
        count: int,
        nbytes: int,
        name: str,
    ) -> _Entry:
        bounds = _Bounds(name, number, count, self._key_count, self._span)
        bounds.check_size(nbytes)
        loaded = partial(self._loaded, plan, places, bounds)
        load_whole = (lambda: loaded(is_whole=True)) if has_whole else None
        block = Block(
            loaded,
            is_settled,
            load_whole,
            keeps=self.cache is None,
            sizes=(count, nbytes),
        )
        return _Entry(block, name, has_whole)

    def _loaded(
        self, plan: Plan, places: Sequence[int | None], bounds: _Bounds, is_whole: bool = False
    ) -> HeldSlices:
        def make(stored: dict[str, Any]) -> HeldSlices:
            slices = read_slices(plan, places, stored)
            bounds.check(slices, is_whole)
            if not is_whole:
                check_order(plan, slices)
            return slices

        found: HeldSlices = self._read(BLOCK, f"{bounds.name}w" if is_whole else bounds.name, make)
        return found

    def _read(self, kind: str, name: str, make: Callable[[dict[str, Any]], Any]) -> Any:
        found = None if self.cache is None else self.cache.get(name)
        if found is None:
            data = self.entries.block(name)
            self.bytes_read += len(data)
            with making_sense(f"{kind} {name}"):
                found = make(self._unpacked(kind, name, data))
            if self.cache is not None:
                self.cache.put(name, found)
        return found

    def _unpacked(self, kind: str, name: str, data: bytes) -> dict[str, Any]:
        return verified(kind, name, data, self.entries.place, self._sums[name])

    # -- entries of rows -------------------------------------------------------------------------------------

    def read(self, name: str, make: Callable[[dict[str, Any]], Any]) -> Any:
        return self._read(ROWS, name, make)

    def write(self, name: str, value: Any) -> None:
        self._write(ROWS, name, value, value.state())

    def read_page(self, name: str) -> dict[str, Any]:
        data = self.entries.block(name)
        self.bytes_read += len(data)
        return self._unpacked(ROWS, name, data)

    def write_page(self, name: str, page: dict[str, Any]) -> None:
        data = pack(ROWS, page, context_of(self.entries.place, name))
        self._sums[name] = checksum_of(data)
        self.bytes_written += len(data)
        self.entries.set_block(name, data)

    def delete(self, name: str) -> None:
        self.entries.delete_block(name)

    def sums_of(self, names: Sequence[str]) -> Any:
        return np.array([self._sums[name] for name in names], np.uint32)

    def expect(self, sums: Mapping[str, int]) -> None:
        self._sums.update(sums)

    # -- writing ---------------------------------------------------------------------------------------------

    def save(self, plan: Plan, state: State) -> None:
        """Write what has changed."""
        blocks = {} if state.time is None else dict(state.time.store.blocks)
        self._key_count, self._span = len(state.keys), 1 if state.time is None else state.time.store.span
        eager = state.time is not None and state.time.store.has_wholes
        self._version += 1
        self._saved = {}
        for number, block in blocks.items():
            known = self._stored.get(number)
            is_same = known is not None and known.block is block
            self._saved[number] = known if known and is_same else self._put(plan, number, block, eager)
        kept = {name for entry in self._saved.values() for name in entry.names}
        for name in sorted((self._block_names - kept) | self._orphans):
            self.entries.delete_block(name)
        self._ordered = {number: rows.chunked() for number, rows in state.ordered.items()}
        chunks = self._rows.save(self._ordered)
        value = snapshot_value(plan, replace(state, ordered=self._ordered), whole=False)
        for number, rows in value["state"]["ordered"].items():
            rows |= chunks[number]
        facts = {number: entry.facts for number, entry in self._saved.items()}
        beside = {"blocks": facts, "following": self._rows.following, "marks": dict(self.marks)}
        beside |= {} if self.owner is None else {"owner": self.owner}
        names = sorted(listed_entries(value | beside))
        beside["sums"] = self.sums_of(names)
        data = pack(HEADER, value | beside, context_of(self.entries.place, HEADER))
        if data != self._written:
            self.bytes_written += len(data)
            self.entries.set_header(data)
        self._header = data

    def settle(self, state: State) -> State:
        """What was saved is safe: the state with its blocks where they are stored now."""
        self._stored, self._written, self._orphans = self._saved, self._header, set()
        self._rows.settle()
        self._sums = {name: self._sums[name] for name in self.names}
        state = replace(state, ordered={number: rows.settled() for number, rows in self._ordered.items()})
        if state.time is None:
            return state
        blocks = {number: entry.block for number, entry in self._stored.items()}
        store = replace(state.time.store, blocks=blocks)
        return replace(state, time=replace(state.time, store=store))

    def _put(self, plan: Plan, number: int, block: Block, eager: bool) -> _Entry:
        name = str(number) if self.cache is None else f"{number}.{self._version}"
        slices, folded = block.slices, block.whole() if eager else None
        self._write(BLOCK, name, slices, slices_state(slices))
        if folded is not None:
            self._write(BLOCK, f"{name}w", folded, slices_state(folded))
        facts = (block.is_settled, folded is not None, len(slices), slices.nbytes, name)
        return self._entry(plan, range(len(plan.aggregates)), number, *facts)

    def _write(self, kind: str, name: str, value: Any, state: dict[str, Any]) -> None:
        data = pack(kind, state, context_of(self.entries.place, name))
        self._sums[name] = checksum_of(data)
        self.bytes_written += len(data)
        self.entries.set_block(name, data)
        if self.cache is not None:
            self.cache.put(name, value)


def lineage(owner: str) -> str:
    """What an id has in common with those of its forks: all but the last part.

    >>> lineage("60d7fbc8-c2c9-4f8e-a0b5-7c1a2f3a9d10")
    '60d7fbc8-c2c9-4f8e-a0b5'
    """
    return owner.rpartition("-")[0] or owner


def _same(block: Block) -> Block:
    return Block(lambda: block.slices, block.is_settled, keeps=block.keeps, sizes=block.known_sizes)


def _version_of(name: str) -> int:
    return int(name.partition(".")[2] or 0)
