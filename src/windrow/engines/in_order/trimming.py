"""A log without the rows that no later row needs, chunk by chunk."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

import numpy as np

from windrow.engines.in_order.context import Taken
from windrow.engines.in_order.held_rows import Held
from windrow.engines.in_order.log import RowLog
from windrow.engines.in_order.summaries import distinct_keys, numbered
from windrow.rows.frame import build_frame
from windrow.spec import Spec

__all__ = ["after_time", "without_dead_chunks"]


def after_time(log: RowLog, tail: Held | None, bound: int) -> RowLog:
    """With another tail, without chunks that end by a time."""
    log = log.without_first(bisect_right(log.chunks, bound, key=lambda chunk: chunk.last))
    if tail is not None and not log.chunks:
        tail = tail.where(tail.times > bound)
    return log.with_tail(tail)


def without_dead_chunks(query: Spec, count: int, log: RowLog) -> RowLog:
    """Without the oldest chunks that have none of the last ``count`` rows of any key. Where rows of rare keys
    hold chunks back until most of the log is not needed, it is written anew: so each row is written O(1)
    times. The log has no tail; only row counts of wholes are read."""
    wholes = [log.whole(query, *node) for node in log.cover(log.first, log.end)]
    keys, codes = distinct_keys(query.by, wholes)
    counts = np.concatenate([whole.counts for whole in wholes])
    held = np.bincount(codes, counts, minlength=1).astype(np.int64)
    if log.is_worth_rewriting(int(np.minimum(held, count).sum())):
        return _last_of_each_key(query, count, log)
    dead = 0
    while dead < len(log.chunks) - 1:
        whole = log.whole(query, log.first + dead, 0)
        (mine,) = numbered(query.by, keys, [whole])
        held[mine] -= whole.counts
        if (held[mine] < count).any():
            break
        dead += 1
    return log.without_first(dead)


def _last_of_each_key(query: Spec, count: int, log: RowLog) -> RowLog:
    rows = log.all()
    assert rows is not None
    taken = Taken(build_frame(replace(query, order=()), rows.table), rows, 0)
    runs = taken.frame.run_starts
    places = taken.from_each(np.maximum(runs[:-1], runs[1:] - count))
    return log.rewritten(rows.take(places))
