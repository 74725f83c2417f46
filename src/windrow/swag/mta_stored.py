"""Tree aggregators on a key-value store: windows larger than memory, which outlive their process.

``AMTA.open(store, window_id, monoid)`` gives a window whose middle is in the store
(:mod:`windrow.state.levels.stored`) and whose ends, results and stack are here, O(log n) in all. The manifest
holds what is here, so that a window that is opened again goes on bit by bit as if it had never been closed.

What survives the death of the process is the window of the last checkpoint: a state that it was in between
two operations. Checkpoints are made by ``flush()``, which returns once its checkpoint is stored, and by
*durability*:

- ``"buffered"`` (the default): also whenever ``buffer`` pairs have changed, before the next operation;
- ``"flush"``: by flush() alone, so that several windows and an input's offset can be kept in step. What
  changed since the last one is in memory;
- ``"each"``: after every operation, before it returns.

An operation that raises because of the store has not changed the window, and can be repeated ("each": it has
changed the window here, and ``flush()`` repeats the checkpoint).
Cost: that of the algorithm, and about one store call for some hundred operations.
Source: [MTA] 4.1.5, 4.2.4, 5.1 and 5.2.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from windrow.errors import AggregateError, EmptyWindow, StateError
from windrow.state.codec import Codec
from windrow.state.layout import NULLS, TIMES
from windrow.state.levels.blocks import PairCheck
from windrow.state.levels.queue import StoredQueue
from windrow.state.levels.stored import (
    DELETED_AT_ONCE,
    DELETED_BY_FLUSH,
    MANIFEST,
    Checkpoint,
    Metrics,
    StoredLevels,
)
from windrow.state.store import Guard, Item, Store, key_of
from windrow.swag.amta import AMTA
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import MonoidTree, Policy
from windrow.swag.mta_checks import check_counts, check_levels, check_tree

__all__ = ["Durability", "Keys", "StoredAMTA", "StoredLogMTA", "StoredTree", "flush_together"]

Durability = Literal["buffered", "flush", "each"]

#: errors that say what is wrong by themselves
_NAMED = (StateError, EmptyWindow, AggregateError, MemoryError)


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
    _keys: Keys
    _partials: Codec
    _facts: dict[str, Any]
    _buffer: int
    _durability: Durability
    _check: PairCheck | None
    _is_closed = False
    #: how safe the window is as it is now: 0 not, 1 stored, 2 synced
    _safety = 0

    # -- operations: the store is notified at their beginning, so that an error leaves the window as it was --

    def insert(self, *value: Any) -> None:
        self._before()
        super().insert(*value)
        self._after()

    def insert_partial(self, partial: Any) -> None:
        self._before()
        super().insert_partial(partial)
        self._after()

    def evict(self) -> None:
        self._before()
        super().evict()
        self._after()

    def evict_many(self, count: int) -> None:
        self._before()
        super().evict_many(count)
        self._after()

    def evict_while(self, policy: Policy) -> int:
        self._before()
        return super().evict_while(policy)

    def query(self) -> Any:
        try:
            return super().query()
        except Exception as error:
            self._name(error)
            raise

    # -- what combines partials that may have been stored, and what compares times ---------------------------

    def _insert(self, partial: Any) -> None:
        try:
            super()._insert(partial)
        except Exception as error:
            self._name(error)
            raise

    def _evict(self, count: int) -> None:
        # what the store is asked for comes before any change
        nulls = self._null_positions.count_below(self._evicted + count)  # type: ignore[attr-defined]
        try:
            super()._evict(count)
        except Exception as error:
            self._name(error)
            raise
        self._null_positions.drop(nulls)  # type: ignore[attr-defined]

    def _find(self, policy: Policy) -> int:
        try:
            return super()._find(policy)
        except Exception as error:
            self._name(error, " or the policy")
            raise

    def _name(self, error: Exception, others: str = "") -> None:
        """Raise an error with a name for one that an aggregate or a policy raised, over partials that it may
        not have made."""
        if not isinstance(error, _NAMED):
            raise AggregateError(
                f"aggregate {self.monoid.name!r}{others} raised {type(error).__name__} over the partials of "
                f"window {self.window_id!r}: {error}"
            ) from error

    def _check_times(self, times: Any, count: int, size: Any) -> None:
        with self._comparing():
            super()._check_times(times, count, size)

    def _roll_time_plainly(self, times: list[Any], rows: list[tuple[Any, ...]], size: Any) -> list[Any]:
        with self._comparing():
            return super()._roll_time_plainly(times, rows, size)

    def _insert_at_end(self, moment: Any, row: tuple[Any, ...]) -> None:
        self._before()
        super().insert(*row)
        self._times.append(moment)  # before a checkpoint, which has both or neither
        self._after()

    @contextlib.contextmanager
    def _comparing(self) -> Iterator[None]:
        try:
            yield
        except TypeError as error:
            raise StateError(
                f"window {self.window_id!r}: times that cannot be compared with those stored: {error}"
            ) from error

    def _before(self) -> None:
        if self._is_closed:
            self._check_open()
        self._safety = 0
        if self._durability == "buffered" and self._levels.pending >= self._buffer:
            _write(self._levels.store, [self], DELETED_AT_ONCE)

    def _after(self) -> None:
        if self._durability == "each":
            self.flush(sync=False)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StateError(f"window {self.window_id!r} is closed: open it again to use it")

    def _forget(self, count: int) -> None:
        self._evicted += count
        self._size -= count
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

    def _checkpoint(self, most_deleted: int) -> Checkpoint:
        """What a checkpoint of this moment writes."""
        return self._levels.prepare(self._keys.manifest, self._manifest, most_deleted)

    def _manifest(self, layout: dict[str, Any]) -> bytes:
        """The manifest of this moment, with where the blocks are."""
        here = {
            "evicted": self._evicted,
            "size": self._size,
            "nulls": self._null_positions.ends,  # type: ignore[attr-defined]
            "times": self._times.ends,  # type: ignore[attr-defined]
            "tree": self._state(),
        }
        rest = bytes(self._partials.payload(here | layout))
        return MANIFEST.pack(self._facts | {"rest": rest}, self._keys.manifest)

    def _set_up(
        self,
        window_id: str,
        levels: StoredLevels,
        facts: dict[str, Any],
        partials: Codec,
        buffer: int,
        durability: Durability,
        check: PairCheck | None,
    ) -> None:
        self.window_id, self._keys, self._levels = window_id, Keys(window_id), levels
        self._facts, self._partials = facts, partials
        self._buffer, self._durability, self._check = buffer, durability, check
        self._null_positions, self._times = _queue(levels, NULLS), _queue(levels, TIMES)

    def _take_up(self, manifest: dict[str, Any]) -> None:
        """Go on from a manifest, if it can be that of this window."""
        check_counts(manifest)
        self._evicted, self._size = manifest["evicted"], manifest["size"]
        self._restore(manifest["tree"])
        check_tree(self)
        if self._check is not None:
            for partials in (*self._tails, *self._more_partials()):
                self._check(partials)
        levels, dead = self._levels.checked(manifest)
        check_levels(self, levels, manifest)
        self._levels.restore(levels, dead)
        self._null_positions = _queue(self._levels, NULLS, *manifest["nulls"])
        self._times = _queue(self._levels, TIMES, *manifest["times"])

    def _more_partials(self) -> list[Any]:
        """Lists of partials that are here besides those of the last pairs."""
        raise NotImplementedError


class StoredAMTA(StoredTree, AMTA):
    """:class:`~windrow.swag.amta.AMTA` on a store; made by ``AMTA.open``."""

    def _more_partials(self) -> list[Any]:
        return [[self._r0, self._r1], self._stack]


class StoredLogMTA(StoredTree, LogMTA):
    """:class:`~windrow.swag.log_mta.LogMTA` on a store; made by ``LogMTA.open``."""

    def _more_partials(self) -> list[Any]:
        return [self._heads]


class Keys:
    """The keys of a window's records."""

    def __init__(self, window_id: str) -> None:
        self.manifest = key_of(window_id, "m")
        self.owner = key_of(window_id, "o")
        self.blocks = key_of(window_id, "b")


