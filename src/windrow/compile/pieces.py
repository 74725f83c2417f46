"""Native loops in pieces, so that Python sees signals (Ctrl-C) between two of them.

A compiled loop is deaf to signals until it returns. So loops whose length is not bounded run a piece at a
time: they take how many units of work (rows, windows) they may do, and keep where they are in arrays. A piece
grows while it is short and shrinks when it is long, whatever a unit costs: a slow combine of a user's makes
pieces smaller, not longer.

Invariant: what comes out does not depend on how a loop is cut into pieces. Cost: a call of a compiled
function, a few microseconds, for about a tenth of a second of work.

Loops that pass once over rows with a few instructions per row (sorting by key, cutting slices, rolling by
time, sessions) stay in one call: they do 50 million rows a second and more, and so does NumPy's own sorting
beside them, which cannot be interrupted either. A flip of Two-Stacks is one step, too: a pass over a window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import starmap
from time import perf_counter
from typing import Any

from windrow.threads import stop_if_cancelled

__all__ = ["FIRST", "call_whole", "pieces", "run_in_pieces"]

#: units of work in the first piece, and in the longest
FIRST = 1 << 10
LONGEST = 1 << 22
#: seconds; pieces that take less grow, and those that take more shrink
_SHORT, _LONG = 0.03, 0.12


def run_in_pieces(run: Callable[[int], Any]) -> int:
    """Call ``run(units)``, which does at most about so many units of work, until it says that all is done;
    how many pieces that took.

    >>> work = iter(range(3000))
    >>> run_in_pieces(lambda units: len([each for each, _ in zip(work, range(units))]) < units)
    2
    """
    units, count = FIRST, 1
    began = perf_counter()
    while not run(units):
        stop_if_cancelled()
        ended = perf_counter()
        units = _adapted(units, ended - began)
        began, count = ended, count + 1
    return count


def pieces(count: int, cost: int = 1) -> Iterator[tuple[int, int]]:
    """Ranges [first, stop) of ``count`` things, one after the other, for what needs nothing carried over;
    ``cost``: units of work that each is at most, about.

    >>> next(pieces(1500)), next(pieces(1500, cost=512))
    ((0, 1024), (0, 2))
    """
    units, first = FIRST, 0
    while first < count:
        stop = min(count, first + max(1, units // max(cost, 1)))
        began = perf_counter()
        yield first, stop
        stop_if_cancelled()
        units = _adapted(units, perf_counter() - began)
        first = stop


def _adapted(units: int, seconds: float) -> int:
    if 16 * seconds < _SHORT:  # so that 200,000 rows take three calls, not five
        return min(16 * units, LONGEST)
    if seconds < _SHORT:
        return min(4 * units, LONGEST)
    return max(units // 4, 1) if seconds > _LONG else units


def call_whole(function: Callable[..., Any], arguments: tuple[Any, ...], results: list[Any]) -> None:
    """Call a function and put its result into a list in one step, which no signal comes between: what a
    compiled function has changed in place and what it returned belong together.

    >>> results = []
    >>> call_whole(divmod, (7, 2), results)
    >>> results
    [(3, 1)]
    """
    results.extend(starmap(function, (arguments,)))
