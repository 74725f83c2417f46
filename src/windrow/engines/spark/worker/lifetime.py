"""Python workers that stay: Spark starts them once and gives them one task after the other.

After each task the worker collects garbage, in all that it has ever loaded: with Arrow, Numba and the kernels
that is more than most tasks of a stream cost (150 ms of 200 were measured), and the next task waits for it.
What is there when the first tasks have ended is there to stay: it is set aside, and collections look at what
has come since.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["Task", "lasting", "task_ended"]

Task = Callable[[Iterable[Any]], Iterator[Any]]

#: tasks of a worker after which it has loaded what it needs
_FIRST = 8
_ended = 0


def task_ended() -> None:
    """To be called in a worker when a task has ended."""
    global _ended
    _ended += 1
    if _ended <= _FIRST:
        gc.collect()  # which Spark would do now; garbage must not be set aside
        gc.freeze()


def lasting(task: Task) -> Task:
    """A task for ``mapInArrow`` after which the worker is ready for the next one soon."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        yield from task(batches)
        task_ended()

    return run
