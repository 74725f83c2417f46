"""The entries of an operator in a key-value store: its header, and its blocks of slices.

Keys are ``q``, the length of the operator's name, the name, and then ``h`` (header), ``o`` and ``g`` (the
fence, :mod:`windrow.engines.stream.persistence.fence`) or ``b`` and the name of a block; those of the events
of as-of queries are in :mod:`windrow.engines.serving.event_records`. Windows of :mod:`windrow.swag` have keys
that begin with ``w``.

A step is one atomic write of the header and of the blocks that changed. These have names of their own for
each write, and those that they replace are deleted by the step after: whether a write that failed has reached
the store or not, all that the operator knows of is still there, and the step can be repeated. A step that
changes very much writes blocks ahead of its header. What a crash leaves of them goes when the operator is
opened again.

Invariant: at every moment the store holds one complete state, that of the last step. Only the last to open an
operator writes, and only after its own last step: each write is conditional on the fence.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from windrow.engines.stream.persistence.fence import Fence
from windrow.engines.stream.persistence.stored_state import StoredState
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.errors import ChangedQuery, CorruptState
from windrow.state.store import Guard, Item, Store

__all__ = ["Loaded", "SavedOperator", "StoreEntries", "delete_operator", "operators"]

#: so many bytes are collected for one write; what is more is written ahead of the header
_MOST_AT_ONCE = 16 << 20
_DELETED_AT_ONCE = 1024
_OPERATORS = b"q"
#: what the keys of events of as-of queries have behind the operator's name
_EVENTS = (b"e", b"f", b"s")


def _prefix(name: str) -> bytes:
    encoded = name.encode()
    if not 0 < len(encoded) < 65536:
        raise ValueError(f"name={name[:40]!r}: give a text of 1 to 65,535 bytes")
    return _OPERATORS + len(encoded).to_bytes(2, "big") + encoded


class StoreEntries:
    """What an operator has in a store. Nothing is written before ``commit``, except what is too much for one
    write."""

    def __init__(self, store: Store, name: str, *, sync: bool = False) -> None:
        self.store, self.name, self.sync = store, name, sync
        self.place = _prefix(name)
        self._header, self._blocks = self.place + b"h", self.place + b"b"
        self.fence = Fence(store, name, self.place)
        self._puts: dict[bytes, bytes] = {}
        self._bytes = 0
        #: blocks that the step to come replaces; those that the last one replaced
        self._replaced: list[bytes] = []
        self._garbage: list[bytes] = []
        #: blocks of a step that is not done
        self._begun: list[bytes] = []

    # -- reading ---------------------------------------------------------------------------------------------

    def header(self) -> bytes | None:
        header, fence = self.store.get_many([self._header, self.fence.key])
        self.fence.see(header, fence)
        return header

    def block(self, name: str) -> bytes:
        key = self._blocks + name.encode()
        data = self._puts.get(key)
        data = self.store.get(key) if data is None else data
        if data is None:
            self.fence.check_stored()
            raise CorruptState(
                f"block {name} of operator {self.name!r} is missing from the store: it was deleted from "
                f"outside, or lost"
            )
        return data

    # -- writing ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A step begins: what an earlier one that failed has left is garbage."""
        self._garbage += self._begun
        self._puts, self._replaced, self._begun, self._bytes = {}, [], [], 0

    def set_header(self, data: bytes) -> None:
        key, fence = self.fence.raised(data)
        self._puts |= {self._header: data, key: fence}

    def set_block(self, name: str, data: bytes) -> None:
        key = self._blocks + name.encode()
        self._puts[key] = data
        self._begun.append(key)
        self._bytes += len(data)
        if self._bytes >= _MOST_AT_ONCE:
            with self.fence.naming_operator():
                self.fence.resolve()
                self.store.write(list(self._puts.items()), guards=self.fence.guards)
            self._puts, self._bytes = {}, 0

    def delete_block(self, name: str) -> None:
        self._replaced.append(self._blocks + name.encode())

    def commit(self, more: Sequence[Item] = (), less: Sequence[bytes] = ()) -> None:
        """All of the step in one atomic write, with ``more`` items, and without ``less``. A store that fails
        and has done the write all the same has not failed."""
        if self._puts or self._garbage:
            puts, garbage = [*self._puts.items(), *more], [*self._garbage, *less]
            following = self._puts.get(self.fence.key, self.fence.known)
            self.fence.pass_with(lambda guards: self._write(puts, garbage, guards), following)
        self._garbage = self._replaced
        self._puts, self._replaced, self._begun, self._bytes = {}, [], [], 0

    def _write(self, puts: Sequence[Item], deletes: Sequence[bytes], guards: Sequence[Guard]) -> None:
        self.store.write(puts, deletes, sync=self.sync, guards=guards)

    # -- deleting --------------------------------------------------------------------------------------------

    def delete_unknown(self, known: set[str]) -> None:
        """Delete blocks that no header lists."""
        kept = {self._blocks + name.encode() for name in known}
        self._delete([key for key in self.store.scan(self._blocks) if key not in kept])

    def delete_events(self) -> None:
        """Delete the events of an as-of query."""
        for letter in _EVENTS:
            self._delete(list(self.store.scan(self.place + letter)))

    def _delete(self, some: Sequence[bytes]) -> None:
        for start in range(0, len(some), _DELETED_AT_ONCE):
            self.store.write([], some[start : start + _DELETED_AT_ONCE], guards=self.fence.guards)

    def delete_header(self) -> None:
        """From here on there is no such operator; its blocks are still there."""
        keys = [self._header, self.fence.key]
        self.fence.pass_with(lambda guards: self._write([], keys, guards), None)

    def delete_rest(self) -> None:
        self.delete_unknown(set())
        self.delete_events()
        self.store.write([], [self.fence.owner_key], guards=self.fence.guards)


