"""A query as a Python worker gets it.

Spark sends a task's function to the worker anew for each task. The query goes inside it as bytes, and a
worker that has seen the same bytes before uses the query it has: monoids stay the same objects, and so their
kernels stay loaded from task to task. windrow's own aggregates go by name, so that queries share them, too.
"""

from __future__ import annotations

import functools
import pickle
from dataclasses import replace

from windrow import monoids
from windrow.monoids.base import Aggregate
from windrow.spec import Spec

__all__ = ["unpacked"]


@functools.lru_cache(maxsize=64)
def unpacked(payload: bytes) -> Spec:
    plain, aggregates = pickle.loads(payload)
    assert isinstance(plain, Spec)
    found = [
        (name, Aggregate(getattr(monoids, known) if isinstance(known, str) else known, *bound))
        for name, *bound, known in aggregates
    ]
    return replace(plain, aggregates=tuple(found))
