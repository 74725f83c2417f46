"""The arrays that everything else is written in: columns of integers, of numbers and of flags.

Times are int64: microseconds since 1970-01-01 UTC, or plain integers. ``START_OF_TIME`` and ``END_OF_TIME``
lie outside all times that a row may have, so that they serve as "never" and leave room for a window's size.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["END_OF_TIME", "START_OF_TIME", "Floats", "Ints", "Mask"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: beyond every time that a row may have
END_OF_TIME = 2**62
START_OF_TIME = -END_OF_TIME
