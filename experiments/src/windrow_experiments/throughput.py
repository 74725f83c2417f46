"""The time of a round (evict, insert, query) on average, and the size from which one way beats another.

Plain rounds call a window's own insert, evict and query on Python objects; native rounds are its ``roll``.
All algorithms of a comparison run in turn, and the least of several runs counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from windrow_experiments.measure import least_seconds
from windrow_experiments.operators import Operator

__all__ = ["break_even", "native_rounds", "plain_rounds", "round_microseconds"]

Algorithm = Callable[[Any], Any]
#: rounds, to be timed; how many there are
Rounds = tuple[Callable[[], Any], int]


def plain_rounds(algorithm: Algorithm, operator: Operator, size: int, rounds: int, seed: int) -> Rounds:
    """Rounds on a full window, which stays for the next run."""
    rows = operator.rows(size + rounds, seed)
    window = algorithm(operator.monoid)
    for values in rows[:size]:
        window.insert(*values)
    window.query()
    rows = rows[size:]

    def run() -> None:
        insert, evict, query = window.insert, window.evict, window.query
        for values in rows:
            evict()
            insert(*values)
            query()

    return run, rounds


def native_rounds(algorithm: Algorithm, operator: Operator, size: int, rounds: int, seed: int) -> Rounds:
    """The same through ``roll``; filling the window also loads its kernel."""
    window = algorithm(operator.monoid)
    window.roll(operator.batch(size + 1, seed), size)
    batch = operator.batch(rounds, seed + 1)
    out = window.roll(batch, size)
    return lambda: window.roll(batch, size, out=out), rounds


def round_microseconds(runs: Sequence[Rounds], repeats: int, patience: float = 0.0) -> list[float]:
    """Microseconds of a round in each of the runs; as often, and as long, as :func:`least_seconds` says."""
    seconds = least_seconds([run for run, _ in runs], repeats, patience)
    return [1e6 * taken / rounds for taken, (_, rounds) in zip(seconds, runs, strict=True)]


def break_even(ours: Mapping[int, float], theirs: Mapping[int, float], factor: float = 1.0) -> int | None:
    """The smallest size from which on ours is ``factor`` times as fast at all sizes; None if it never is.

    >>> break_even({1: 5.0, 2: 5.0, 4: 5.0, 8: 5.0}, {1: 6.0, 2: 3.0, 4: 5.0, 8: 9.0})
    4
    """
    found = None
    for size in sorted(ours, reverse=True):
        if ours[size] * factor > theirs[size]:
            break
        found = size
    return found
