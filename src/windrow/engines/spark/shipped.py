"""A query on its way to a Python worker.

Spark sends a task's function to the worker anew for each task. The query goes inside it as bytes, and a
worker that has seen the same bytes before uses the query it has: monoids stay the same objects, and so their
kernels stay loaded from task to task. windrow's own aggregates go by name, so that queries share them, too.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from windrow import monoids
from windrow.monoids.base import Aggregate, Monoid
from windrow.spec import Spec

__all__ = ["packed", "unpacked"]


def packed(query: Spec) -> bytes:
    """The query as bytes, functions of the user's own included."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    # only what workers need to know of a query: its class may be of the user's making
    plain = Spec(**{name: getattr(query, name) for name in Spec.__dataclass_fields__})
    aggregates = [(name, a.columns, _by_name(a.monoid)) for name, a in query.aggregates]
    return bytes(dumps((replace(plain, aggregates=()), aggregates)))


def _by_name(monoid: Monoid) -> Monoid | str:
    return monoid.name if getattr(monoids, monoid.name, None) is monoid else monoid


@functools.lru_cache(maxsize=64)
def unpacked(payload: bytes) -> Spec:
    from pyspark import cloudpickle

    plain, aggregates = cloudpickle.loads(payload)
    assert isinstance(plain, Spec)
    found = [
        (name, Aggregate(getattr(monoids, known) if isinstance(known, str) else known, columns))
        for name, columns, known in aggregates
    ]
    return replace(plain, aggregates=tuple(found))
