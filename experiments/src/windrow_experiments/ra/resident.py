"""A process that keeps one window and prints its largest resident memory.

python -m windrow_experiments.ra.resident FlatFAT stddev 4096
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["main"]

_BATCH = 4096


def main(algorithm: str, aggregate: str, size: int) -> int:
    """Fill a window natively, let another batch go through it, and give kilobytes (Linux)."""
    import numpy as np

    import windrow as wr

    window = getattr(wr.swag, algorithm)(getattr(wr, aggregate))
    batch = np.arange(1, 1 + _BATCH, dtype="i4")
    for _ in range(-(-size // _BATCH) + 1):
        window.roll(batch, size)
    # not ru_maxrss, which a process takes over from the one that started it
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
