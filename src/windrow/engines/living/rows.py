"""The rows of one window, or of rolling, between pushes: kept rows, and what finds and combines them.

A step takes rows, asks for ranges of positions, and sets from where on rows are needed. Kept rows are the
state; rings and trees are caches of it, made again after a restore, and in no snapshot.

Steps work on values, and these structures are changed in place. So each step has a mark: a caller with the
mark of an earlier step finds things as they were then, since what followed was given up. Until a step is
accepted, what it changed is remembered: begins and ends of the keys it touched. What else it wrote lies
outside of these.

Cost: that of :mod:`windrow.engines.living.rings` for keys that come; rows that are over leave once they are
as many as the others, of all keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, Ints
from windrow.engines.kept_rows.row_table import Held
from windrow.engines.living.kept import KeptRows
from windrow.engines.living.pools import Trees, Unfit
from windrow.engines.living.rings import Move, Rings, each_of
from windrow.monoids.base import Aggregate
from windrow.partials.partials import Partials
from windrow.rows.frame import Frame, build_frame
from windrow.rows.keys import Keys
from windrow.rows.times import Moments, TimeAxis
from windrow.spec import Spec

__all__ = ["Fresh", "LivingRows", "Unfit"]

#: rows that are over are kept until there are so many
_FEWEST_OVER = 1 << 14


@dataclass(frozen=True)
class Fresh:
    """New rows, in order by key, then by time."""

    frame: Frame
    #: the numbers of their keys, each once, which rise
    keys: Ints
    #: the key of each row, and its position
    row_keys: Ints
    positions: Ints
    #: where the rows of each key start, and the end
    runs: Ints
    #: where the rows lie in the order in which they were taken; None: in the same
    places: Ints | None

    @property
    def firsts(self) -> Ints:
        """The position of the first new row of each key."""
        return self.positions[self.runs[:-1]]

    @property
    def ends(self) -> Ints:
        return self.positions[self.runs[1:] - 1] + 1


@dataclass(frozen=True)
class _Before:
    """How things were before a step."""

    mark: object
    keys: Keys
    kept: KeptRows
    over_before: int
    #: keys that it touched, with their begins and ends
    changed: list[tuple[Ints, Ints, Ints]] = field(default_factory=list[tuple[Ints, Ints, Ints]])


class LivingRows:
    """Rows, rings and trees of all keys of one window; see the module."""

    def __init__(self, query: Spec, aggregates: Sequence[Aggregate]) -> None:
        self._query = replace(query, order=())
        self._aggregates = aggregates
        self.keys = Keys(query.by)
        self.rings, self._trees = Rings(), Trees(aggregates)
        #: what windows look rows up by, where rings say
        self.facts: dict[str, Any] = {name: np.zeros(0, np.int64) for name in ("times", "arrivals")}
        self.kept = KeptRows()
        #: what windows keep of keys by themselves: forgotten for keys of a step that is given up
        self.windows: dict[int, Any] = {}
        self.mark = object()
        self._axis: TimeAxis | None = None
        self._undo: list[_Before] = []
        #: rows before this time are over, whatever key they are of
        self.over_before = -END_OF_TIME
        #: rows are looked at again once there are so many, or all that there were are over
        self._looked_at, self._newest = _FEWEST_OVER, END_OF_TIME

    @property
    def nbytes(self) -> int:
        beside = sum(column.nbytes for column in self.facts.values())
        return self.kept.nbytes + self.rings.nbytes + self._trees.nbytes + beside + self.keys.nbytes

    # -- steps -----------------------------------------------------------------------------------------------

    def begin(self, mark: object) -> None:
        """Begin a step from how things were at a mark."""
        self.go_back(mark)
        self._undo.append(_Before(mark, self.keys, self.kept, self.over_before))
        self.mark = object()

    def go_back(self, mark: object) -> None:
        """Undo the steps since a mark, which were given up."""
        while self.mark is not mark:
            before = self._undo.pop()
            self.mark, self.keys, self.kept = before.mark, before.keys, before.kept
            self.over_before = before.over_before
            for touched, begins, ends in reversed(before.changed):
                self.rings.begins[touched], self.rings.ends[touched] = begins, ends
                for key in touched.tolist():
                    self.windows.pop(key, None)

    def accept(self) -> None:
        """Take the steps so far for good, and drop rows that are over if they are many."""
        for step in self._undo:
            for touched, _, _ in step.changed:
                self.rings.floors[touched] = self.rings.begins[touched]
        self._undo.clear()
        if len(self.kept) > self._looked_at or self.over_before > self._newest:
            self._drop()

    def _drop(self) -> None:
        rings = self.rings
        every = np.arange(len(rings))
        held = np.flatnonzero(rings.ends > rings.begins)
        if self.over_before > -END_OF_TIME and len(held):
            rings.begins[held] = self.first_from("times", held, np.full(len(held), self.over_before))
            rings.floors[held] = rings.begins[held]
        live = rings.live
        self._looked_at = max(2 * live, len(self.kept)) + _FEWEST_OVER
        self._newest = self.kept.newest if live else END_OF_TIME
        if len(self.kept) <= 2 * live + _FEWEST_OVER:
            return
        alive, renumbered = every, every
        if self._query.by:
            alive = np.flatnonzero(rings.ends > rings.begins)
            self.keys, renumbered = self.keys.only(alive)
        self.kept = self.kept.only(rings.begins, renumbered)
        if self.windows:
            known = set(alive.tolist())
            self.windows = {int(renumbered[key]): w for key, w in self.windows.items() if key in known}
        self._follow(rings.repack(alive))
        self._looked_at = 2 * live + _FEWEST_OVER

    def _follow(self, moves: tuple[Move, Move] | None) -> None:
        """Let columns and trees follow rings that moved."""
        if moves is not None:
            leaves, nodes = moves
            self.facts = {name: leaves.array(column) for name, column in self.facts.items()}
            self._trees.follow(nodes)

    # -- rows in ---------------------------------------------------------------------------------------------

    def take(self, rows: Held) -> Fresh:
        """Take rows that come after all others of their keys, in order."""
        self.keys, numbered, numbers = self.keys.with_rows(rows.table)
        moments = self._moments(rows)
        frame = build_frame(
            self._query, rows.table, moments, lambda row: f"row {rows.arrivals[row]}", numbered
        )
        self.rings.with_keys(max(len(self.keys), 1))
        runs, rings = frame.run_starts, self.rings
        self._remember(numbers)
        counts = np.diff(runs)
        row_keys = np.repeat(numbers, counts)
        positions = np.arange(len(frame)) + np.repeat(rings.ends[numbers] - runs[:-1], counts)
        fresh = Fresh(frame, numbers, row_keys, positions, runs, frame.permutation)
        given = positions if fresh.places is None else _put_back(positions, fresh.places)
        given_keys = row_keys if fresh.places is None else _put_back(row_keys, fresh.places)
        first = self.kept.taken
        self.kept = self.kept.with_rows(rows, given_keys, given)
        self._follow(rings.make_room(numbers, counts))
        rings.ends[numbers] += counts
        self.put(fresh, "times", frame.times)
        self.put(fresh, "arrivals", rows.arrivals if fresh.places is None else rows.arrivals[fresh.places])
        if self._aggregates:
            self._grow(fresh, first)
        return fresh

    def _moments(self, rows: Held) -> Moments | None:
        """Return the times of rows as frames take them, if columns have the unit of windows; else None."""
        if self._axis is None:
            self._axis = TimeAxis(rows.table.schema.field(self._query.time).type)
        times = rows.times
        if not len(times) or self._axis.to_us(times) is not times:
            return None
        return Moments(self._axis, times, times, int(times[0]), int(times[-1]), falls=False)

    def _grow(self, fresh: Fresh, first: int) -> None:
        """Put new rows into the trees."""
        frame, rings = fresh.frame, self.rings
        leaves = Partials.of_rows(frame, self._aggregates, np.arange(len(frame) + 1))
        numbers = first + (np.arange(len(frame)) if fresh.places is None else fresh.places)
        self._trees.write(rings.nodes(fresh.row_keys, fresh.positions), leaves, numbers)
        for nodes, children in rings.completed(fresh.row_keys, fresh.positions):
            self._trees.join(nodes, children, self.kept.values)

    def put(self, fresh: Fresh, name: str, values: Any) -> None:
        """Put what is known of new rows into a column, in their order."""
        if name not in self.facts:
            self.facts[name] = np.zeros(len(self.facts["times"]), values.dtype)
        self.facts[name][self.rings.leaves(fresh.row_keys, fresh.positions)] = values

    def fact(self, name: str, keys: Ints, positions: Ints) -> Any:
        """Return what is known of the rows at positions."""
        return self.facts[name][self.rings.leaves(keys, positions)]

    def begins(self, keys: Ints) -> Ints:
        found: Ints = self.rings.begins[keys]
        return found

    def drop_before(self, keys: Ints, positions: Ints) -> None:
        """Let go of the rows of keys before positions: no window needs them."""
        self._remember(keys)
        self.rings.begins[keys] = positions

    def _remember(self, keys: Ints) -> None:
        if self._undo:
            before = keys, self.rings.begins[keys].copy(), self.rings.ends[keys].copy()
            self._undo[-1].changed.append(before)

    # -- ranges of rows --------------------------------------------------------------------------------------

    def numbers_of(self, table: pa.Table) -> Ints:
        """Number the keys of a table's rows; keys that are not known become so."""
        self.keys, numbers = self.keys.with_row_numbers(table)
        self.rings.with_keys(max(len(self.keys), 1))
        return np.asarray(numbers, np.int64)

    def first_from(self, name: str, keys: Ints, wanted: Ints) -> Ints:
        """Find the first position of each key where what is known of rows is at least so much."""
        return self.rings.first_from(self.facts[name], keys, wanted)

    def results(self, keys: Ints, fronts: Ints, stops: Ints) -> list[Any]:
        """Compute a column for each aggregate, over positions [front, stop); ranges of a key lie together."""
        found = self._sliding(keys, fronts, stops)
        if found is not None:
            return found
        held = np.flatnonzero(stops > fronts)
        if len(held) == len(keys):
            nodes, starts = self.rings.cover(keys, fronts, stops)
        else:
            nodes, starts = self.rings.cover(keys[held], fronts[held], stops[held])
        ends = np.cumsum(stops > fronts, dtype=np.int64)
        begins: Ints = ends - (stops > fronts)
        rows = (stops - fronts)[held]
        return self._trees.results(nodes, starts, rows, begins, ends, "disjoint", self.kept.values)

    def _sliding(self, keys: Ints, fronts: Ints, stops: Ints) -> list[Any] | None:
        """Compute the same by sliding over rows, where that combines less: many windows of few keys."""
        lengths = stops - fronts
        if not len(keys):
            return None
        by_trees = int(np.minimum(lengths, 2 * np.log2(np.maximum(lengths, 1))).sum())
        heads = np.flatnonzero(np.diff(keys, prepend=-1))
        lows = fronts[heads]
        highs = stops[np.append(heads[1:], len(keys)) - 1]
        spans = np.maximum(highs - lows, 0)
        if by_trees <= 3 * int(spans.sum()):
            return None
        same = np.diff(keys) == 0
        falls = ((np.diff(fronts) < 0) | (np.diff(stops) < 0)) & same
        if falls.any() or len(np.unique(keys[heads])) < len(heads):
            return None
        positions, which = each_of(lows, highs)
        nodes = self.rings.nodes(keys[heads][which], positions)
        shift = np.repeat(np.cumsum(spans) - spans - lows, np.diff(np.append(heads, len(keys))))
        ones, starts = np.ones(len(nodes), np.int64), np.arange(len(nodes) + 1)
        return self._trees.results(
            nodes, starts, ones, fronts + shift, stops + shift, "sliding", self.kept.values
        )

    # -- state -----------------------------------------------------------------------------------------------

    def live_rows(self) -> Held | None:
        """Return the rows that later ones may need, in the order in which they were taken."""
        found = self.kept.live(self.rings.begins)
        return None if found is None else found[0]

    def rows_of(self, keys: Ints) -> tuple[Held, Ints, Ints] | None:
        """Return the rows of some keys, with the numbers of their keys and their positions."""
        asked = np.zeros(len(self.rings), np.bool_)
        asked[keys] = True
        return self.kept.live(self.rings.begins, asked)


def _put_back(values: Ints, places: Ints) -> Ints:
    found = np.empty(len(values), np.int64)
    found[places] = values
    return found
