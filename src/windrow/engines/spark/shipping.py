"""A query as bytes, for Python workers: :mod:`windrow.engines.spark.worker.query_bytes` reads them there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from windrow import monoids
from windrow.monoids.base import Monoid
from windrow.spec import Spec

__all__ = ["packed"]


def packed(query: Spec) -> bytes:
    """The query as bytes, functions of the user's own included."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    # only what workers need to know of a query: its class may be of the user's making
    plain = Spec(**{name: getattr(query, name) for name in Spec.__dataclass_fields__})
    aggregates = [(name, a.columns, a.where, _by_name(a.monoid)) for name, a in query.aggregates]
    return bytes(dumps((replace(plain, aggregates=()), aggregates)))


def _by_name(monoid: Monoid) -> Monoid | str:
    return monoid.name if getattr(monoids, monoid.name, None) is monoid else monoid
