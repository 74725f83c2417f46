"""What policies must see of the rows that are held: the oldest one by one, the others as partials by key.

A policy lets go of the oldest rows of a key. Of a log with full chunks it is known how many rows of each key
are needed. So it is walked from its newest chunk back (:mod:`windrow.engines.kept_rows.reading`): partials
are taken (:mod:`windrow.engines.kept_rows.key_partials`) up to the chunk that has the oldest row of the key,
and of that chunk its rows. Rows in short chunks, in the tail, and in logs of few rows are at hand.

Cost: for each key a chunk, and O(log chunks) wholes. Once windows begin behind what was read, more is read,
twice as much each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from windrow.arrays import Ints
from windrow.engines.data_windows.policy import folded_runs
from windrow.engines.data_windows.policy_partial import PolicyMiddle
from windrow.engines.kept_rows.chunk import fewest_rows
from windrow.engines.kept_rows.context import RowsWithContext, arrived
from windrow.engines.kept_rows.group_reads import BEHIND, GroupReads, Part, parts_of
from windrow.engines.kept_rows.key_partials import KeyPartials
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.reading import Read, Walk, WantedKeys
from windrow.engines.kept_rows.row_table import Held
from windrow.engines.kept_rows.shared_partial import by_key
from windrow.monoids.together import record_of
from windrow.rows.frame import build_frame
from windrow.spec import Spec

__all__ = ["fold_for_policy", "look_for_policy", "policy_middle"]


def fold_for_policy(query: Spec, rows: Held) -> KeyPartials:
    """Rows folded by key, as policies see them."""
    frame = arrived(build_frame(replace(query, order=()), rows.table), rows.arrivals)
    return KeyPartials(frame.key_table(), folded_runs(query, frame))


def look_for_policy(
    query: Spec, logs: Mapping[int, RowLog], new: Held, least: int, is_grouped: bool
) -> GroupReads:
    """For new rows; of each key at least so many of the oldest rows are read, and one for each new row.
    ``is_grouped``: the log that is in no group lies behind the others, as its tail does."""
    asked = WantedKeys.of(query, new)
    many = least + asked.counts_in(new)  # a policy often lets go of as many rows as come
    found = GroupReads(logs, ())
    rest: tuple[Part, ...] = ()
    for group, log in logs.items():
        if group == BEHIND and is_grouped:
            rest = tuple(parts_of(group, log))
        else:
            mine = _of_log(asked, group, log, many)
            found = replace(
                found,
                before=found.before + mine.before,
                behind=found.behind + mine.behind,
                middle=found.middle + mine.middle,
            )
    return replace(found, behind=found.behind + rest)


def _of_log(asked: WantedKeys, group: int, log: RowLog, least: Ints) -> GroupReads:
    places = [place for place, chunk in enumerate(log.chunks) if chunk.count >= fewest_rows()]
    if log.counts is None or not places or log.is_worth_rewriting(log.needed_rows):
        return GroupReads({}, tuple(parts_of(group, log)))
    last = places[-1] + 1
    short = parts_of(group, log, range(last, len(log.chunks)))
    held = log.counts.of_keys(asked.query.by, asked.keys, asked.count) - asked.counts_in(log.tail)
    behind = sum((asked.counts_in(part.rows) for part in short), np.zeros(asked.count, np.int64))
    walk = Walk(asked, log, behind, held - least, held, lambda rows: fold_for_policy(asked.query, rows))
    walk.run(last)
    before = (Part(group, place, rows, log.chunks[place].rows.take(rows)) for place, rows in walk.edge[::-1])
    return GroupReads({}, tuple(before), tuple(short), tuple(walk.middle[::-1]))


def policy_middle(query: Spec, taken: RowsWithContext, reach: Read) -> PolicyMiddle | None:
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
