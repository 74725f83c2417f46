"""Whether a slide policy is monotone, tried on samples: true of a prefix of a window, it must be true of
every shorter one. Only then do bulk eviction and a search for the longest prefix agree ([MTA] 4.1.3)."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.together import part_of, product_of, record_of

__all__ = ["counter_example", "shared_partials"]

#: rows of the longest window that is tried: each has as many prefixes as rows
_LONGEST = 24


def shared_partials(aggregates: Mapping[str, Aggregate]) -> Monoid:
    """Make the monoid whose partials a policy reads by name, of rows as dicts."""

    def values(aggregate: Aggregate, row: tuple[Any, ...]) -> tuple[Any, ...]:
        passes = aggregate.where is None or row[0][aggregate.where]
        inputs = tuple(row[0][column] for column in aggregate.columns)
        return inputs or (True,) if passes else (None,) * max(len(inputs), 1)

    parts = [part_of(a.monoid, functools.partial(values, a), _called) for a in aggregates.values()]
    return product_of("policy", parts, record_of(list(aggregates), "Partials"))


def _called(_: Monoid, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def counter_example(
    evicts: Callable[[Any, Any], bool], monoid: Monoid, rows: Sequence[Any], cases: int
) -> tuple[int, tuple[list[Any], int, int] | None]:
    """Look for a window of which a policy gives up a prefix and not a shorter one, the shortest first: return
    how many prefixes were tried, and its rows with the lengths of both prefixes."""
    tried = 0
    for window in _windows(rows, cases):
        partials = [monoid.lift(row) for row in window]
        prefixes = list(itertools.accumulate(partials, monoid.combine))
        kept_at: int | None = None
        for length, prefix in enumerate(prefixes, 1):
            tried += 1
            if not evicts(prefixes[-1], prefix):
                kept_at = length if kept_at is None else kept_at
            elif kept_at is not None:
                return tried, (window, length, kept_at)
        if tried >= cases:
            break
    return tried, None


def _windows(rows: Sequence[Any], cases: int) -> Iterator[list[Any]]:
    """Neighbours, the fewest first; then rows in other orders, the same in every run."""
    for size in range(1, min(len(rows), _LONGEST) + 1):
        for begin in range(min(len(rows) - size + 1, 50)):
            yield list(rows[begin : begin + size])
    order = random.Random(0)
    for _ in range(cases if rows else 0):
        yield [rows[order.randrange(len(rows))] for _ in range(order.randint(1, _LONGEST))]
