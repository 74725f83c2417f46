"""One Session window of an operator: its open sessions, and what came out of them.

Without corrections a session comes out once and is forgotten. With them (``allowed_lateness``, or
``output="update"``) a ledger says which sessions stand: a session that is no longer there under its old edges
is retracted, and what took its place comes out under its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.slicing.batch import Batch
from windrow.slicing.fired import Piece
from windrow.slicing.ledger import Ledger
from windrow.slicing.sessions import SessionStore
from windrow.slicing.slices import HeldSlices
from windrow.slicing.window_lists import Found, Ranges
from windrow.spec import Spec
from windrow.values import with_fields
from windrow.windows import Session

__all__ = ["SessionPart"]


@dataclass(frozen=True)
class SessionPart:
    """A Session window by its number in the query."""

    query: Spec
    number: int
    store: SessionStore
    ledger: Ledger
    #: sessions that start before this do not come out: rows of them may have come before this was added
    since: int = START_OF_TIME

    @classmethod
    def empty(cls, query: Spec, number: int, window: Session, moments: bool) -> SessionPart:
        moments = moments or window.max_size is not None
        return cls(query, number, SessionStore(window, moments), Ledger.empty())

    @property
    def keeps_ledger(self) -> bool:
        return self.query.corrects or self.query.output == "update"

    def added(self, batch: Batch, watermark: int) -> tuple[SessionPart, Mask]:
        """With the rows of a batch, in two steps; and which slices were taken."""
        slices = self._cut_for_me(batch.slices)
        taken = ~batch.is_late
        store = self.store.added(slices if taken.all() else slices.take(np.flatnonzero(taken)))
        late = np.flatnonzero(batch.is_late)
        if len(late):
            accepted = late[store.takes(slices.keys[late], slices.firsts[late], watermark)]
            taken[accepted] = True
            store = store.added(slices.take(accepted))
        return with_fields(self, store=store), taken

    def _cut_for_me(self, slices: HeldSlices) -> HeldSlices:
        """Moments are told apart by their times, not by the edges of other windows."""
        return with_fields(slices, ends=slices.firsts + 1) if self.store.moments else slices

    def fired(self, touched: HeldSlices | None, watermark: int) -> tuple[SessionPart, list[Piece]]:
        """The sessions that are due; ``touched``: slices taken since, sorted by key and time."""
        spans = self.store.spans()
        found = self._found(spans)
        if self.keeps_ledger:
            part, pieces = self._revised(spans, found, touched, watermark)
        else:
            due = np.flatnonzero((spans.ends <= watermark) & (spans.starts >= self.since))
            part, pieces = self, list(self._piece(spans, found, due, None, is_final=True))
        return part._forgotten(spans, watermark), pieces

    def _found(self, spans: Ranges) -> Found:
        return Found(np.full(len(spans), self.number, np.int64), spans.keys, spans.starts, spans.ends)

    def _piece(
        self,
        spans: Ranges,
        found: Found,
        chosen: Ints,
        revisions: Ints | None,
        is_final: bool,
        corrected: int = 0,
    ) -> Iterator[Piece]:
        if len(chosen):
            assert self.store.slices is not None
            fronts, stops = spans.fronts[chosen], spans.stops[chosen]
            results = self.store.slices.results(fronts, stops, "disjoint")
            yield Piece(found.take(chosen), results, revisions, is_final, corrected)

    def _revised(
        self, spans: Ranges, found: Found, touched: HeldSlices | None, watermark: int
    ) -> tuple[SessionPart, list[Piece]]:
        places = self.ledger.places(found)
        stands = places >= 0
        is_due = spans.ends <= watermark
        changed = _holds_any(spans, touched)
        out = changed | ~stands
        out[stands] |= is_due[stands] & ~self.ledger.final[places[stands]]
        if self.query.output != "update":
            out &= is_due
        out &= spans.starts >= self.since
        pieces = list(self._retracted(places, watermark))
        kept = np.zeros(len(self.ledger), np.bool_)
        kept[places[stands]] = True
        ledger = self.ledger.only(kept)
        for final in (True, False):
            chosen = np.flatnonzero(out & (is_due == final))
            ledger, revisions, corrected = ledger.entered(found.take(chosen), final)
            pieces += self._piece(spans, found, chosen, revisions, final, corrected)
        return with_fields(self, ledger=ledger), pieces

    def _retracted(self, places: Ints, watermark: int) -> Iterator[Piece]:
        """Sessions that came out and are there no more."""
        gone = np.ones(len(self.ledger), np.bool_)
        gone[places[places >= 0]] = False
        is_passed = self.ledger.found.ends <= watermark
        for final in (True, False):
            chosen = np.flatnonzero(gone & (is_passed == final))
            if len(chosen):
                revisions = self.ledger.revisions[chosen] + 1
                yield Piece(self.ledger.found.take(chosen), None, revisions, is_final=final)

    def forgotten(self, watermark: int) -> SessionPart:
        """Without sessions that no row can correct any more."""
        return self._forgotten(self.store.spans(), watermark)

    def _forgotten(self, spans: Ranges, watermark: int) -> SessionPart:
        until = watermark
        if self.query.corrects and watermark < END_OF_TIME:
            assert self.query.allowed_lateness is not None
            until = watermark - self.query.allowed_lateness.units - 1
        store = self.store.forgotten(spans, until, watermark)
        ledger = self.ledger
        if len(ledger):
            ledger = ledger.only(ledger.found.ends > until)
        return with_fields(self, store=store, ledger=ledger)

    def with_moments(self, order: Sequence[Any]) -> SessionPart:
        """From now on every moment has a slice of its own; ``order``: types of columns that order rows."""
        store = self.store
        slices = store.slices
        if slices is not None:
            slices = with_fields(slices, ends=slices.firsts + 1).with_order(order)
        return with_fields(self, store=with_fields(store, moments=True, slices=slices))

    def with_keys(self, renumbered: Ints) -> SessionPart:
        return with_fields(
            self, store=self.store.with_keys(renumbered), ledger=self.ledger.with_keys(renumbered)
        )

    def keys(self) -> Iterator[Ints]:
        yield from self.store.keys()
        yield self.ledger.found.keys


def _holds_any(spans: Ranges, touched: Any) -> Mask:
    """Which sessions hold one of these slices."""
    holds = np.zeros(len(spans), np.bool_)
    if touched is None or not len(touched):
        return holds
    # sessions and slices are sorted by key and time: the last session that starts by a slice holds it
    keys = np.concatenate([spans.keys, touched.keys])
    times = np.concatenate([spans.starts, touched.firsts])
    is_slice = np.concatenate([np.zeros(len(spans), np.bool_), np.ones(len(touched), np.bool_)])
    order = np.lexsort([is_slice, times, keys])
    last = np.maximum.accumulate(np.where(is_slice[order], -1, order))
    holds[last[is_slice[order]]] = True
    return holds
