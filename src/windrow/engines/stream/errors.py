"""What a user's aggregate raises inside an operator: the error names the aggregate, the key and the rows."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np

from windrow.errors import Raised, naming, rows_named
from windrow.rows.keys import Keys
from windrow.rows.times import TimeAxis

__all__ = ["naming_keys"]


def naming_keys(keys: Keys, axis: TimeAxis | None) -> AbstractContextManager[None]:
    """Errors from slices, which know keys by number, name the key itself."""

    def rows(raised: Raised) -> str | None:
        if raised.span is None or axis is None:
            return None
        key, *times = raised.span
        first, last = axis.column(np.array(times))
        values = [column[0].as_py() for column in keys.columns(np.array([key])).values()]
        return rows_named(first, last, values)

    return naming(rows)
