"""Tree aggregators on a key-value store: windows larger than memory, which outlive their process.

``AMTA.open(store, window_id, monoid)`` gives a window whose middle is in the store
(:mod:`windrow.state.stored_levels`) and whose ends, results and stack are here, O(log n) in all. The manifest
holds what is here, so that a window that is opened again goes on bit by bit as if it had never been closed.

What survives the death of the process is the window of the last checkpoint: a state that it was in between
two operations. Checkpoints are made by ``flush()``, which returns once its checkpoint is stored, and by
*durability*:

- ``"buffered"`` (the default): also in the background whenever ``buffer`` pairs have changed;
- ``"flush"``: by flush() alone, so that several windows and an input's offset can be kept in step;
- ``"each"``: after every operation, before it returns.

An operation that raises because of the store has not changed the window, and can be repeated ("each": it has
changed the window here, and ``flush()`` repeats the checkpoint).
Cost: that of the algorithm, and about one store call for some hundred operations, in the background.
Source: [MTA] 4.1.5, 4.2.4, 5.1 and 5.2.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from windrow.monoids.base import Monoid, as_monoid
from windrow.state.blocks import MOST_PAIRS, BlockCodec
from windrow.state.checkpoints import SPILLED, Metrics, write_batches
from windrow.state.codec import Codec
from windrow.state.errors import StateError, UnstorableValue
from windrow.state.store import Store, key_of, prefix_of
from windrow.state.stored_levels import NULLS, TIMES, StoredLevels
from windrow.state.stored_queue import StoredQueue
from windrow.swag.amta import AMTA
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import MonoidTree, Policy

__all__ = [
    "Durability",
    "StoredAMTA",
    "StoredLogMTA",
    "StoredTree",
    "delete_window",
    "flush_together",
    "open_window",
]

Durability = Literal["buffered", "flush", "each"]

#: a block of about this many bytes is read at once
_BLOCK_BYTES = 32768
_MOST_IN_A_BLOCK = 64


class StoredTree(MonoidTree):
    """A window on a store; a context manager that closes it.

    >>> import windrow as wr
    >>> from windrow.state import MemoryStore
    >>> store = MemoryStore()
    >>> with wr.swag.AMTA.open(store, "calls", wr.sum) as window:
    ...     for value in range(10_000):
    ...         window.insert(value)
    ...     window.evict_many(9_000)
    >>> window = wr.swag.AMTA.open(store, "calls", wr.sum)
    >>> len(window), window.query()
    (1000, 9499500)
    """

    window_id: str
    _levels: StoredLevels
    _keys: _Keys
    _manifests: Codec
    _facts: dict[str, Any]
    _buffer: int
    _durability: Durability
    _is_closed = False

    # -- operations: the store is told at their beginning, so that an error leaves the window as it was ------

    def insert(self, *value: Any) -> None:
        self._before()
        super().insert(*value)
        if self._durability == "each":
            self.flush(sync=False)

    def evict(self) -> None:
        self._before()
        super().evict()
        if self._durability == "each":
            self.flush(sync=False)

    def evict_many(self, count: int) -> None:
        self._before()
        super().evict_many(count)
        if self._durability == "each":
            self.flush(sync=False)

    def evict_while(self, policy: Policy) -> int:
        self._before()
        return super().evict_while(policy)

    def _before(self) -> None:
        if self._is_closed:
            self._check_open()
        if self._levels.pending >= self._buffer:
            if self._durability == "buffered":
                self._levels.checkpoint(self._keys.manifest, self._manifest())
            elif self._durability == "flush":
                self._levels.spill(self._keys.spilled)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StateError(f"window {self.window_id!r} is closed: open it again to use it")

    def _forget(self, count: int) -> None:
        self._evicted += count
        self._size -= count
        if self._null_positions:
            self._null_positions.drop_below(self._evicted)  # type: ignore[attr-defined]
        if self._times:
            self._times.drop(count)  # type: ignore[attr-defined]

    # -- durability ------------------------------------------------------------------------------------------

    def flush(self, *, sync: bool = True) -> None:
        """Return once all operations so far are stored; with ``sync``, as safely as the store can."""
        flush_together([self], sync=sync)

    def close(self) -> None:
        """Flush, and use the window no more. The store stays open."""
        if not self._is_closed:
            self.flush()
            self._is_closed = True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def metrics(self) -> Metrics:
        """What the window has asked of its store."""
        return self._levels.metrics

    def _manifest(self) -> Any:
        """A function that makes the manifest of this moment, for the background to call."""
        here = self._facts | {
            "evicted": self._evicted,
            "size": self._size,
            "nulls": self._null_positions.ends,  # type: ignore[attr-defined]
            "times": self._times.ends,  # type: ignore[attr-defined]
            "tree": self._state(),
        }
        manifests, key = self._manifests, self._keys.manifest
        return lambda layout: manifests.pack(here | layout, key)

    def _take_up(self, manifest: dict[str, Any]) -> None:
        self._levels.restore(manifest)
        self._evicted, self._size = manifest["evicted"], manifest["size"]
        self._null_positions = _queue(self._levels, NULLS, *manifest["nulls"])
        self._times = _queue(self._levels, TIMES, *manifest["times"])
        self._restore(manifest["tree"])


class StoredAMTA(StoredTree, AMTA):
    """:class:`~windrow.swag.amta.AMTA` on a store; made by ``AMTA.open``."""


class StoredLogMTA(StoredTree, LogMTA):
    """:class:`~windrow.swag.log_mta.LogMTA` on a store; made by ``LogMTA.open``."""


class _Keys:
    def __init__(self, window_id: str) -> None:
        self.manifest = key_of(window_id, "manifest")
        self.owner = key_of(window_id, "owner")
        self.spilled = key_of(window_id, "spilled")


def _queue(levels: StoredLevels, level: int, head: int = 0, end: int = 0) -> Any:
    return StoredQueue(levels, level, head, end)


def open_window(
    algorithm: type[MonoidTree],
    store: Store,
    window_id: str,
    monoid: Any,
    *,
    buffer: int = 512,
    cache: int = 512,
    block: int | None = None,
    durability: Durability = "buffered",
) -> Any:
    """The window of that id in a store, as it was at its last checkpoint; a new one if there is none."""
    _check(store, buffer, cache, block, durability)
    monoid = as_monoid(monoid)
    keys = _Keys(window_id)
    records = _records(monoid.identity)
    constants = () if type(monoid.identity) in (int, float, str, bytes, bool) else (monoid.identity,)
    manifests = Codec("manifest", records=records, constants=constants)
    found, spilled = store.get_many([keys.manifest, keys.spilled])
    manifest = None if found is None else manifests.unpack(found, keys.manifest)
    facts = {"algorithm": algorithm.__name__, "aggregate": described(monoid)}
    if manifest is not None:
        _check_facts(window_id, manifest, facts)
    epoch = secrets.randbits(63) if manifest is None else manifest["epoch"]
    size = manifest["block"] if manifest is not None else block or _block_size(manifests, monoid)
    token = secrets.token_bytes(16)
    store.write([(keys.owner, token)])
    levels = StoredLevels(
        store,
        prefix_of(window_id),
        BlockCodec(epoch, monoid.identity, records),
        (keys.owner, token),
        block=size,
        cache=cache,
    )
    window: Any = _STORED[algorithm](monoid, levels)
    window.window_id, window._keys, window._levels, window._manifests = window_id, keys, levels, manifests
    window._facts = facts | {"epoch": epoch, "block": size}
    window._buffer, window._durability = buffer, durability
    window._null_positions, window._times = _queue(levels, NULLS), _queue(levels, TIMES)
    if manifest is not None:
        window._take_up(manifest)
        if spilled is not None:
            levels.give_up(SPILLED.unpack(spilled, keys.spilled))
    return window


_STORED: dict[type[MonoidTree], Any] = {AMTA: StoredAMTA, LogMTA: StoredLogMTA}


def _check(store: Any, buffer: int, cache: int, block: int | None, durability: str) -> None:
    if not isinstance(store, Store):
        raise TypeError(
            f"{store!r} is no store: use MemoryStore, RocksDBStore or RedisStore of windrow.state"
        )
    for name, value in (("buffer", buffer), ("cache", cache), ("block", 1 if block is None else block)):
        if not 1 <= value <= MOST_PAIRS:
            raise ValueError(f"{name}={value}: give a number of pairs from 1 to {MOST_PAIRS}")
    if durability not in get_args(Durability):
        raise ValueError(
            f"durability={durability!r}: use one of {', '.join(map(repr, get_args(Durability)))}"
        )


def _check_facts(window_id: str, manifest: dict[str, Any], facts: dict[str, Any]) -> None:
    for name, given in facts.items():
        if manifest[name] != given:
            raise StateError(
                f"window {window_id!r} was stored with {name} {manifest[name]!r} and is opened with "
                f"{given!r}: open it as it was, or use another id"
            )


def described(monoid: Monoid) -> str:
    """What a stored window remembers of its aggregate, to refuse another one."""
    parameters = [f"{name}={value!r}" for name, value in monoid.parameters.items()]
    rules = [f"nulls={monoid.nulls}"] * (monoid.nulls != "skip") + [f"nan={monoid.nan}"] * (
        monoid.nan != "propagate"
    )
    return f"{monoid.name}({', '.join(parameters + rules)})"


def _records(identity: Any) -> list[type]:
    """The named tuple classes of an aggregate's partials, found in its identity."""
    if not isinstance(identity, tuple):
        return []
    inner = [record for part in identity for record in _records(part)]
    kind = type(identity)
    is_own = kind is not tuple and kind.__module__ != "windrow.monoids.quantiles"
    return [*dict.fromkeys([kind, *inner] if is_own else inner)]


