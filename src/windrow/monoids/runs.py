"""The longest run: how many consecutive rows rise strictly ([MTA] experiment 3).

A partial must know more than its longest run, since a run may cross the border of two partials: the values at
both ends and the runs that touch them. NaN is neither above nor below anything, so it ends a run (and is one
of length 1). Rows with nulls are not there: the rows before and after are neighbours.

Cost: O(1) a combine, compiled for numbers.

>>> import windrow as wr
>>> wr.swag.DABA(wr.longest_run).roll([1, 2, 3, 1, 2], size=4)
[1, 2, 3, 3, 2]
"""

from __future__ import annotations

from typing import Any

from windrow.monoids.base import Monoid

__all__ = ["longest_run"]

#: rows, first value, last value, the run at the front, the run at the back, the longest one
Run = tuple[int, Any, Any, int, int, int]


def _lift(value: Any) -> Run:
    return 1, value, value, 1, 1, 1


def _combine(a: Run, b: Run) -> Run:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    prefix, suffix = a[3], b[4]
    best = a[5] if a[5] > b[5] else b[5]
    if a[2] < b[1]:  # the run at the back of a goes on in b
        crossing = a[4] + b[3]
        best = best if best > crossing else crossing
        prefix = crossing if a[3] == a[0] else prefix
        suffix = crossing if b[4] == b[0] else suffix
    return a[0] + b[0], a[1], b[2], prefix, suffix, best


def _lower(a: Run) -> int:
    return a[5]


longest_run = Monoid(
    name="longest_run",
    lift=_lift,
    combine=_combine,
    lower=_lower,
    # the two values are never read while there are no rows
    identity=(0, 0, 0, 0, 0, 0),
    result_type="int64",
    doc="""How many consecutive rows rise strictly, at most: the length of the longest run.

    Rows with a null are not there, so that the rows around them are neighbours; without a value the result is
    null. NaN ends a run, and is a run of length 1.

    >>> import pyarrow as pa, windrow as wr
    >>> load = pa.table({"t": [1, 2, 3, 4], "load": [5, 6, 8, 2]})
    >>> wr.events(load, time="t").window(wr.Tumbling(10)).agg(run=wr.longest_run("load"))["run"].to_pylist()
    [3]
    """,
)
