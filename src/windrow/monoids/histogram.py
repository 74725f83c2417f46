"""How many values fall between edges: a list of counts.

``edges`` of n + 1 rising numbers make n bins, as in NumPy: each holds its lower edge and not its upper one,
but for the last bin, which holds both. Values outside, and NaN, are not counted.

The partial is a tuple of the counts. Its functions are written out for the number of bins, since native code
has no loop over a tuple; with more than ``MOST_NATIVE`` bins they run in plain Python.
Cost: O(bins) a combine.

>>> import windrow as wr
>>> window = wr.swag.DABA(wr.histogram(edges=[0, 10, 20]))
>>> for value in (3, 10, 20, 25):
...     window.insert(value)
>>> window.query()
(1, 2)
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from windrow.monoids.base import Monoid, itself
from windrow.monoids.required import without

__all__ = ["MOST_NATIVE", "histogram"]

#: bins: each adds to the time that compilation takes
MOST_NATIVE = 64

Counts = tuple[int, ...]


def _lift_text(bins: int) -> str:
    upper = ["<"] * (bins - 1) + ["<="]
    # counts have names: Numba does not take a choice inside a tuple of more than 30
    counts = [f"    c{k} = 1 if e{k} <= value {upper[k]} e{k + 1} else 0\n" for k in range(bins)]
    names = ", ".join(f"c{k}" for k in range(bins))
    return f"def lift(value):\n{''.join(counts)}    return ({names},)\n"


@functools.cache
def _functions(edges: tuple[float, ...]) -> dict[str, Any]:
    """lift, combine and inverse for these edges."""
    bins = range(len(edges) - 1)
    scope: dict[str, Any] = {"__name__": __name__, **{f"e{k}": edge for k, edge in enumerate(edges)}}
    exec(_lift_text(len(bins)), scope)
    exec(f"def combine(a, b):\n    return ({', '.join(f'a[{k}] + b[{k}]' for k in bins)},)\n", scope)
    exec(f"def inverse(a, b):\n    return ({', '.join(f'a[{k}] - b[{k}]' for k in bins)},)\n", scope)
    return scope


def _checked(edges: Any) -> tuple[float, ...]:
    try:
        given = tuple(getattr(edges, "tolist", lambda: edges)())
        found = tuple(each if isinstance(each, int) else float(each) for each in given)
    except (TypeError, ValueError):
        found = ()
    if len(found) < 2 or not all(low < high for low, high in itertools.pairwise(found)):
        raise ValueError(f"edges={edges!r}: give two or more rising numbers, as in edges=[0, 10, 60]")
    return found


def _make_histogram(edges: Any) -> Monoid:
    found = _checked(edges)
    functions: dict[str, Callable[..., Any]] = _functions(found)
    return Monoid(
        name="histogram",
        lift=functions["lift"],
        combine=functions["combine"],
        lower=itself,
        identity=(0,) * (len(found) - 1),
        inverse=functions["inverse"],
        commutative=True,
        result_type="list[int64]",
        compiles_for="biuf" if len(found) <= MOST_NATIVE + 1 else "",
        make=_make_histogram,
        parameters={"edges": found},
        doc=_DOC,
    )


_DOC = f"""How many values of a column of numbers fall between neighbours of ``edges``, as a list of counts.

    A bin holds its lower edge and not its upper one; the last holds both. Values outside are not counted, nor
    is NaN. Nulls are skipped, and without a value the result is null. Native up to {MOST_NATIVE} bins.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({{"t": [1, 2, 3, 11], "len": [5, 60, 7, 99]}})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(long=wr.histogram("len", [0, 6, 10, 60]))["long"].to_pylist()
    [[1, 1, 1], [0, 0, 0]]
    """

histogram = without(
    "edges",
    "histogram needs edges, numbers that rise: histogram('len', [0, 10, 60])",
    name="histogram",
    make=_make_histogram,
    identity=(),
    commutative=True,
    doc=_DOC,
)