def _block_size(manifests: Codec, monoid: Monoid) -> int:
    """As many pairs as fit in a block of moderate size, going by the identity."""
    try:
        size = len(Codec("size", records=manifests.records.values()).payload(monoid.identity))
    except UnstorableValue:
        return _MOST_IN_A_BLOCK
    return max(1, min(_MOST_IN_A_BLOCK, _BLOCK_BYTES // (2 * size)))


def flush_together(
    windows: Sequence[StoredTree], puts: Iterable[tuple[bytes, bytes]] = (), *, sync: bool = True
) -> None:
    """Flush windows of one store, and other items, in one atomic write: all of it is stored, or nothing.

    >>> import windrow as wr
    >>> from windrow.state import MemoryStore
    >>> store = MemoryStore()
    >>> keys = [wr.swag.AMTA.open(store, f"sum of {key}", wr.sum, durability="flush") for key in "ab"]
    >>> for window in keys:
    ...     window.insert(1)
    >>> flush_together(keys, [(b"offset", b"17")])
    """
    for window in windows:
        window._check_open()
        with contextlib.suppress(Exception):  # this checkpoint takes over what that one did not write
            window._levels.checkpoints.settle(wait=True)
    if not windows:
        return
    store = windows[0]._levels.store
    if any(window._levels.store is not store for window in windows):
        raise ValueError("windows of different stores cannot be flushed together: flush those of each store")
    batches = [
        window._levels.checkpoints.prepare(
            window._keys.manifest, window._manifest(), deletes=(window._keys.spilled,)
        )
        for window in windows
    ]
    future = store.writer.submit(write_batches, store, batches, tuple(puts), sync=sync)
    for window, batch in zip(windows, batches, strict=True):
        batch.owner.follow(batch, future)
        window._levels.pending = 0
    errors = []
    for batch in batches:
        try:
            batch.owner.settle(wait=True)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def delete_window(store: Store, window_id: str) -> None:
    """Remove a window and all its keys from a store.

    >>> import windrow as wr
    >>> from windrow.state import MemoryStore
    >>> store = MemoryStore()
    >>> wr.swag.AMTA.open(store, "calls", wr.sum).close()
    >>> delete_window(store, "calls")
    >>> len(store)
    0
    """
    keys = _Keys(window_id)
    store.write([], [keys.owner])  # from here on no one else writes
    store.write([], [keys.manifest, keys.spilled])
    some: list[bytes] = []
    for key in store.scan(prefix_of(window_id)):
        some.append(key)
        if len(some) >= 1024:
            store.write([], some)
            some = []
    store.write([], some)
