"""Which algorithm an aggregate runs on, window by window: the questions that engines and ``explain`` put to
:func:`~windrow.swag.choose`.

Rows are in order of time when windows are aggregated, whatever order they came in, and engines work on
batches: throughput counts, and rows that leave one by one cost amortised O(1). Only a policy gives up any
number of rows at once.
"""

from __future__ import annotations

from windrow.monoids.base import Monoid
from windrow.spec import Rolling
from windrow.swag import Choice, choose
from windrow.windows import Window

__all__ = [
    "algorithm_run",
    "living_algorithm",
    "policy_algorithm",
    "rolling_algorithm",
    "window_algorithm",
]


def window_algorithm(monoid: Monoid, window: Window) -> Choice:
    """For the windows of one kind.

    >>> import windrow as wr
    >>> window_algorithm(wr.max("len").monoid, wr.Sliding("1h", slide="1m")).name
    'TwoStacksLite'
    >>> window_algorithm(wr.max("len").monoid, wr.Session("1h")).name
    'Recalc'
    """
    if window.is_per_row:
        return policy_algorithm(monoid)
    return choose(monoid, ranges="sliding" if window.overlaps else "disjoint")


def algorithm_run(monoid: Monoid, window: Window, compiles: bool) -> Choice:
    """The same as what runs: plain Python slides, and starts anew where windows do not overlap."""
    return window_algorithm(monoid, window) if compiles or window.is_per_row else choose(monoid)


def rolling_algorithm(monoid: Monoid, over: Rolling) -> Choice:
    """For one result per row."""
    return choose(monoid) if over.policy is None else policy_algorithm(monoid)


def living_algorithm(monoid: Monoid, by_policy: bool) -> Choice:
    """For rows that stay from push to push.

    >>> import windrow as wr
    >>> living_algorithm(wr.max("len").monoid, by_policy=False).name
    'FlatFAT'
    """
    return policy_algorithm(monoid) if by_policy else choose(monoid, lives=True)


def policy_algorithm(monoid: Monoid) -> Choice:
    """For windows by policy."""
    return choose(monoid, bulk=True)
