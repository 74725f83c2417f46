"""Windows by policy, which are decided row by row: one for each row, of all aggregates together.

Cost: that of AMTA, amortised O(1) combines per row, and O(log n) questions to the policy. Source: [MTA]
4.1.3."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from windrow.arrays import Ints, Mask
from windrow.engines.algorithms import policy_algorithm
from windrow.engines.data_windows.policy_partial import PolicyMiddle
from windrow.engines.data_windows.strategy import Decided, Strategy, reported, starts_behind
from windrow.engines.kept_rows.context import arrived
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.errors import call_user, calling, naming_row
from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.together import part_of, product_of, record_of
from windrow.partials.inputs import absent_rows, ordered_arrays, skipped_rows, value_counts
from windrow.partials.partials import Partials
from windrow.partials.plain_column import PlainColumn
from windrow.partials.ranges import RowRanges
from windrow.partials.result_types import decimals_over, type_over
from windrow.partials.results import count_column, plain_column
from windrow.rows.frame import Frame, build_frame
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec
from windrow.windows import Policy

__all__ = [
    "LivingPolicy",
    "PolicyStrategy",
    "PolicyWindow",
    "folded_runs",
    "lowered",
    "policy_results",
    "shared_monoid",
]


class PolicyStrategy(Strategy[Policy]):
    """There is a window for each row: the context is what the policy left of rows before."""

    def __init__(self, window: Policy) -> None:
        super().__init__(window)
        self.policy = window

    def find(self, query: Spec, frame: Frame, leading: Ints | None = None) -> Decided:
        return Decided(*policy_results(query, frame, self.window, leading))

    def needed_from(self, frame: Frame, found: Ranges) -> Ints:
        return starts_behind(frame, found.keys, found.fronts)


def policy_results(
    query: Spec,
    frame: Frame,
    window: Policy,
    leading: Ints | None = None,
    middle: PolicyMiddle | None = None,
) -> tuple[Ranges, list[Any]]:
    """A result per row: after the row is in, the longest prefix for which the policy holds is evicted ([MTA]
    4.1.3).

    So many ``leading`` rows of each key are what a policy left of rows before: they go in unasked, and have
    no result. Between them may be a ``middle``, which all windows hold, or :class:`FrontInMiddle` is
    raised."""
    runs = frame.run_starts
    firsts = runs[:-1] if leading is None else runs[:-1] + leading
    places = np.flatnonzero(np.arange(len(frame)) >= np.repeat(firsts, np.diff(runs)))
    sizes, partials = _evicted(query, frame, window, firsts, middle)
    keys, stops = frame.keys[places], places + 1
    fronts = stops - (sizes if middle is None else middle.rows_beside(sizes, keys, stops))
    columns = [
        _lowered(frame, aggregate, [p[k] for p in partials], fronts, stops, beside)
        for k, (_, aggregate) in enumerate(query.aggregates)
        for beside in [None if middle is None else middle.counts(k, keys)]
    ]
    return reported(frame, keys, fronts, stops, disjoint=False), columns


def _evicted(
    query: Spec, frame: Frame, window: Policy, firsts: Ints, middle: PolicyMiddle | None
) -> tuple[Ints, list[Any]]:
    """For the rows of each key from its ``firsts`` on: how many rows the policy leaves, and the partials."""

    def rows() -> Iterator[tuple[int, bool, bool]]:
        runs = itertools.pairwise(frame.run_starts.tolist())
        for (begin, end), first in zip(runs, firsts.tolist(), strict=True):
            for place in range(begin if first < end else end, end):
                yield place, place == begin, place >= first

    inputs = [_rows(frame, aggregate) for _, aggregate in query.aggregates]
    with naming_row(frame.describe):
        sizes, partials = PolicyWindow(query, window).slide(
            inputs, rows(), {} if middle is None else middle.by_place
        )
    return np.array(sizes, np.int64), partials


def folded_runs(query: Spec, frame: Frame) -> Partials:
    """The rows of each key as one partial, as policies see them: Python objects."""
    monoid, aggregates = shared_monoid(query), [aggregate for _, aggregate in query.aggregates]
    inputs, found = [_rows(frame, aggregate) for aggregate in aggregates], []
    with naming_row(frame.describe), calling() as loop:
        for begin, end in itertools.pairwise(frame.run_starts.tolist()):
            total = monoid.identity
            for loop.place in range(begin, end):
                total = monoid.combine(total, monoid.lift([column[loop.place] for column in inputs]))
            found.append(total)
    columns = tuple(
        PlainColumn(
            a,
            _counted(frame, skipped_rows(frame, a)),
            [total[k] for total in found],
            decimals_over(a, [frame.raw(name) for name in a.inputs]),
        )
        if a.inputs
        else None
        for k, a in enumerate(aggregates)
    )
    absent = tuple(_counted(frame, absent_rows(frame, a)) if a.inputs else None for a in aggregates)
    known = () if all(each is None for each in absent) else absent
    return Partials(tuple(aggregates), np.diff(frame.run_starts), columns, (), known)


def _counted(frame: Frame, mask: Mask | None) -> Ints | None:
    """How many rows of each key a mask of the table's rows marks."""
    if mask is None:
        return None
    keys = frame.unordered_keys[mask if frame.rows is None else mask[frame.rows]]
    return np.bincount(keys, minlength=len(frame.key_rows)).astype(np.int64)


