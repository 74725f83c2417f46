"""The loop of all windows over kept values: each value enters a structure once and leaves it once.

A family gives three functions over its own state: ``add`` and ``remove`` a value with its count, and
``answer`` a window. Removing undoes adding, oldest first, so that nothing need be cleared between windows.
At the end the state is what it was in the beginning.

Windows are cut into pieces for threads (:mod:`windrow.partials.range_pieces`); each thread has a state.

Cost: one add and one remove per value while neither fronts nor stops fall; a window that begins before the
last one, ends before it, or shares nothing with it starts anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.compile.native import build, jit_for
from windrow.compile.pieces import run_in_pieces
from windrow.partials.range_pieces import range_pieces, widest_range
from windrow.threads import in_threads, piece_size

__all__ = ["in_groups", "slide", "slide_in_pieces"]

_Function = Callable[..., Any]


def _count(counts: Any, i: int) -> Any:
    return 1 if counts is None else counts[i]


def _driver(jit: Any, add: Any, remove: Any, answer: Any) -> Any:
    count = jit(_count)

    @jit
    def process(
        state: Any, values: Any, counts: Any, fronts: Any, stops: Any, out: Any, reached: Any, units: int
    ) -> bool:
        window, first, last = reached[0], reached[1], reached[2]
        done = 0
        while window < fronts.shape[0] and done < units:
            front, stop = fronts[window], stops[window]
            if front < stop:
                if front >= last or front < first or stop < last:
                    done += last - first
                    for i in range(first, last):
                        remove(state, values[i], count(counts, i))
                    first = last = front
                done += stop - last + front - first
                for i in range(last, stop):
                    add(state, values[i], count(counts, i))
                for i in range(first, front):
                    remove(state, values[i], count(counts, i))
                first, last = front, stop
                answer(state, window, front, stop, out)
            done += 1
            window += 1
        is_done = window == fronts.shape[0]
        if is_done:
            for i in range(first, last):
                remove(state, values[i], count(counts, i))
            first = last
        reached[0], reached[1], reached[2] = window, first, last
        return is_done

    return process


_built: dict[Any, Any] = {}


def slide(
    functions: tuple[_Function, _Function, _Function],
    state: tuple[Any, ...],
    values: Any,
    counts: Ints | None,
    windows: tuple[Ints, Ints],
    out: Any,
) -> None:
    """Answer the windows [front, stop) over values by ``functions`` (add, remove, answer); those that hold
    nothing are left out."""
    arguments = (state, values, counts, *windows, out, np.zeros(3, np.int64))
    process = _compiled(functions, arguments)
    run_in_pieces(lambda units: process(*arguments, units))


def _compiled(functions: tuple[_Function, _Function, _Function], arguments: tuple[Any, ...]) -> Any:
    state, values, counts = arguments[:3]
    key = (functions, counts is None, values.dtype, *(a.dtype for a in state if hasattr(a, "dtype")))
    if key not in _built:
        jit = jit_for(checked=False)
        _built[key] = build(_driver, jit, *map(jit, functions), arguments=(*arguments, 1))
    return _built[key]


def slide_in_pieces(
    functions: tuple[_Function, _Function, _Function],
    new_state: Callable[[], tuple[Any, ...]],
    values: Any,
    counts: Ints | None,
    windows: tuple[Ints, Ints],
    out: Any,
    offsets: Ints | None = None,
) -> None:
    """The same for windows in pieces, in threads. Results of a window are in ``out`` at its number, or, where
    it may have several, from its place in ``offsets`` on, which is then the last part of the state."""
    free: list[tuple[Any, ...]] = []

    def answer(piece: slice) -> None:
        try:
            state = free.pop()
        except IndexError:
            state = new_state()
        chosen = windows[0][piece], windows[1][piece]
        if offsets is None:
            slide(functions, state, values, counts, chosen, out[piece])
        else:
            slide(functions, (*state, offsets[piece.start :]), values, counts, chosen, out)
        free.append(state)

    pieces = range_pieces(*windows, widest_range(*windows), overlap=True)
    if len(pieces) > 1:
        answer(slice(0, 0))  # compiles, before threads do
    in_threads(answer, pieces)


@kernel
def _next_group(fronts: Ints, stops: Ints, first: int, most: int) -> tuple[int, int, int]:
    """Where the group of windows that begins at ``first`` ends, and the values that it spans."""
    low, high, window = fronts[first], stops[first], first + 1
    while window < len(fronts):
        lower, higher = min(low, fronts[window]), max(high, stops[window])
        if higher - lower > most:
            break
        low, high, window = lower, higher, window + 1
    return window, low, high


def in_groups(answer: Callable[[slice, int, int], None], windows: tuple[Ints, Ints], least: int) -> None:
    """Call a function with each of the :func:`groups`, in threads if there are many values."""
    found = list(groups(*windows, least))
    if sum(high - low for _, low, high in found) <= piece_size():
        for each in found:
            answer(*each)
        return
    answer(slice(0, 0), 0, 0)  # compiles, before threads do
    in_threads(lambda each: answer(*each), found)


def groups(fronts: Ints, stops: Ints, least: int) -> Iterator[tuple[slice, int, int]]:
    """Neighbouring windows in groups, each with the values [low, high) that it spans: about ``least``, or
    four times the widest window. What is sorted per group then fits a processor's cache.

    >>> list(groups(np.array([0, 2, 4, 6]), np.array([2, 4, 6, 8]), least=5))
    [(slice(0, 4, None), 0, 8)]
    """
    most = max(least, 4 * int((stops - fronts).max(initial=0)))
    first = 0
    while first < len(fronts):
        stop, low, high = _next_group(fronts, stops, first, most)
        yield slice(first, stop), low, high
        first = stop
