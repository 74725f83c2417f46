"""The type of a result before there is one.

Native aggregates have the type of their kernel. What built-in ones that run in plain Python give is seen from
a row made up for the purpose. A user's functions see no such rows: the type of their results, unless
``result_type=`` says it, is known with the first of them.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.engines.local import run
from windrow.monoids.base import Aggregate
from windrow.rows.columns import plain_type
from windrow.spec import Spec
from windrow.windows import Rows

__all__ = ["result_type"]


def result_type(aggregate: Aggregate, schema: pa.Schema) -> Any:
    """The Arrow type of the results; null: it is not known.

    >>> import windrow as wr
    >>> result_type(wr.collect("who"), pa.schema([("who", pa.string())]))
    ListType(list<item: string>)
    """
    samples = {name: _sample(schema.field(name).type) for name in aggregate.columns}
    if not aggregate.monoid.builtin or any(sample is None for sample in samples.values()):
        return pa.null()
    time = next(name for name in ("t", *map(str, range(len(samples)))) if name not in samples)
    query = Spec(time=time, windows=(("", Rows(1)),), aggregates=(("result", aggregate),))
    try:
        return run(query, pa.table({time: [0], **samples})).schema.field("result").type
    except Exception:  # what it is made of may be a user's, or not take such a value
        return pa.null()


def _sample(kind: Any) -> Any:
    """A column of one value; None: of this type there is none at hand."""
    kind = plain_type(kind)
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return pa.array(["a"], kind)
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return pa.array([b"a"], kind)
        return pa.array([1], pa.int64()).cast(kind) if not pa.types.is_null(kind) else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
