"""In which bucket a key is: the same on every machine and in every run, since its state is there.

A key's code (:mod:`windrow.rows.stable_codes`) is made here, once a chunk, and not by Spark, once a row: that
column would have to cross to Python with the others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.rows.stable_codes import stable_codes

__all__ = ["SPREAD", "places_of"]

#: the version of this way to spread keys; another one would look for them in the wrong bucket
SPREAD = 1


def places_of(keys: pa.Table, count: int) -> npt.NDArray[np.int64]:
    """The place of each row's key among so many buckets; without columns there is no row.

    >>> places_of(pa.table({"key": ["a", "b", None, "a"]}), 8).tolist()
    [7, 4, 0, 7]
    """
    return (stable_codes(keys) % np.uint64(count)).astype(np.int64)
