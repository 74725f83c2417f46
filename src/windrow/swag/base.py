"""The protocol that all sliding-window aggregators share ([DABA] 2.1, the SWAG data type).

A window is a queue of values with an aggregate: ``insert`` at the back, ``evict`` at the front, ``query``
for the aggregate in window order. A subclass implements ``_insert``, ``_evict`` and ``_partial`` on partials;
this class lifts inputs, lowers results, counts, keeps track of nulls, and feeds batches through (``roll``).

Invariant: an operation whose combine raises leaves the window as it was, and can be repeated.

Nulls take a place in the window but add nothing. Where they are is kept here, by position, so that no
algorithm needs to know about them and a window without nulls pays nothing.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any, ClassVar

from windrow.errors import EmptyWindow, Loop, calling, naming_row
from windrow.monoids.base import Monoid, as_monoid

__all__ = ["Swag", "row_number"]


class Swag:
    """A sliding-window aggregator; see the subclasses. ``len(window)`` is the number of values in it.

    >>> import windrow as wr
    >>> window = wr.swag.TwoStacksLite(wr.max)
    >>> for v in (2, 6, 3):
    ...     window.insert(v)
    >>> window.query(), len(window)
    (6, 3)
    >>> window.evict_many(2)
    >>> window.query()
    3
    """

    #: what an evict, insert and query round costs in combines, in words
    cost: ClassVar[str] = ""
    #: where the algorithm comes from
    source: ClassVar[str] = ""
    needs_inverse: ClassVar[bool] = False

    def __init__(self, monoid: Any) -> None:
        self.monoid: Monoid = as_monoid(monoid)
        self._evicted = 0
        self._size = 0
        self._null_positions: deque[int] = deque()
        #: times of the values in the window, while it is used by time
        self._times: deque[Any] = deque()

    # -- what a subclass implements
    # --------------------------------------------------------------------------------

    def _insert(self, partial: Any) -> None:
        raise NotImplementedError

    def _evict(self, count: int) -> None:
        """Evict this many values, at least one: all of them, or none if combine raises."""
        raise NotImplementedError

    def _partial(self) -> Any:
        raise NotImplementedError

    def check_invariants(self) -> None:
        """Raise AssertionError if the data structure is not in a state that its paper allows."""
        assert self._size >= 0
        assert len(self._null_positions) <= self._size

    # -- single operations
    # -----------------------------------------------------------------------------------------

    def insert(self, *value: Any) -> None:
        """Add a value at the back: one argument an input of the aggregate, or one tuple of them."""
        values = value
        if len(value) != 1 or self.monoid.arity[1] > 1:
            values = self.monoid.row(value)
        if self.monoid.skips(values):
            position = self._next_position()
            self._insert(self.monoid.identity)
            self._null_positions.append(position)
        else:
            self._insert(self.monoid.lift(*values))
        self._size += 1

    def insert_partial(self, partial: Any) -> None:
        """Add what several values were combined to, as one value.

        >>> import windrow as wr
        >>> window = wr.swag.AMTA(wr.sum)
        >>> window.insert_partial(7)
        >>> window.insert(1)
        >>> window.query(), len(window)
        (8, 2)
        """
        self._insert(partial)
        self._size += 1

    def evict(self) -> None:
        """Remove the oldest value."""
        if self._size == 0:
            raise EmptyWindow(
                f"evict from an empty {type(self).__name__}: insert before you evict, or test len()"
            )
        self._evict(1)
        self._forget(1)

    def evict_many(self, count: int) -> None:
        """Remove the ``count`` oldest values."""
        self._require(count)
        if count:
            self._evict(count)
            self._forget(count)

    def query(self) -> Any:
        """The lowered result for the values in the window."""
        if self._null_positions or self._size == 0:
            if self._null_positions and self.monoid.nulls == "propagate":
                return None
            if len(self._null_positions) == self._size:
                return self.monoid.empty_result()
        return self.monoid.lower(self._partial())

    def query_partial(self) -> Any:
        """The partial for the values in the window; the identity for an empty one."""
        return self._partial()

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.monoid.name}, {self._size} values>"

    # -- batches
    # ---------------------------------------------------------------------------------------------------

    def roll(self, values: Any, size: int, *, out: Any = None) -> Any:
        """Feed a batch through a window of the last ``size`` values: one result per value.

        For each value: evict while the window is full, insert, query. ``values`` is a list, a numpy or an
        Arrow array (a tuple of them for an aggregate of several inputs); results come back as the same kind.
        The window stays for the next call. Native code does the work where the aggregate compiles. ``out``
        takes the results instead of a new array: a numpy array of the right length and type.

        >>> import windrow as wr
        >>> wr.swag.DABALite(wr.sum).roll([1, 2, 3, 4], size=2)
        [1, 3, 5, 7]
        """
        if size < 1:
            raise ValueError(f"a window of {size} values: size must be at least 1")
        from windrow.compile.columns import rows_of, shaped_like

        rows = rows_of(values, self.monoid)
        with naming_row(row_number), self._atomically():
            results = self._roll_plainly(rows, size)
        return shaped_like(values, self.monoid, out)(results, None)

    def _roll_plainly(self, rows: list[tuple[Any, ...]], size: int) -> list[Any]:
        count = len(rows)
        room, surplus = max(size - self._size, 0), max(self._size - size, 0)
        evictions = chain(repeat(0, room), repeat(surplus + 1, 0 if room else 1), repeat(1))
        with calling(self.monoid, rows) as loop:
            return self._slide(rows, zip(evictions, range(count), range(1, count + 1), strict=False), loop)

    def _slide(
        self, rows: list[tuple[Any, ...]], steps: Iterable[tuple[int, int, int]], loop: Loop
    ) -> list[Any]:
        """The plain loop: each step (count, first, stop) evicts so many values, inserts the rows [first,
        stop) and queries. What raises is at the row that is inserted, or else at the last."""
        results: list[Any] = []
        for evicted, first, stop in steps:
            loop.place = last = stop - 1
            if evicted:
                self.evict_many(evicted)
            if first < last:  # most steps insert one row, and a loop costs more than a test
                for loop.place in range(first, last):
                    self.insert(*rows[loop.place])
                loop.place = last
            if first < stop:
                self.insert(*rows[last])
            results.append(self.query())
        return results

    def roll_time(self, times: Any, values: Any, size: Any) -> Any:
        """Feed a batch through a window of the rows in (t - size, t]: one result per row.

        ``times`` must not fall. Rows with equal time are peers: each sees all of them that are in the batch.
        Times and window stay for the next call, whose times go on from there.

        >>> import windrow as wr
        >>> wr.swag.DABALite(wr.count).roll_time([0, 1, 1, 5], [7, 7, 7, 7], size=3)
        [1, 3, 3, 1]
        """
        from windrow.compile.columns import rows_of, shaped_like

        rows = rows_of(values, self.monoid)
        moments = times.tolist() if hasattr(times, "tolist") else list(times)
        self._check_times(moments, len(rows), size)
        with naming_row(row_number), self._atomically():
            results = self._roll_time_plainly(moments, rows, size)
        return shaped_like(values, self.monoid)(results, None)

    def _roll_time_plainly(self, times: list[Any], rows: list[tuple[Any, ...]], size: Any) -> list[Any]:
        results: list[Any] = []
        loop = calling(self.monoid, rows)
        first = 0
        while first < len(rows):
            moment, last = times[first], first
            expired = self._expired(moment, size)
            while last < len(rows) and times[last] == moment:
                last += 1
            loop.place = first
            with loop:
                self.evict_many(expired)
                for loop.place in range(first, last):
                    self._insert_at_end(moment, rows[loop.place])
                loop.place = first
                results.extend([self.query()] * (last - first))
            first = last
        return results

    def _insert_at_end(self, moment: Any, row: tuple[Any, ...]) -> None:
        self.insert(*row)
        self._times.append(moment)

    def _expired(self, moment: Any, size: Any) -> int:
        """How many values are too old at a moment."""
        expired = 0
        for old in self._times:
            if moment - old < size:
                break
            expired += 1
        return expired

    def _check_times(self, times: Any, count: int, size: Any) -> None:
        if len(times) != count:
            raise ValueError(f"{len(times)} times for {count} values: give one time a value")
        if not size > type(size)(0):
            raise ValueError(f"a window of size {size!r}: size must be positive")
        kept = self._times_kept()
        if self._size and len(kept) != self._size:
            raise ValueError("this window holds values without times: use a new one for roll_time")
        last = kept[-1] if self._size else None
        for index, moment in enumerate(times):
            if last is not None and moment < last:
                raise ValueError(
                    f"times must not fall: {moment!r} at index {index} after {last!r}; sort the rows"
                )
            last = moment

    def _times_kept(self) -> Any:
        """The times of the values in the window, or nothing where it is not used by time."""
        return self._times

    # -- all or nothing
    # --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _atomically(self) -> Iterator[None]:
        """Several steps that are one operation: if one raises, the window is as it was before them."""
        backup = self._backup()
        try:
            yield
        except BaseException:
            for name, value in backup.items():
                setattr(self, name, value)
            raise

    def _backup(self) -> dict[str, Any]:
        """The attributes that say what is in the window; those that change in place are copied."""
        queues = {"_null_positions": self._null_positions.copy(), "_times": self._times.copy()}
        return {"_evicted": self._evicted, "_size": self._size, **queues}

    # -- helpers for subclasses
    # ------------------------------------------------------------------------------------

    def _next_position(self) -> int:
        """The position that the next value gets; positions count up and never come back."""
        return self._evicted + self._size

    def _forget(self, count: int) -> None:
        """Account for ``count`` values that have left the window at its front."""
        self._evicted += count
        self._size -= count
        while self._null_positions and self._null_positions[0] < self._evicted:
            self._null_positions.popleft()
        if self._times:
            for _ in range(min(count, len(self._times))):
                self._times.popleft()

    def _require(self, count: int) -> None:
        if not 0 <= count <= self._size:
            raise EmptyWindow(f"evict {count} of {self._size} values: evict_many takes 0 to len() of them")


def row_number(place: int) -> str:
    """A row of a batch, for messages."""
    return f"row {place}"
