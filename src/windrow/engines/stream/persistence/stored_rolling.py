"""Rolling over endless input with its windows in a store.

Rows that are not due wait here, as they do without a store. Those that are go into the window of their key
(:mod:`windrow.engines.kinds.rolling_in_store`), and their results come out. Of each key the number of its
window, how many rows went into it and the time of the last are known here; a key whose rows have all left is
forgotten, and its window deleted.

Windows are changed in place, other than all the rest of an operator's state: a step that fails lets go of the
windows it has opened, and the next one finds them as the last step that was stored has left them.

Invariant: what is stored of the windows and the header that lists them are of the same step.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.engines.in_order.chunks import Chunk
from windrow.engines.in_order.context import Taken
from windrow.engines.in_order.held_columns import check_key_types
from windrow.engines.in_order.held_rows import Held
from windrow.engines.in_order.rows import OrderedRows
from windrow.engines.kinds.rolling_in_store import StoredFold
from windrow.errors import StateError
from windrow.rows.keys import Keys
from windrow.spec import Rolling, Spec
from windrow.state.checks import check_column, check_numbers, check_sorted, require, whole
from windrow.state.store import Guard, Item, Store, windows
from windrow.swag.mta_open import delete_window
from windrow.swag.mta_stored import StoredTree, flush_together

__all__ = ["KeyWindows", "StoredRolling", "delete_key_windows"]


#: windows that stay open between steps
_MOST_OPEN = 256


class KeyWindows:
    """The windows of an operator's keys in a store."""

    def __init__(
        self,
        store: Store,
        name: str,
        fold: StoredFold,
        *,
        sync: bool = False,
        check_owner: Callable[[], None],
    ) -> None:
        self.store, self.fold = store, fold
        self._check_owner = check_owner
        self._prefix = _prefix(name)
        self._sync = sync
        self._open: OrderedDict[int, StoredTree] = OrderedDict()
        #: windows that the step under way has asked for, and those of keys that it forgets
        self._touched: dict[int, StoredTree] = {}
        self._forgotten: list[int] = []

    def __len__(self) -> int:
        return len(self._open)

    def get(self, number: int, rows: int) -> StoredTree:
        """The window of that number, into which so many rows went so far."""
        window = self._open.get(number)
        if window is None:
            self._check_owner()  # opening takes the window from its owner
            window = self.fold.open(self.store, self._id(number), durability="flush")
            if window._next_position() != rows:
                raise StateError(
                    f"window {self._id(number)!r} is not that of the last step that was confirmed: it was "
                    f"changed from outside, or the store did a write that it reported as failed. Open the "
                    f"operator again; its metrics tell how many rows it has taken"
                )
            self._open[number] = window
        self._open.move_to_end(number)
        self._touched[number] = window
        return window

    def forget(self, numbers: Ints) -> None:
        """The keys of these windows are gone."""
        self._forgotten += numbers.tolist()

    # -- a step ends -----------------------------------------------------------------------------------------

    def write(self, puts: Sequence[Item], deletes: Sequence[bytes], guards: Sequence[Guard]) -> None:
        """Store what the step has changed together with items of its own."""
        gone = set(self._forgotten)
        changed = [window for number, window in self._touched.items() if number not in gone]
        if not changed:
            self.store.write(puts, deletes, sync=self._sync, guards=guards)
            return
        try:
            flush_together(changed, puts, deletes=deletes, guards=guards, sync=self._sync)
        except BaseException:
            self._open.clear()  # the store knows what they are
            raise

    def settle(self) -> None:
        """The step is stored."""
        gone, self._forgotten = self._forgotten, []
        self._touched = {}
        for number in gone:
            self._open.pop(number, None)
            with contextlib.suppress(StateError):  # what is left goes when the operator is opened again
                delete_window(self.store, self._id(number))
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)

    def undo(self) -> None:
        """The step has failed: windows are again what is stored."""
        self._open.clear()
        self._touched, self._forgotten = {}, []

    def _id(self, number: int) -> str:
        return f"{self._prefix}{number}"


def delete_key_windows(store: Store, name: str, known: Collection[int] = ()) -> None:
    """Delete the windows of an operator's keys, but for those of these numbers."""
    prefix = _prefix(name)
    for window_id in windows(store):
        number = window_id.removeprefix(prefix)
        if number != window_id and number.isdecimal() and int(number) not in known:
            delete_window(store, window_id)


def _prefix(name: str) -> str:
    return f"{name}/rolling/"


