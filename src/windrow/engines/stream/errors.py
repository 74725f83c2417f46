"""What a user's aggregate raises inside an operator: the error names the aggregate, the key and the rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from windrow.engines.stream.keys import Keys
from windrow.errors import CombineRaised
from windrow.rows.times import TimeAxis

__all__ = ["naming_keys"]


@contextmanager
def naming_keys(keys: Keys, axis: TimeAxis | None) -> Iterator[None]:
    """Errors from slices, which know keys by number, are told with the key itself."""
    try:
        yield
    except CombineRaised as raised:
        if raised.key is None or axis is None:
            raise
        first, last = axis.column(np.array([raised.first, raised.last]))
        values = [column[0].as_py() for column in keys.columns(np.array([raised.key])).values()]
        raise raised.located(first, last, values) from raised.error
