"""The live end of an endless column: what a window may still look back at, by absolute position.

Positions count the rows of a partition from 0 and never come back. ``forget`` says that nothing before a
position is needed any more. Cost: amortised O(1) per value; memory at most four times what is live.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["ArrowTail", "Tail"]

_SMALLEST = 1 << 12


class Tail:
    """Numbers from position ``first`` on.

    >>> tail = Tail(np.int64)
    >>> tail.append(np.array([5, 6, 7]))
    >>> tail.forget(1)
    >>> tail.first, tail.values.tolist()
    (1, [6, 7])
    """

    def __init__(self, dtype: Any, first: int = 0) -> None:
        self._buffer = np.empty(_SMALLEST, dtype)
        self._start = 0
        self._stop = 0
        self.first = first

    @property
    def values(self) -> np.ndarray[Any, Any]:
        return self._buffer[self._start : self._stop]

    def append(self, values: np.ndarray[Any, Any]) -> None:
        live, wanted = self.values, len(self.values) + len(values)
        if self._stop + len(values) > len(self._buffer):
            roomy = len(self._buffer) >= 2 * wanted
            buffer = self._buffer if roomy else np.empty(4 * wanted, self._buffer.dtype)
            buffer[: len(live)] = live
            self._buffer, self._start, self._stop = buffer, 0, len(live)
        self._buffer[self._stop : self._stop + len(values)] = values
        self._stop += len(values)

    def forget(self, before: int) -> None:
        """Nothing before this position is needed any more."""
        gone = min(max(before - self.first, 0), self._stop - self._start)
        self._start += gone
        self.first += gone


class ArrowTail:
    """The same for a column of any Arrow type.

    >>> tail = ArrowTail(pa.string())
    >>> tail.append(pa.array(["a", "b"]))
    >>> tail.take(np.array([1, 0])).to_pylist()
    ['b', 'a']
    """

    def __init__(self, kind: Any) -> None:
        self._column = pa.chunked_array([], kind)
        self._first = 0

    def append(self, array: Any) -> None:
        self._column = pa.chunked_array([*self._column.chunks, array], self._column.type)

    def forget(self, before: int) -> None:
        gone = min(max(before - self._first, 0), len(self._column))
        self._column = self._column.slice(gone)
        self._first += gone

    def take(self, positions: np.ndarray[Any, Any]) -> Any:
        """The values at these positions; any value where a position is not live."""
        places = np.clip(positions - self._first, 0, max(len(self._column) - 1, 0))
        if self._column.num_chunks > 1:
            self._column = pa.chunked_array([self._column.combine_chunks()])
        if self._column.num_chunks == 0:
            return pa.nulls(len(positions), self._column.type)
        return self._column.chunk(0).take(pa.array(places))