class PolicyWindow:
    """The window of one key after the other: after each row the longest prefix that the policy gives up is
    evicted. One window holds the partials of all aggregates."""

    def __init__(self, query: Spec, policy: Policy) -> None:
        self._monoid = shared_monoid(query)
        self._evicts = functools.partial(call_user, policy, policy.fn)
        self._algorithm = policy_algorithm(self._monoid)
        self._window: Any = self.begun()

    def begun(self) -> Any:
        """Begin the window of a key."""
        return self._algorithm(self._monoid)

    def evict(self, window: Any) -> None:
        """Evict from a window what the policy gives up."""
        window.evict_while(self._evicts)

    def slide(
        self,
        inputs: Sequence[Sequence[Any]],
        rows: Iterable[tuple[int, bool, bool]],
        before: Mapping[int, Any] = MappingProxyType({}),
    ) -> tuple[list[int], list[Any]]:
        """How many rows the policy leaves after each row that is asked for, and the partials of these.

        ``inputs`` has the rows of each aggregate; ``rows`` says of each its place among them, whether it
        is the first of a key, and whether it is asked for: others go in, and the policy is not asked.
        ``before`` has partials that go in before the rows at some places, each as one row."""
        sizes, partials = [], []
        with calling() as loop:
            for loop.place, is_first, is_asked in rows:
                if is_first:
                    self._window = self.begun()
                if loop.place in before:
                    self._window.insert_partial(before[loop.place])
                self._window.insert([column[loop.place] for column in inputs])
                if is_asked:
                    self.evict(self._window)
                    sizes.append(len(self._window))
                    partials.append(self._window.query_partial())
        return sizes, partials


def shared_monoid(query: Spec) -> Monoid:
    """All aggregates of the query over one window; their partials are readable by the names of the
    results."""
    monoids = [aggregate.monoid for _, aggregate in query.aggregates]
    parts = [part_of(m, functools.partial(_inputs, k), call_user) for k, m in enumerate(monoids)]
    return product_of("policy", parts, record_of([name for name, _ in query.aggregates], "Partials"))


#: windows of more keys than this are made when their keys come
_MANY_KEYS = 1024


