"""What policies must see of the rows that are held: the oldest one by one, the others as partials by key.

A policy lets go of the oldest rows of a key. So of a log the first chunks are read, and of those behind them
only their wholes (:mod:`windrow.engines.in_order.summaries`), one partial for each key; the rows of the tail
are at hand. Chunks that have rows which are over are read, too, since their wholes are of all their rows, and
so is what comes before them; and of each key that is asked for the first rows are.

Cost: the first chunk of each group of keys, and one whole for each other chunk. Once windows begin behind
what was read, more is read, twice as much each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from windrow.engines.in_order.chunks import Chunk
from windrow.engines.in_order.context import Taken, arrived
from windrow.engines.in_order.held_rows import Held
from windrow.engines.in_order.log import RowLog
from windrow.engines.in_order.lookback import Reach
from windrow.engines.in_order.middle import by_key
from windrow.engines.in_order.summaries import Whole, numbered
from windrow.engines.kinds.policy import folded_runs
from windrow.engines.kinds.policy_middle import PolicyMiddle
from windrow.monoids.together import record_of
from windrow.rows.frame import build_frame
from windrow.rows.keys import shared_keys
from windrow.spec import Spec

__all__ = ["PolicyReach", "policy_middle", "policy_whole", "reach_for_policy"]

#: which chunks are read, and what is read of all
PolicyReach = tuple[list[bool], Reach]


def policy_whole(query: Spec, chunk: Chunk) -> Whole:
    """The rows of a chunk folded by key, as policies see them."""

    def make() -> Whole:
        rows = chunk.rows
        frame = arrived(build_frame(replace(query, order=()), rows.table), rows.arrivals)
        return Whole(frame.key_table(), folded_runs(query, frame))

    found: Whole = chunk.whole(0, make)
    return found


def reach_for_policy(
    query: Spec, log: RowLog, owners: Mapping[Chunk, int], new: Held, least: int
) -> PolicyReach:
    """For new rows; of each group of keys at least so many chunks are read. Chunks of no group, where others
    have one, lie behind these, as the tail does."""
    groups: dict[int | None, list[int]] = {}
    for place, chunk in enumerate(log.chunks):
        groups.setdefault(owners.get(chunk), []).append(place)
    behind = groups.pop(None, []) if owners else []
    is_read = [log.is_worth_rewriting(log.needed_rows)] * len(log.chunks)
    asked = _Asked(query, log, new)
    for places in groups.values():
        for place in places[: asked.reads_first(places, least)]:
            is_read[place] = True
    rows = [asked.rows(place) for place, reads in enumerate(is_read) if reads and place not in behind]
    rest = [asked.rows(place) for place in behind] + ([] if log.tail is None else [log.tail])
    for place in behind:
        is_read[place] = True
    unread = [chunk for chunk, reads in zip(log.chunks, is_read, strict=True) if not reads]
    middle = tuple((policy_whole(query, chunk), None) for chunk in unread)
    return is_read, Reach((*rows, *rest), sum(map(len, rows)), middle)


class _Asked:
    """The keys of new rows, among those of a log."""

    def __init__(self, query: Spec, log: RowLog, new: Held) -> None:
        self._query, self._log = query, log
        self._keys, (numbers,) = shared_keys(query.by, [new.table])
        self._count = int(numbers.max()) + 1

    def rows(self, place: int) -> Held:
        """The rows of a chunk that are needed."""
        chunk, mask = self._log.chunks[place], self._log.masks[place]
        return chunk.rows if mask is None else chunk.rows.where(mask)

    def reads_first(self, places: Sequence[int], least: int) -> int:
        """How many chunks of a group must be read: so many, those up to the last with rows that are over, and
        the first of each key."""
        over = [k for k, place in enumerate(places) if self._log.masks[place] is not None]
        edge = found = min(len(places), max([least, *(k + 1 for k in over)]))
        if found == len(places):
            return found
        seen = set[int]().union(*(self._of_rows(place) for place in places[:edge]))
        passed = set[int]()
        for k in range(edge, len(places)):
            mine = self._of_whole(places[k])
            passed |= mine
            if not mine <= seen:
                found = k + 1
                seen |= passed
        return found

    def _of_rows(self, place: int) -> set[int]:
        table = self.rows(place).table
        if not self._query.by:
            return {0}
        _, (_, codes) = shared_keys(self._query.by, [self._keys, table])
        return set(np.unique(codes[codes < self._count]).tolist())

    def _of_whole(self, place: int) -> set[int]:
        whole = policy_whole(self._query, self._log.chunks[place])
        (codes,) = numbered(self._query.by, self._keys, [whole])
        return set(codes[codes < self._count].tolist())


def policy_middle(query: Spec, taken: Taken, reach: Reach) -> PolicyMiddle | None:
    """What lies between the rows of a frame, of keys that have new rows; None: nothing does."""
    if not reach.middle:
        return None
    frame = taken.frame
    count = len(frame.key_rows)
    keys, partials = by_key(query, frame.key_table(), count, reach)
    asked = np.flatnonzero(taken.firsts[keys] < frame.run_starts[1:][keys])
    keys, partials = keys[asked], partials.take(asked)
    seams = (frame.run_starts[:-1] + taken.leading_rows(reach.edge))[keys]
    record = record_of([name for name, _ in query.aggregates], "Partials")
    return PolicyMiddle(keys, seams, partials, record, count) if len(keys) else None
