"""Python workers that stay: Spark starts them once and gives them one task after the other.

After each task the worker collects garbage, in all that it has ever loaded: with Arrow, Numba and the kernels
that is more than most tasks of a stream cost (150 ms of 200 were measured), and the next task waits for it.
What is there after the first tasks is there to stay: it is set aside, and collections look at what has come
since. That is done when the next task begins. The garbage of those before has then been collected, by Spark,
and nobody has waited for it. Kernels that lie on disk are loaded at once, and others are interpreted until it
pays to compile them: the first micro-batch of a new installation waits for no compiler.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["Task", "engine_begins", "lasting", "task_begins"]

Task = Callable[[Iterable[Any]], Iterator[Any]]

#: tasks of a worker after which it has loaded what it needs
_FIRST = 8
_begun = 0


def task_begins() -> None:
    """To be called in a worker when a task begins."""
    global _begun
    _begun += 1
    if 1 < _begun <= _FIRST + 1:
        gc.freeze()


def engine_begins() -> None:
    """To be called before a task loads the engine."""
    from windrow.compile.compile_when_it_pays import load_from_disk_at_once

    load_from_disk_at_once()


def lasting(task: Task) -> Task:
    """A task for ``mapInArrow`` after which the worker is ready for the next one soon."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        task_begins()
        engine_begins()
        yield from task(batches)

    return run
