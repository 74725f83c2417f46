"""A log without the rows that no later row needs, chunk by chunk."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from windrow.arrays import Ints
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.kept_rows.key_partials import distinct_keys, numbered
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.row_table import Held
from windrow.rows.frame import build_frame
from windrow.spec import Spec

__all__ = ["AfterTime", "LastRows", "Trim", "after_time", "without_dead_chunks"]


class Trim(Protocol):
    """Which rows of a group of keys are over."""

    def rows(self, rows: Held) -> Held:
        """Of all rows of a group those that are not."""
        ...

    def log(self, log: RowLog) -> RowLog:
        """The log of a group without chunks that are."""
        ...


@dataclass(frozen=True)
class AfterTime:
    """Rows up to a time are over."""

    bound: int

    def rows(self, rows: Held) -> Held:
        return rows.where(rows.times > self.bound)

    def log(self, log: RowLog) -> RowLog:
        return log.without_first(bisect_right(log.chunks, self.bound, key=lambda chunk: chunk.last))


@dataclass(frozen=True)
class LastRows:
    """All but the last ``count`` rows of each key are over."""

    query: Spec
    count: int

    def rows(self, rows: Held) -> Held:
        return rows.take(_last_places(self.query, self.count, rows))

    def log(self, log: RowLog) -> RowLog:
        return without_dead_chunks(self.query, self.count, log).without_tail()


def after_time(log: RowLog, bound: int) -> RowLog:
    """Without chunks that end by a time; of a log without others, without rows up to it."""
    log, tail = AfterTime(bound).log(log), log.tail
    if tail is None or log.chunks:
        return log
    return log.with_tail(tail.where(tail.times > bound))


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
    return log.rewritten(rows.take(_last_places(query, count, rows)))


def _last_places(query: Spec, count: int, rows: Held) -> Ints:
    """Where the last rows of each key lie, in order of time."""
    taken = RowsWithContext(build_frame(replace(query, order=()), rows.table), rows, 0)
    runs = taken.frame.run_starts
    return taken.from_each(np.maximum(runs[:-1], runs[1:] - count))
