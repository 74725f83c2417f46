"""What a user's aggregate raises inside an operator: the error names the aggregate, the key and the rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from windrow.engines.stream.keys import Keys
from windrow.engines.times import TimeAxis
from windrow.slicing.slices import CombineRaised
from windrow.swag.base import AggregateError

__all__ = ["naming_keys"]


@contextmanager
def naming_keys(keys: Keys, axis: TimeAxis | None) -> Iterator[None]:
    """Errors from slices, which know keys by number, are told with the key itself."""
    try:
        yield
    except CombineRaised as raised:
        raise AggregateError(_told(raised, keys, axis)) from raised.error


def _told(raised: CombineRaised, keys: Keys, axis: TimeAxis | None) -> str:
    if raised.key is None or axis is None:
        return str(raised)
    first, last = axis.column(np.array([raised.first, raised.last]))
    rows = f"the rows at {first}" if raised.first == raised.last else f"the rows from {first} to {last}"
    values = [column[0].as_py() for column in keys.columns(np.array([raised.key])).values()]
    key = f" of key {values[0] if len(values) == 1 else tuple(values)!r}" if values else ""
    error = raised.error
    return f"aggregate {raised.aggregate!r} raised {type(error).__name__} at {rows}{key}: {error}"