class LivingPolicy:
    """The windows of all keys between pushes: one for each key, of the partials of all aggregates."""

    def __init__(self, query: Spec, policy: Policy) -> None:
        self._query = query
        self._aggregates = [aggregate for _, aggregate in query.aggregates]
        self._window = PolicyWindow(query, policy)

    def columns(self, living: LivingRows, fresh: Fresh) -> tuple[Ints, list[Any]]:
        """How many rows the policy leaves after each new row, and the result columns."""
        frame, begins = fresh.frame, fresh.runs[:-1].tolist()
        inputs = [_rows(frame, aggregate) for aggregate in self._aggregates]
        marks = _marks(frame, self._aggregates)
        sizes, partials, counts = [], [], []
        lost = [key for key in fresh.keys.tolist() if key not in living.windows]
        self._begin_again(living, np.array(lost, np.int64), fresh)
        with naming_row(frame.describe):
            for key, begin, end in zip(fresh.keys.tolist(), begins, fresh.runs[1:].tolist(), strict=True):
                window = living.windows[key]
                for size, partial, count in window.go_on(self._window, inputs, marks, begin, end):
                    sizes.append(size)
                    partials.append(partial)
                    counts.append(count)
        kept, skips = np.array(sizes, np.int64), np.array(counts, np.int64).reshape(len(sizes), 2, -1)
        columns = [
            self._lowered(frame, k, [partial[k] for partial in partials], kept, skips[:, :, k])
            for k in range(len(self._aggregates))
        ]
        return kept, columns

    def begin_again(self, living: LivingRows) -> None:
        """Make the windows of all keys from the rows that the policy left, unless these are many keys: then
        each is made when its key comes."""
        count = max(len(living.keys), 1)
        if count <= _MANY_KEYS:
            self._begin_again(living, np.arange(count), None)

    def _begin_again(self, living: LivingRows, keys: Ints, fresh: Fresh | None) -> None:
        """The same of some keys; ``fresh``: rows that are held, and are in no window yet."""
        for key in keys.tolist():
            living.windows[key] = _KeyWindow(self._window.begun(), len(self._aggregates))
        some = keys
        if fresh is not None:
            some = keys[living.begins(keys) < fresh.firsts[np.searchsorted(fresh.keys, keys)]]
        found = living.rows_of(some) if len(some) else None
        if found is None:
            return
        rows, numbers, positions = found
        if fresh is not None:
            old = positions < fresh.firsts[np.searchsorted(fresh.keys, numbers)]
            rows, numbers = rows.where(old), numbers[old]
        frame = arrived(build_frame(replace(self._query, order=()), rows.table), rows.arrivals)
        inputs = [_rows(frame, aggregate) for aggregate in self._aggregates]
        marks, runs = _marks(frame, self._aggregates), frame.run_starts.tolist()
        with naming_row(frame.describe):
            for row, (begin, end) in zip(frame.key_rows.tolist(), itertools.pairwise(runs), strict=True):
                living.windows[int(numbers[row])].fill(self._window, inputs, marks, begin, end)

    def _lowered(self, frame: Frame, k: int, partials: list[Any], sizes: Ints, skips: Ints) -> Any:
        aggregate = self._aggregates[k]
        if not aggregate.inputs:
            return count_column(aggregate, RowRanges(np.zeros(len(sizes), np.int64), sizes))
        kind = type_over(aggregate, [frame.raw(name).type for name in aggregate.inputs])
        counts = sizes - skips[:, 0], skips[:, 0] - skips[:, 1]
        return lowered(aggregate, kind, partials, counts, frame.describe)