def _queue(levels: StoredLevels, level: int, head: int = 0, end: int = 0) -> Any:
    return StoredQueue(levels, level, head, end)


def flush_together(
    windows: Sequence[StoredTree],
    puts: Iterable[Item] = (),
    *,
    deletes: Iterable[bytes] = (),
    guards: Sequence[Guard] = (),
    sync: bool = True,
) -> None:
    """Flush windows of one store, and other items, in one atomic write: all of it is stored, or nothing.
    Keys in ``deletes`` go with it; ``guards`` are conditions besides those of the windows.

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
    if not windows:
        return
    store = windows[0]._levels.store
    if any(window._levels.store is not store for window in windows):
        raise ValueError("windows of different stores cannot be flushed together: flush those of each store")
    changed = [window for window in windows if window._safety < 1 + sync]
    more: dict[str, Any] = {"puts": puts, "deletes": deletes, "guards": guards, "sync": sync}
    _write(store, changed, DELETED_BY_FLUSH, **more)
    for window in changed:
        window._safety = 1 + sync


def _write(
    store: Store,
    windows: Sequence[StoredTree],
    most_deleted: int,
    *,
    puts: Iterable[Item] = (),
    deletes: Iterable[bytes] = (),
    guards: Sequence[Guard] = (),
    sync: bool = False,
) -> None:
    """Write checkpoints of windows, and more, in one atomic write."""
    made = [window._checkpoint(most_deleted) for window in windows]
    store.write(
        [*(item for checkpoint in made for item in checkpoint.puts), *puts],
        [*(key for checkpoint in made for key in checkpoint.deletes), *deletes],
        guards=[*guards, *(checkpoint.guard for checkpoint in made)],
        sync=sync,
    )
    for window, checkpoint in zip(windows, made, strict=True):
        window._levels.confirm(checkpoint)
