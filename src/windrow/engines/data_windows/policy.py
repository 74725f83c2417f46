"""Windows by policy, which are decided row by row: one for each row, of all aggregates together.

Cost: that of AMTA, amortised O(1) combines per row, and O(log n) questions to the policy. Source: [MTA]
4.1.3."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from windrow.arrays import Ints, Mask
from windrow.engines.algorithms import policy_algorithm
from windrow.engines.data_windows.policy_partial import PolicyMiddle
from windrow.engines.data_windows.strategy import Decided, Strategy, reported, starts_behind
from windrow.errors import call_user, calling, naming_row
from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.together import part_of, product_of, record_of
from windrow.partials.inputs import absent_rows, ordered_arrays, skipped_rows, value_counts
from windrow.partials.partials import Partials
from windrow.partials.plain_column import PlainColumn
from windrow.partials.ranges import RowRanges
from windrow.partials.result_types import decimals_over, type_over
from windrow.partials.results import count_column, plain_column
from windrow.rows.frame import Frame
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec
from windrow.windows import Policy

__all__ = ["PolicyStrategy", "PolicyWindow", "folded_runs", "lowered", "policy_results", "shared_monoid"]


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
        self._window: Any = self._algorithm(self._monoid)

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
                    self._window = self._algorithm(self._monoid)
                if loop.place in before:
                    self._window.insert_partial(before[loop.place])
                self._window.insert([column[loop.place] for column in inputs])
                if is_asked:
                    self._window.evict_while(self._evicts)
                    sizes.append(len(self._window))
                    partials.append(self._window.query_partial())
        return sizes, partials


def shared_monoid(query: Spec) -> Monoid:
    """All aggregates of the query over one window; their partials are readable by the names of the
    results."""
    monoids = [aggregate.monoid for _, aggregate in query.aggregates]
    parts = [part_of(m, functools.partial(_inputs, k), call_user) for k, m in enumerate(monoids)]
    return product_of("policy", parts, record_of([name for name, _ in query.aggregates], "Partials"))


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