def operators(store: Store) -> list[str]:
    """The names of all operators in a store.

    >>> import pyarrow as pa, windrow as wr
    >>> from windrow.state import MemoryStore
    >>> store = MemoryStore()
    >>> calls = wr.query(time="t").window(wr.Tumbling(10)).agg(n=wr.count()).open(store=store, name="calls")
    >>> _ = calls.push(pa.table({"t": [1]}))
    >>> operators(store)
    ['calls']
    """
    keys = [key for key in store.scan(_OPERATORS) if len(key) == 4 + int.from_bytes(key[1:3], "big")]
    return [key[3:-1].decode(errors="replace") for key in keys if key.endswith(b"h")]


def delete_operator(store: Store, name: str) -> None:
    """Remove the state of an operator from a store; an operator that has it open can write no more.

    >>> from windrow.state import MemoryStore
    >>> delete_operator(MemoryStore(), "calls")
    """
    entries = StoreEntries(store, name)
    entries.fence.take_over()
    entries.delete_header()
    entries.delete_rest()


@dataclass
class Loaded:
    """Slices and rows in memory, by the names of their entries: the last used ones, up to so many bytes."""

    most_bytes: int
    nbytes: int = 0
    _held: OrderedDict[str, tuple[Any, int]] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._held)

    def get(self, name: str) -> Any:
        found = self._held.get(name)
        if found is None:
            return None
        self._held.move_to_end(name)
        return found[0]

    def put(self, name: str, value: Any) -> None:
        self.forget(name)
        size = value.nbytes
        if size > self.most_bytes:
            return
        self._held[name] = value, size
        self.nbytes += size
        while self.nbytes > self.most_bytes:
            _, (_, dropped) = self._held.popitem(last=False)
            self.nbytes -= dropped

    def forget(self, name: str) -> None:
        if name in self._held:
            self.nbytes -= self._held.pop(name)[1]

    def only(self, names: set[str]) -> None:
        """Forget what is no longer stored."""
        for name in [name for name in self._held if name not in names]:
            self.forget(name)


class SavedOperator:
    """The state of an operator in a store: loaded once, saved after every step."""

    def __init__(self, store: Any, name: str, *, sync: bool = False, cache_bytes: Any = 64 << 20) -> None:
        if not isinstance(store, Store):
            raise TypeError(
                f"store={store!r} is not a store: use MemoryStore, RocksDBStore or RedisStore of "
                f"windrow.state"
            )
        if isinstance(cache_bytes, bool) or not isinstance(cache_bytes, int) or cache_bytes < 0:
            raise ValueError(f"cache_bytes={cache_bytes!r}: give a number of bytes, 0 or more")
        self.name = name
        self.entries = StoreEntries(store, name, sync=sync)
        self.loaded = Loaded(cache_bytes)
        self._state = StoredState(self.entries, self.loaded)

    def open(self, plan: Plan) -> tuple[Plan, State] | None:
        """What is stored under the name, once no one else can write; a query that is refused changes
        nothing. None: there is nothing."""
        header = self.entries.header()
        found = self._load(plan)
        self.entries.fence.take_over()
        if self.entries.header() != header:
            found = self._load(plan)
        self.entries.delete_unknown(self._state.all_names())
        return found

    @property
    def has_additions(self) -> bool:
        """Whether the query has windows or aggregates that what was found did not have."""
        return self._state.has_additions

    def _load(self, plan: Plan) -> tuple[Plan, State] | None:
        self._state = StoredState(self.entries, self.loaded)
        try:
            return self._state.load(plan, self.entries.fence.check_header)
        except ChangedQuery as error:
            raise ChangedQuery(
                f"operator {self.name!r} is in the store already, and {error}; or give another name="
            ) from error

    def check(self) -> None:
        """Raise if the operator may take no more steps."""
        self.entries.fence.check()

    def save(self, plan: Plan, state: State) -> State:
        """Store a step; the state to go on with. What raises has changed nothing that matters."""
        self.check()
        self.entries.begin()
        self._state.save(plan, state)
        self.entries.commit(*_items(state))
        state = self._state.settle(state)
        self.loaded.only(self._state.names)
        return state

    def finish(self) -> None:
        """Nothing more comes: the entries are deleted, the header first."""
        self.check()
        self.entries.delete_header()
        self.loaded.only(set())
        with contextlib.suppress(Exception):  # the next to open the name deletes what is left
            self.entries.delete_rest()


def _items(state: State) -> tuple[list[Item], list[bytes]]:
    """What parts of a state store and delete beside its entries."""
    puts: list[Item] = []
    gone: list[bytes] = []
    for part in state.ordered.values():
        more, less = part.items()
        puts, gone = puts + more, gone + less
    return puts, gone
