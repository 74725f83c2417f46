"""Memory that is freed and soon needed again: arrays of some megabytes, anew in every query or push.

glibc gives large blocks back to the system at once, and a fresh one costs a page fault for every 4 kB, often
more than what is computed in it. It does so with blocks larger than any that was freed before, up to 32 MB,
and keeps at most twice as much: that is its own rule, and what it is told here is only where it would end up
in any program with arrays of 32 MB.
"""

from __future__ import annotations

import functools

import numpy as np

__all__ = ["keep_freed_memory"]

#: the largest block that glibc learns from, without what it adds itself
_LARGEST = (1 << 25) - (1 << 16)


@functools.cache
def keep_freed_memory() -> None:
    """Free a block that was never touched, once in a process. Where ``MALLOC_`` variables say otherwise, or
    with another C library, that changes nothing."""
    np.empty(_LARGEST, np.uint8)
