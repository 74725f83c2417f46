"""FiBA, the finger B-tree aggregator: rows in any order of time, at a cost that depends on how far out of
order they are.

The window is a B-tree of entries (time, partial) with fingers on its first and its last leaf. Aggregates are
stored so that each change stays near where it happens: see :mod:`windrow.swag.finger_tree.layout`. Each value
is an entry of its own, and values of equal time keep the order in which they came, so that the oldest value
can be evicted whatever its time is.

Invariant: nodes have mu to 2 * mu children, those on the spines two at least; all leaves are equally deep;
each aggregate covers what its place in the tree says. ``check_invariants`` compares all of them with a fold.
Cost in combines: a query 2; an insert d places from either end O(log d), in order O(1), both amortised;
an evict O(1) amortised; m values evicted in bulk O(log m); m values inserted in bulk O(m log(d / m)); a
range O(log n).
Source: Tangwongsan, Hirzel, Schneider, "Optimal and General Out-of-Order Sliding-Window Aggregation",
VLDB 2019, and "Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and Insertions",
VLDB 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from windrow.errors import EmptyWindow, calling, naming_row
from windrow.swag.base import row_number
from windrow.swag.finger_tree.evict import eviction
from windrow.swag.finger_tree.forms import PlainForm, Unfit
from windrow.swag.finger_tree.insert import insertion
from windrow.swag.finger_tree.query import query, range_query
from windrow.swag.finger_tree.window import TreeWindow

__all__ = ["FiBA"]

_NATIVE_FROM = 64


class FiBA(TreeWindow):
    """A window ordered by time into which rows may come late.

    ``mu`` is the least number of children of a node inside the tree, 2 * mu the most; by default 4 in plain
    Python and 8 in native code.

    >>> import windrow as wr
    >>> from windrow.swag.fiba import FiBA
    >>> window = FiBA(wr.concat)
    >>> for time, letter in [(1, "w"), (4, "d"), (2, "i"), (3, "n")]:
    ...     window.insert_at(time, letter)
    >>> window.query()
    'wind'
    >>> window.evict_before(3)
    >>> window.query(), len(window)
    ('nd', 2)
    """

    cost = "amortised O(log d) combines per insert at distance d, O(1) per evict, O(log m) for m; a query 2"
    source = "FiBA, VLDB 2019 and 2023"

    # -- insertion -------------------------------------------------------------------------------------------

    def insert(self, *value: Any) -> None:
        """Add a value behind all others, at the youngest time + 1 (the first at 0)."""
        self.insert_at(self._time_behind(), *value)

    def insert_partial(self, partial: Any) -> None:
        """Add what several values were combined to, as one value, at the youngest time + 1 (the first at 0).

        >>> import windrow as wr
        >>> from windrow.swag.fiba import FiBA
        >>> window = FiBA(wr.sum)
        >>> window.insert_at(5, 1)
        >>> window.insert_partial(7)
        >>> window.query(), window.youngest
        (8, 6)
        """
        self._insert_entry(self._time_behind(), partial, 0)

    def _time_behind(self) -> Any:
        try:
            return self.youngest + 1 if self._size else 0
        except TypeError:
            raise TypeError(
                f"FiBA adds 1 to the last time, {self.youngest!r}, which is not a number: use insert_at() or "
                f"numbers as times"
            ) from None

    def insert_at(self, time: Any, *value: Any) -> None:
        """Add a value at its place in time, behind those of equal time.

        >>> import windrow as wr
        >>> from windrow.swag.fiba import FiBA
        >>> window = FiBA(wr.last)
        >>> for time, word in [(10, "new"), (5, "late")]:
        ...     window.insert_at(time, word)
        >>> window.query(), window.oldest
        ('new', 5)
        """
        _check_time(time)
        self._insert_entry(time, *self._lifted(value))

    def _insert_entry(self, time: Any, partial: Any, null: int) -> None:
        self._refresh()
        try:
            arguments = self._form.typed_time(time), self._form.typed_partial(partial, null), null
        except Unfit:
            self._to_plain()
            arguments = time, partial, null
        self._form.reserve(1)
        self._run(insertion, *arguments)
        self._settle_plain([time])
        self._size = len(self._form)

    def bulk_insert(self, times: Any, values: Any) -> None:
        """Add a batch, sorted by time or not; values of equal time come in the order of the batch.

        ``values`` is a list, a numpy or an Arrow array (a tuple of them for an aggregate of several inputs).

        >>> import windrow as wr
        >>> from windrow.swag.fiba import FiBA
        >>> window = FiBA(wr.concat)
        >>> window.bulk_insert([3, 1, 2], ["c", "a", "b"])
        >>> window.query()
        'abc'
        """
        if self._goes_natively(times):
            from windrow.swag.finger_tree.batches import bulk_insert

            if bulk_insert(self, times, values):
                self._size = len(self._form)
                return
        moments, rows = self._plain_batch(times, values)
        lifted = []
        with naming_row(row_number), calling(self.monoid, rows) as loop:
            for loop.place, row in enumerate(rows):
                lifted.append(self._lifted(row))
        self._insert_lifted(moments, lifted)

    def _goes_natively(self, times: Any) -> bool:
        """Whether native code is worth a try: compiling for a few rows is not."""
        return not isinstance(self._form, PlainForm) or len(times) >= _NATIVE_FROM

    def _plain_batch(self, times: Any, values: Any) -> tuple[list[Any], list[tuple[Any, ...]]]:
        from windrow.compile.columns import rows_of

        rows = rows_of(values, self.monoid)
        is_moments = hasattr(times, "dtype") and times.dtype.kind in "mM"
        moments = times.tolist() if hasattr(times, "tolist") and not is_moments else list(times)
        if len(moments) != len(rows):
            raise ValueError(f"{len(moments)} times for {len(rows)} values: give one time a value")
        for moment in moments:
            _check_time(moment)
        return moments, rows

    def _insert_lifted(self, times: list[Any], lifted: list[tuple[Any, int]]) -> None:
        if not times:
            return
        self._refresh()
        order = sorted(range(len(times)), key=times.__getitem__)
        moments = [times[i] for i in order]
        self._fill([*moments], [lifted[i][0] for i in order], [lifted[i][1] for i in order])
        self._settle_plain(moments)
        self._size = len(self._form)

    # -- eviction --------------------------------------------------------------------------------------------

    def evict(self) -> None:
        if self._size == 0:
            raise EmptyWindow("evict from an empty FiBA: insert before you evict, or test len()")
        self._cut(0, False, 1)

    def evict_many(self, count: int) -> None:
        """Remove the ``count`` oldest values, in O(log count) combines."""
        self._require(count)
        if count:
            self._cut(0, False, count)

    def evict_before(self, time: Any) -> None:
        """Remove all values before a time, in O(log m) combines for m of them.

        >>> import windrow as wr
        >>> from windrow.swag.fiba import FiBA
        >>> window = FiBA(wr.sum)
        >>> window.bulk_insert([1, 2, 3], [10, 20, 30])
        >>> window.evict_before(2)
        >>> window.query()
        50
        """
        _check_time(time)
        if self._size and self.oldest < time:
            self._cut(time, False, -1)

    def evict_until(self, time: Any) -> None:
        """Remove all values before a time and at it.

        >>> import windrow as wr
        >>> from windrow.swag.fiba import FiBA
        >>> window = FiBA(wr.sum)
        >>> window.bulk_insert([1, 2, 3], [10, 20, 30])
        >>> window.evict_until(2)
        >>> window.query()
        30
        """
        _check_time(time)
        if self._size and not time < self.oldest:
            self._cut(time, True, -1)

    def _cut(self, limit: Any, inclusive: bool, rank: int) -> None:
        """Evict ``rank`` values or, if that is negative, those before the limit."""
        boundary = self._limits(limit) if rank < 0 else (self._form.no_time,)
        self._run(eviction, *boundary, inclusive, rank)
        self._settle_plain([])
        self._form.tidy()
        self._size = len(self._form)

    # -- queries ---------------------------------------------------------------------------------------------

    def query(self) -> Any:
        return self._result(self._size, self._form.null_count, self._partial)

    def _result(self, count: int, nulls: int, total: Any) -> Any:
        if nulls and self.monoid.nulls == "propagate":
            return None
        if nulls == count:
            return self.monoid.empty_result()
        return self.monoid.lower(total())

    def _partial(self) -> Any:
        if self._form.null_count == self._size:
            return self.monoid.identity
        return self._asked(query)

    def range_query(self, low: Any, high: Any) -> Any:
        """The lowered result for the values whose times are in [low, high).

        >>> import windrow as wr
        >>> from windrow.swag.fiba import FiBA
        >>> window = FiBA(wr.sum)
        >>> window.bulk_insert([1, 2, 3, 4], [10, 20, 30, 40])
        >>> window.range_query(2, 4)
        50
        """
        _check_time(low)
        _check_time(high)
        if not low < high or self._size == 0:
            return self.monoid.empty_result()
        total, count, nulls = self._asked(range_query, *self._limits(low, high))
        return self._result(count, nulls, lambda: total)

    @property
    def oldest(self) -> Any:
        """The time of the oldest value, None in an empty window.

        >>> import windrow as wr
        >>> from windrow.swag.fiba import FiBA
        >>> window = FiBA(wr.sum)
        >>> window.bulk_insert([3, 1], [30, 10])
        >>> window.oldest, window.youngest
        (1, 3)
        """
        return self._form.oldest() if self._size else None

    @property
    def youngest(self) -> Any:
        """The time of the youngest value, None in an empty window."""
        return self._form.youngest() if self._size else None

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """(time, partial) of each value, oldest first; a null has the identity as its partial."""
        times, partials, nulls = self._form.entries()
        for time, lifted, null in zip(times, partials, nulls, strict=True):
            yield time, self.monoid.identity if null else lifted

    # -- rolling windows -------------------------------------------------------------------------------------

    def roll_unordered(self, times: Any, values: Any, size: Any) -> Any:
        """Feed a batch in any order through a window of the times in (latest - size, latest]: one result a
        row, of all rows so far. A row that comes later than that adds nothing.

        >>> import windrow as wr
        >>> from windrow.swag.fiba import FiBA
        >>> FiBA(wr.concat).roll_unordered([1, 4, 2, 6, 3], list("adbfc"), size=4)
        ['a', 'ad', 'abd', 'df', 'cdf']
        """
        if not size > type(size)(0):
            raise ValueError(f"a window of size {size!r}: size must be positive")
        if self._goes_natively(times):
            from windrow.swag.finger_tree.batches import roll_unordered

            results = roll_unordered(self, times, values, size)
            self._size = len(self._form)
            if results is not None:
                return results
        from windrow.compile.columns import shaped_like

        moments, rows = self._plain_batch(times, values)
        with naming_row(row_number), self._atomically():
            self._to_plain()
            results = self._roll_unordered_plainly(moments, rows, size)
        return shaped_like(values, self.monoid)(results, None)

    def _roll_unordered_plainly(self, times: list[Any], rows: list[tuple[Any, ...]], size: Any) -> list[Any]:
        results: list[Any] = []
        loop = calling(self.monoid, rows)
        for loop.place, (time, row) in enumerate(zip(times, rows, strict=True)):
            latest = max(time, self.youngest) if self._size else time
            if latest - time < size:
                with loop:
                    self.insert_at(time, *row)
            while not latest - self.oldest < size:
                self.evict()
            with loop:
                results.append(self.query())
        return results

    def _roll_time_plainly(self, times: list[Any], rows: list[tuple[Any, ...]], size: Any) -> list[Any]:
        results: list[Any] = []
        first = 0
        loop = calling(self.monoid, rows)
        while first < len(rows):
            moment, last = times[first], first
            while self._size and not moment - self.oldest < size:
                self.evict()
            while last < len(rows) and times[last] == moment:
                last += 1
            with loop:
                for loop.place in range(first, last):
                    self.insert_at(moment, *rows[loop.place])
                loop.place = first
                results += [self.query()] * (last - first)
            first = last
        return results

    def _check_times(self, times: Any, count: int, size: Any) -> None:
        # here every value has a time: the base needs to know of the youngest only
        self._times.clear()
        if self._size:
            self._times.append(self.youngest)
        held, self._size = self._size, len(self._times)
        try:
            super()._check_times(times, count, size)
        finally:
            self._size = held
            self._times.clear()


def _check_time(time: Any) -> None:
    if time is None or time != time:
        raise ValueError(f"{time!r} is not a time: each value needs one that can be ordered")
