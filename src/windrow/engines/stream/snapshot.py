"""An operator's state as bytes, and back.

One value in the codec of :mod:`windrow.state`: versioned, checksummed, no pickle. It says of which query it
is, and :mod:`windrow.engines.stream.stored_query` refuses another one. Windows and aggregates may have been
added: they see the rows that come from now on, and give nothing over those from before. What was removed is
not read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.engines.kept_rows.columns import check_key_types
from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.stream.intake import Columns
from windrow.engines.stream.late import LateRows
from windrow.engines.stream.metrics import Counts
from windrow.engines.stream.plan import EVENTS, Plan
from windrow.engines.stream.rejected import RejectedTables
from windrow.engines.stream.state import State
from windrow.engines.stream.stored_query import (
    allowed_before,
    check_kept_columns,
    check_query,
    check_shape,
    described,
    known_windows,
    removes_from,
)
from windrow.engines.stream.window_changes import with_window
from windrow.partials.partials import Partials
from windrow.rows.keys import Keys
from windrow.rows.times import TimeAxis
from windrow.slicing.blocks import Block
from windrow.slicing.empty_windows import Fillings
from windrow.slicing.ledger import Ledger
from windrow.slicing.slices import HeldSlices
from windrow.slicing.window_lists import Found
from windrow.state.checks import making_sense, require, whole
from windrow.state.codec import pack, unpack
from windrow.windows.timeline.zones import zone_name

__all__ = [
    "Elsewhere",
    "check_order",
    "pack_snapshot",
    "read_places",
    "read_slices",
    "restored_value",
    "slices_state",
    "snapshot_of",
    "snapshot_value",
    "unpack_snapshot",
]

_KIND = "operator"
#: where snapshots had the events of as-of queries before they were part of the state
_EVENTS_BESIDE = "asof"
#: no operator has had more windows added to it
_MOST_NUMBERS = 1 << 20


class Elsewhere(Protocol):
    """Who keeps slices and rows elsewhere. ``places`` says which of the aggregates there each of the plan's
    is, ``has_less`` whether windows or aggregates were removed that have read rows there."""

    def blocks(
        self, plan: Plan, places: Sequence[int | None], key_count: int, span: int
    ) -> dict[int, Block]: ...

    def rows(
        self, part: OrderedRows, stored: dict[str, Any], places: Sequence[int | None], has_less: bool
    ) -> None: ...


# -- out -----------------------------------------------------------------------------------------------------


def snapshot_of(plan: Plan, state: State) -> bytes:
    """All of it as bytes."""
    return pack_snapshot(snapshot_value(plan, state))


def pack_snapshot(value: dict[str, Any]) -> bytes:
    """Plain values as the bytes of a snapshot."""
    return pack(_KIND, value)


def snapshot_value(plan: Plan, state: State, *, whole: bool = True) -> dict[str, Any]:
    """All of it as plain values; or not the whole but what is left without blocks of slices and chunks of
    rows, for callers who keep them elsewhere."""
    stored = _state(plan, state, whole)
    if whole and state.time is not None:
        blocks = state.time.store.blocks
        stored["time"]["blocks"] = {number: slices_state(block.slices) for number, block in blocks.items()}
    zone = {"zone": plan.zone} if plan.zone else {}
    return {"query": described(plan.query), "numbers": list(plan.numbers), "state": stored, **zone}


def _state(plan: Plan, state: State, whole: bool) -> dict[str, Any]:
    return {
        "moments": plan.moments,
        "schema": None if state.columns is None else state.columns.schema.empty_table(),
        "watermark": state.watermark,
        "earliest": state.earliest,
        "largest": state.largest,
        "reach": state.reach,
        "advanced_by_integer": state.advanced_by_integer,
        "counts": asdict(state.counts),
        "keys": state.keys.values,
        "late": list(state.late.tables),
        "time": None if state.time is None else _time(state),
        "sessions": {part.number: _session(part) for part in state.sessions},
        "ordered": {number: rows.state(whole) for number, rows in state.ordered.items()},
        **({"rejected": list(state.rejected.tables)} if state.rejected.tables else {}),
        **({"events": list(state.events)} if state.events else {}),
        **_moment("history_until", state.history_until),
        **_moment("forgotten_until", state.forgotten_until),
    }


def _moment(name: str, moment: int) -> dict[str, int]:
    return {name: moment} if moment > START_OF_TIME else {}


def _time(state: State) -> dict[str, Any]:
    part = state.time
    assert part is not None
    return {
        "since": {kind.number: kind.since for kind in part.kinds},
        "span": part.store.span,
        "ledger": _ledger(part.ledger),
        "filling": part.filling.state(),
    }


def _session(part: Any) -> dict[str, Any]:
    store = part.store
    return {
        "slices": None if store.slices is None else slices_state(store.slices),
        "closed": [store.closed_keys, store.closed_ends],
        "ledger": _ledger(part.ledger),
        "since": part.since,
    }


def slices_state(slices: HeldSlices) -> dict[str, Any]:
    # times of a slice are near each other: small numbers take little room
    times = [slices.ends - slices.firsts, slices.lasts - slices.firsts, slices.ends]
    columns = [slices.keys, *times, slices.since]
    return {"columns": columns, "order": list(slices.order), "partials": slices.partials.state()}


def read_slices(plan: Plan, places: Sequence[int | None], stored: dict[str, Any]) -> HeldSlices:
    """The reverse; ``places`` says which of the aggregates in it each of the plan's is (None: it is new).
    Nothing is checked yet: ``check_invariants`` of what the slices are for does that."""
    partials = Partials.restored(plan.aggregates, stored["partials"], places)
    return HeldSlices(*read_places(stored), partials, tuple(stored["order"]))


def check_order(plan: Plan, slices: HeldSlices) -> None:
    """Slices are merged with those of new rows, which have as many columns that order rows."""
    count = len(plan.query.order) if plan.slicer.apart else 0
    found = len(slices.order)
    require(found == count, f"order of slices: {found} columns where {count} are expected")


def read_places(stored: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
    """Keys, firsts, lasts, ends and since of slices."""
    keys, before, length, ends, since = stored["columns"]
    firsts = ends - before
    return keys, firsts, firsts + length, ends, since


def _ledger(ledger: Ledger) -> list[Any]:
    found = ledger.found
    return [found.windows, found.keys, found.starts, found.ends, ledger.revisions, ledger.final]


# -- in ------------------------------------------------------------------------------------------------------


def unpack_snapshot(snapshot: bytes) -> dict[str, Any]:
    """The reverse of :func:`pack_snapshot`."""
    return dict(unpack(_KIND, snapshot))


def restored_value(plan: Plan, stored: dict[str, Any], elsewhere: Elsewhere | None) -> tuple[Plan, State]:
    """The reverse of :func:`snapshot_value`, for a query that it fits."""
    check_shape(stored)
    if plan.zone is None and "zone" in stored:
        with making_sense("the time zone of the state"):
            zone = stored["zone"]
            require(type(zone) is str and zone_name(zone) is not None, "not the name of one")
        plan = plan.in_zone(zone)
    query = plan.query
    check_query(query, stored["query"])
    known = known_windows(query, stored["query"])
    old = replace(
        plan,
        query=replace(query, windows=tuple(known.items())),
        numbers=_read_numbers(stored, known),
        moments=stored["state"]["moments"],
    )
    places = [
        list(stored["query"]["aggregates"]).index(name) if name in stored["query"]["aggregates"] else None
        for name, _ in query.aggregates
    ]
    state = _Reader(old, places, elsewhere, stored["query"]).state(stored["state"])
    added = [a for (_, a), place in zip(query.aggregates, places, strict=True) if place is None]
    if added and (plan.moments or old.needs_moments(state, added)):
        old, state = old.with_moments(state)
    for name, window in query.windows:
        if name not in known:
            old, state = with_window(old, state, name, window)
    if stored.get(_EVENTS_BESIDE) is not None:
        with making_sense("the snapshot"):
            events = stored[_EVENTS_BESIDE]
            require(isinstance(events, pa.Table), "events: not a table")
            state.ordered[EVENTS].push(events, np.arange(events.num_rows))
    return old, state


def _read_numbers(stored: dict[str, Any], known: Collection[str]) -> tuple[int, ...]:
    """The numbers of windows that are still there; numbers only grow."""
    with making_sense("the numbers of windows"):
        found, names = stored["numbers"], list(stored["query"]["windows"])
        numbers = tuple(whole("number of a window", number, 0, _MOST_NUMBERS) for number in found)
        require(len(numbers) == len(names), f"{len(numbers)} numbers for {len(names)} windows")
        require(numbers == tuple(sorted(set(numbers))), f"numbers of windows: {numbers} are not in order")
    return tuple(number for number, name in zip(numbers, names, strict=True) if name in known)


class _Reader:
    """Parts from plain values."""

    def __init__(
        self, plan: Plan, places: Sequence[int | None], elsewhere: Elsewhere | None, stored: dict[str, Any]
    ) -> None:
        self._plan = plan
        #: the lateness that was allowed when the state was stored, and whether something was removed since
        self._was_allowed = allowed_before(stored)
        self._has_less = removes_from(plan.query, stored)
        self._places = places
        #: how many keys there are, and the earliest and the largest time of all rows
        self._keys, self._stretch = 0, (END_OF_TIME, START_OF_TIME)
        #: columns that parts leave out if they do not read them: something that was removed may have
        self._unread: set[str] = set()
        self._elsewhere = elsewhere

    def state(self, stored: dict[str, Any]) -> State:
        plan = self._plan
        with making_sense("the state"):
            state = self._begun(stored)
            if stored["schema"] is None:
                return state
            held = stored["schema"].schema
            columns = Columns(held).for_query(plan.query)
            if self._has_less:
                self._unread = set(held.names)
            axis = TimeAxis(columns.schema.field(plan.query.time).type)
        check_kept_columns(plan.query, held.names)
        state = plan.with_parts(replace(state, columns=columns, axis=axis))
        self._keys, self._stretch = len(state.keys), (state.earliest, state.largest)
        with making_sense("the state"):
            check_key_types(plan.query.by, state.keys.values, {c.name: c.type for c in columns.schema})
            return replace(
                state,
                time=None if state.time is None else self._time(state.time, stored["time"]),
                sessions=tuple(
                    self._session(p, stored["sessions"][p.number], state.watermark) for p in state.sessions
                ),
                ordered={k: self._rows(rows, stored, k, state) for k, rows in state.ordered.items()},
            )

    def _begun(self, stored: dict[str, Any]) -> State:
        """What there is before parts."""
        state = State(
            Keys.restored(self._plan.query.by, stored["keys"], len(stored["keys"] or ())),
            None,
            (),
            {},
            watermark=whole("watermark", stored["watermark"], START_OF_TIME, END_OF_TIME),
            earliest=whole("earliest time", stored["earliest"], START_OF_TIME, END_OF_TIME),
            largest=whole("largest time", stored["largest"], START_OF_TIME, END_OF_TIME),
            reach=stored["reach"],
            advanced_by_integer=stored["advanced_by_integer"],
            late=LateRows(tuple(stored["late"])),
            rejected=RejectedTables(tuple(stored.get("rejected", ()))),
            counts=Counts(**stored["counts"]),
            events=tuple(stored.get("events", ())),
            history_until=_read_moment(stored, "history_until"),
            forgotten_until=_read_moment(stored, "forgotten_until"),
        )
        state.check_invariants()
        if self._was_allowed == self._plan.allowed or state.watermark == START_OF_TIME:
            return state
        # windows whose end the watermark had passed by that much are gone; without any, so are those which
        # end at it, and sessions reach their end
        gone = state.watermark - self._was_allowed + (0 if self._was_allowed else 1)
        return replace(state, forgotten_until=max(state.forgotten_until, gone))

    def _time(self, part: Any, stored: dict[str, Any]) -> Any:
        span = whole("length of blocks", stored["span"], 1, END_OF_TIME)
        if self._elsewhere is not None:
            blocks = self._elsewhere.blocks(self._plan, self._places, self._keys, span)
        else:
            blocks = {number: Block(self._slices(slices)) for number, slices in stored["blocks"].items()}
        since = {n: whole("since", t, START_OF_TIME, END_OF_TIME) for n, t in stored["since"].items()}
        found = replace(
            part,
            kinds=part.kinds.with_since(since),
            store=replace(part.store, span=span, blocks=blocks),
            ledger=_read_ledger(stored["ledger"]),
            filling=Fillings.restored(stored["filling"]),
        )
        for number in since.keys() - set(found.kinds.numbers):
            found = found.without(number)
        found.check_invariants(self._keys, self._stretch)
        return found

    def _session(self, part: Any, stored: dict[str, Any], watermark: int) -> Any:
        slices = None if stored["slices"] is None else self._slices(stored["slices"])
        keys, ends = stored["closed"]
        store = replace(part.store, slices=slices, closed_keys=keys, closed_ends=ends)
        store.check_invariants(self._keys)
        ledger = _read_ledger(stored["ledger"])
        ledger.check_invariants([part.number], self._keys)
        since = whole("since", stored["since"], START_OF_TIME, END_OF_TIME)
        found = replace(part, store=store, ledger=ledger, since=since)
        # what was kept to be corrected has come out
        return found.forgotten(watermark) if self._was_allowed > self._plan.allowed else found

    def _slices(self, stored: dict[str, Any]) -> HeldSlices:
        slices = read_slices(self._plan, self._places, stored)
        check_order(self._plan, slices)
        return slices

    def _with_added(self, stored: dict[str, Any], rows_in: int) -> dict[str, Any]:
        """Aggregates of columns that the held rows lack learn which rows these are."""
        query = self._plan.query
        pairs = list(zip(query.aggregates, self._places, strict=True))
        bounds = dict(stored["added"])
        known = [a.reads for (name, a), place in pairs if place is not None and name not in bounds]
        held = {query.time, *query.by, *(column for columns in known for column in columns)}
        new = {name: rows_in for (name, a), place in pairs if place is None and not held.issuperset(a.reads)}
        return stored | {"added": bounds | new}

    def _rows(self, part: OrderedRows, every: dict[str, Any], number: int, state: State) -> OrderedRows:
        assert state.columns is not None
        if number == EVENTS and number not in every["ordered"]:
            return part  # which was kept beside the state
        stored = self._with_added(every["ordered"][number], state.counts.rows_in)
        part.expect(state.columns.schema, stored["added"], self._unread)
        if self._elsewhere is None:
            part.restore(stored)
        else:
            self._elsewhere.rows(part, stored, self._places, self._has_less)
        at_end = state.watermark == END_OF_TIME
        part.check_passed(END_OF_TIME if at_end else state.late_before(self._plan.allowed))
        return part


def _read_moment(stored: dict[str, Any], name: str) -> int:
    return whole(name, stored.get(name, START_OF_TIME), START_OF_TIME, END_OF_TIME)


def _read_ledger(stored: list[Any]) -> Ledger:
    windows, keys, starts, ends, revisions, final = stored
    return Ledger(Found(windows, keys, starts, ends), revisions, final)