class _KeyWindow:
    """The window of one key, and how many of its rows each aggregate skipped, and how many were absent."""

    def __init__(self, window: Any, count: int) -> None:
        self._window = window
        self._totals = [0] * (2 * count)
        #: the same row by row, once some row was skipped
        self._skips: deque[tuple[int, ...]] | None = None

    def fill(self, policy: PolicyWindow, inputs: Any, marks: Any, begin: int, end: int) -> None:
        """Take rows without asking the policy."""
        with calling() as loop:
            for loop.place in range(begin, end):
                self._take(inputs, marks, loop.place)

    def go_on(
        self, policy: PolicyWindow, inputs: Any, marks: Any, begin: int, end: int
    ) -> Iterator[tuple[int, Any, list[int]]]:
        """Take rows; after each, what the policy leaves."""
        with calling() as loop:
            for loop.place in range(begin, end):
                self._take(inputs, marks, loop.place)
                policy.evict(self._window)
                size = len(self._window)
                while self._skips is not None and len(self._skips) > size:
                    over = self._skips.popleft()
                    self._totals = [a - b for a, b in zip(self._totals, over, strict=True)]
                yield size, self._window.query_partial(), self._totals

    def _take(self, inputs: Any, marks: Any, place: int) -> None:
        self._window.insert([column[place] for column in inputs])
        if marks is None and self._skips is None:
            return
        if self._skips is None:
            self._skips = deque([(0,) * len(self._totals)] * (len(self._window) - 1))
        found = (0,) * len(self._totals) if marks is None else marks[place]
        self._skips.append(found)
        self._totals = [a + b for a, b in zip(self._totals, found, strict=True)]


def _marks(frame: Frame, aggregates: Sequence[Aggregate]) -> list[tuple[int, ...]] | None:
    """For each row, which aggregates skip it, and for which it is absent; None: none."""
    masks = [skipped_rows(frame, a) if a.inputs else None for a in aggregates]
    masks += [absent_rows(frame, a) if a.inputs else None for a in aggregates]
    if all(mask is None for mask in masks):
        return None
    none = np.zeros(frame.table.num_rows, np.bool_)
    columns = np.stack([none if mask is None else mask for mask in masks], axis=1).astype(np.int64)
    found = columns if frame.permutation is None else columns[frame.permutation]
    return [tuple(row) for row in found.tolist()]


def _inputs(k: int, row: Any) -> Any:
    """What an aggregate reads of a row, which is one list: the inputs of all aggregates."""
    return row[0][k]


def lowered(
    aggregate: Aggregate,
    kind: Any,
    partials: list[Any],
    counts: tuple[Ints, Ints],
    describe: Callable[[int], str],
) -> Any:
    """The result column of partials, of this type (null: results show it); ``counts``: how many values and
    nulls each of them holds; ``describe`` names the row of each."""
    monoid, results = aggregate.monoid, list[Any]()
    with naming_row(describe), calling(monoid) as loop:
        for loop.place, (partial, count) in enumerate(zip(partials, counts[0].tolist(), strict=True)):
            results.append(monoid.lower(partial) if count else None)
    return plain_column(aggregate, kind, results, counts, lambda place: f"the window up to {describe(place)}")


def _rows(frame: Frame, aggregate: Aggregate) -> list[tuple[Any, ...]]:
    if not aggregate.inputs:  # count(): every row counts
        return [(True,)] * len(frame)
    return list(zip(*(array.to_pylist() for array in ordered_arrays(frame, aggregate)), strict=True))


def _lowered(
    frame: Frame,
    aggregate: Aggregate,
    partials: list[Any],
    fronts: Ints,
    stops: Ints,
    beside: tuple[Ints, Ints] | None,
) -> Any:
    """``beside``: how many values and nulls each window holds that are not in the frame."""
    ranges = RowRanges(fronts, stops)
    if not aggregate.inputs:
        return count_column(aggregate, ranges if beside is None else RowRanges(fronts - beside[0], stops))
    skipped, absent = skipped_rows(frame, aggregate), absent_rows(frame, aggregate)
    counts = value_counts(frame, skipped, ranges, absent)
    if beside is not None:
        counts = counts[0] + beside[0], counts[1] + beside[1]

    def describe(place: int) -> str:
        return frame.describe(int(stops[place]) - 1)

    kind = type_over(aggregate, [frame.raw(name).type for name in aggregate.inputs])
    return lowered(aggregate, kind, partials, counts, describe)
