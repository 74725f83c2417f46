"""A query on its way to a Python worker.

Spark sends a task's function to the worker anew for each task. The query goes inside it as bytes, and a
worker that has seen the same bytes before uses the query it has: monoids stay the same objects, and so their
kernels stay loaded from task to task.
"""

from __future__ import annotations

import functools
from typing import Any

from windrow.spec import Spec

__all__ = ["packed", "unpacked"]


def packed(query: Spec) -> bytes:
    """The query as bytes, functions of the user's own included."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    # only what workers need to know of a query: its class may be of the user's making
    plain = Spec(**{name: getattr(query, name) for name in Spec.__dataclass_fields__})
    return bytes(dumps(plain))


@functools.lru_cache(maxsize=64)
def unpacked(payload: bytes) -> Spec:
    from pyspark import cloudpickle

    query: Any = cloudpickle.loads(payload)
    assert isinstance(query, Spec)
    return query