@dataclass(frozen=True)
class _Known:
    """The keys that have a window: its number, the rows that went into it, the time of the last."""

    keys: Keys
    numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    lasts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    #: the number of the next window; none is used again
    following: int = 0

    def check_invariants(self) -> None:
        """Of what comes from outside."""
        count = len(self.keys) if self.keys.by else len(self.numbers)
        require(bool(self.keys.by) or count <= 1, f"{count} windows, and the query has no key columns")
        for name in ("numbers", "rows", "lasts"):
            check_column(f"{name} of windows", getattr(self, name), count)
        whole("number of the next window", self.following, 0, 2**62)
        check_numbers("numbers of windows", self.numbers, 0, self.following - 1)
        check_sorted("numbers of windows", self.numbers, each_once=True)
        check_numbers("rows of windows", self.rows, 1, 2**62)
        check_numbers("times of windows", self.lasts, START_OF_TIME, END_OF_TIME)

    def with_frame(self, taken: Taken) -> tuple[_Known, Ints]:
        """With the rows of a frame, and the place of each of its keys."""
        frame = taken.frame
        keys, places = self.keys.with_values(frame.columns_of_keys(), frame.key_rows)
        new = int(places.max()) + 1 - len(self.numbers)
        counts = np.diff(frame.run_starts)
        numbers = np.concatenate([self.numbers, self.following + np.arange(new)])
        rows, lasts = (np.concatenate([a, np.zeros(max(new, 0), np.int64)]) for a in (self.rows, self.lasts))
        rows[places] += counts
        lasts[places] = frame.times[frame.run_starts[1:] - 1]
        return _Known(keys, numbers, rows, lasts, self.following + max(new, 0)), places

    def only(self, alive: npt.NDArray[np.bool_]) -> _Known:
        keys, _ = self.keys.only(np.flatnonzero(alive))
        return replace(
            self, keys=keys, numbers=self.numbers[alive], rows=self.rows[alive], lasts=self.lasts[alive]
        )


class StoredRolling(OrderedRows):
    """The rolling of a query, with windows in a store."""

    def __init__(
        self, query: Spec, over: Rolling, key_windows: KeyWindows, *, counts_revisions: bool = False
    ) -> None:
        super().__init__(query, over, counts_revisions=counts_revisions)
        self._over = over
        self._windows = key_windows
        self._known = _Known(Keys(query.by))

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        new, pending = self._split(None if closing else up_to)
        result = None if new is None else self._rolled_rows(new)
        self._pending = pending
        self._passed = max(self._passed, up_to)
        self._forget(up_to, closing)
        return result if result is not None and result.num_rows else None

    def _rolled_rows(self, new: Held) -> pa.Table:
        taken = self._with_context(None, new)
        before = self._known.rows
        known, places = self._known.with_frame(taken)
        before = np.concatenate([before, np.zeros(len(known.rows) - len(before), np.int64)])

        def window_of(key: int) -> StoredTree:
            place = places[key]
            return self._windows.get(int(known.numbers[place]), int(before[place]))

        columns = self._windows.fold.results(taken.frame, window_of)
        self._known = known
        return self._rolled(taken, new, taken.news, columns)

    def _forget(self, up_to: int, closing: bool) -> None:
        """Forget keys whose rows have all left their windows."""
        known, size = self._known, self._over.size
        if not closing and size is None:
            return
        alive = np.zeros(len(known.numbers), np.bool_)
        if not closing:
            assert size is not None
            alive = known.lasts > up_to - size.units
        if not alive.all():
            self._windows.forget(known.numbers[~alive])
            self._known = known.only(alive)

    def speculate(self, touched: pa.Table) -> pa.Table | None:
        raise NotImplementedError("rolling in a store gives no results in advance")

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        known = self._known
        beside = known.numbers.nbytes + known.rows.nbytes + known.lasts.nbytes
        return super().nbytes + known.keys.nbytes + beside

    @property
    def numbers(self) -> set[int]:
        """The windows that there are."""
        return set(self._known.numbers.tolist())

    def state(self, with_chunks: bool = True) -> dict[str, Any]:
        known = self._known
        keys = {"keys": known.keys.values, "settled": known.keys.settled, "following": known.following}
        arrays = {"numbers": known.numbers, "rows": known.rows, "lasts": known.lasts}
        return super().state(with_chunks) | keys | arrays

    def restore(
        self, state: dict[str, Any], log: Sequence[Chunk] = (), waiting: Sequence[Chunk] = ()
    ) -> None:
        super().restore(state, log, waiting)
        keys = Keys.restored(self._query.by, state["keys"], whole("settled", state["settled"], 0, 2**62))
        check_key_types(self._query.by, keys.values, self._stored_columns.types)
        self._known = _Known(keys, state["numbers"], state["rows"], state["lasts"], state["following"])
        self._known.check_invariants()
