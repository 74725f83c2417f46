"""The six operations of [MTA] experiment 3, and their slide policies.

All windows hold at most so many rows. Two evict more: *max* whatever is older than the (latest) maximum, and
*LIS* whatever is older than the (latest) longest rise, since neither can be in a result any more. The
longest increasing subsequence of the paper is taken as a run of neighbouring rows: that has partials of
constant size, as a monoid of the paper's kind needs.

A row is (time, value).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from windrow.monoids import geo_mean, max, mean, stddev, sum
from windrow.monoids.base import Monoid
from windrow.monoids.own import monoid
from windrow.swag.mta import Policy

__all__ = ["OPERATIONS", "Operation", "largest", "rising", "sized_like"]


class Largest(NamedTuple):
    """Rows, the time of the last one, the largest value and the time of its last occurrence."""

    rows: int
    last_time: int
    value: float
    at: int


def _largest(a: Largest, b: Largest) -> Largest:
    if not a.rows or not b.rows:
        return b if b.rows else a
    top = b if b.value >= a.value else a
    return Largest(a.rows + b.rows, b.last_time, top.value, top.at)


largest = monoid(
    name="largest",
    lift=lambda time, value: Largest(1, time, value, time),
    combine=_largest,
    lower=lambda a: a.value,
    identity=Largest(0, 0, 0.0, 0),
    empty=None,
    compile=False,
)


class Rise(NamedTuple):
    """Rows that rise one after the other: how many, and the times of the first and the last."""

    rows: int
    start: int
    end: int

    def before(self, other: Rise) -> Rise:
        """One rise that goes on in another."""
        return Rise(self.rows + other.rows, self.start, other.end)


class Rising(NamedTuple):
    """Rows, the values at both ends, the rises that touch them, and the longest one."""

    rows: int
    first: float
    last: float
    head: Rise
    tail: Rise
    best: Rise

    @property
    def last_time(self) -> int:
        return self.tail.end


def _lift_rising(time: int, value: float) -> Rising:
    rise = Rise(1, time, time)
    return Rising(1, value, value, rise, rise, rise)


def _rising(a: Rising, b: Rising) -> Rising:
    if not a.rows or not b.rows:
        return b if b.rows else a
    head, tail = a.head, b.tail
    best = b.best if b.best.rows >= a.best.rows else a.best
    if a.last < b.first:
        across = a.tail.before(b.head)
        head = across if a.head.rows == a.rows else head
        tail = across if b.tail.rows == b.rows else tail
        if across.rows > best.rows or (across.rows == best.rows and across.start > best.start):
            best = across
    return Rising(a.rows + b.rows, a.first, b.last, head, tail, best)


_NO_RISE = Rise(0, 0, 0)

rising = monoid(
    name="rising",
    lift=_lift_rising,
    combine=_rising,
    # [MTA] 5.6: initial and final time, interval, and number of updates
    lower=lambda a: (a.best.start, a.best.end, a.best.end - a.best.start, a.best.rows),
    identity=Rising(0, 0.0, 0.0, _NO_RISE, _NO_RISE, _NO_RISE),
    empty=None,
    compile=False,
)


class Sized(NamedTuple):
    """Rows, and the partial of another aggregate."""

    rows: int
    partial: Any


def sized_like(base: Monoid) -> Monoid:
    """An aggregate of the values that also counts rows, for the policy."""
    combine = base.combine
    return monoid(
        name=f"sized {base.name}",
        lift=lambda time, value: Sized(1, base.lift(value)),
        combine=lambda a, b: Sized(a.rows + b.rows, combine(a.partial, b.partial)),
        lower=lambda a: base.lower(a.partial),
        identity=Sized(0, base.identity),
        empty=None,
        compile=False,
    )


def at_most(limit: int) -> Policy:
    """Evict what is beyond ``limit`` rows."""
    return lambda total, old: total.rows - old.rows >= limit


def from_largest(limit: int) -> Policy:
    """Evict what is older than the maximum, too."""
    return lambda total, old: total.rows - old.rows >= limit or old.last_time < total.at


def from_longest(limit: int) -> Policy:
    """Evict what is older than the longest rise, too."""
    return lambda total, old: total.rows - old.rows >= limit or old.last_time < total.best.start


@dataclass(frozen=True)
class Operation:
    """An operation: its aggregate, its policy by the most rows, and windrow's own aggregate of that kind."""

    monoid: Monoid
    policy: Callable[[int], Policy]
    #: for windows of constant size
    compiled: Monoid


def _operations() -> dict[str, Operation]:
    from windrow.monoids import longest_run

    means = {"Sum": sum, "Mean": mean, "G. Mean": geo_mean, "Std. Dev.": stddev}
    found = {name: Operation(sized_like(base), at_most, base) for name, base in means.items()}
    found["Max"] = Operation(largest, from_largest, max)
    found["LIS"] = Operation(rising, from_longest, longest_run)
    return found


#: by the names of [MTA] table 2
OPERATIONS = _operations()
