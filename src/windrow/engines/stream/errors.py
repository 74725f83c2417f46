"""What a user's aggregate raises inside an operator: the error names the aggregate, the key and the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from windrow.errors import Raised, rows_named
from windrow.rows.keys import Keys
from windrow.rows.times import TimeAxis

__all__ = ["naming_keys"]


_T = TypeVar("_T")


def naming_keys(keys: Keys, axis: TimeAxis | None, step: Callable[[], _T]) -> _T:
    """What a step gives. Errors from slices, which know keys by number, name the key itself."""
    try:
        return step()
    except Raised as raised:
        if raised.span is None or axis is None:
            raise
        key, *times = raised.span
        first, last = axis.column(np.array(times))
        values = [column[0].as_py() for column in keys.columns(np.array([key])).values()]
        raise raised.named(rows_named(first, last, values)) from raised.error
