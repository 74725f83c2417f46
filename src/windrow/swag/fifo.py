"""FIFO algorithms with two forms of the same steps: plain Python for single operations, native code for
batches.

A subclass names its ``operations`` factory, the registers it starts with and how many partials a position
has. In the plain form these live in a chunked-array queue of any Python objects; in the native form in a
ring of numbers. A window changes form when it is used the other way: the values in it are copied once,
nothing is recomputed.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from windrow.compile.access import interpret
from windrow.swag.base import Swag
from windrow.swag.native.drivers import Operations, roll_count, roll_time
from windrow.swag.queue import ChunkedArrayQueue

__all__ = ["FifoSwag", "NativeWindow"]

_PLAIN_MASK = -1


@dataclass(slots=True)
class NativeWindow:
    """The native form: a ring of partials, and one of times where the window is used by time."""

    native: Any
    ring: Any
    clock: Any
    mask: int


class FifoSwag(Swag):
    operations: ClassVar[Callable[..., Operations]]
    #: the steps over rows of numbers, for sketches; None: these run in plain Python
    wide_operations: ClassVar[Callable[..., Operations] | None] = None
    #: the register with the position at which an eviction flips: it writes sums before it has made them all,
    #: as no other step does; 1, the end, where it does not
    flips_at: ClassVar[int] = 1
    #: partials that a position holds
    slots: ClassVar[int] = 1
    #: how many windows by count its ring has room for in a batch: 2 where rows go in blocks
    windows_in_ring: ClassVar[int] = 1

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        """The registers of an empty window: (front, end, ...)."""
        raise NotImplementedError

    def __init__(self, monoid: Any) -> None:
        super().__init__(monoid)
        self._steps = self._make_operations(interpret, self.monoid)
        self._identity = self.monoid.identity
        self._registers: Any = self.start(self._identity)
        self._queue = ChunkedArrayQueue()
        self._window: NativeWindow | None = None
        #: the largest magnitude of an integer in the partial of a value, where partials add integers up
        self._largest_integer = 0

    @classmethod
    def _make_operations(cls, jit: Callable[..., Any], functions: Any) -> Operations:
        """The steps from a monoid or its native form."""
        return cls.operations(jit, functions.combine)

    # -- single operations: the plain form
    # -------------------------------------------------------------------------

    def _insert(self, partial: Any) -> None:
        self._prepare_insert(partial)
        self._registers = self._steps.insert(
            self._queue, _PLAIN_MASK, self._identity, self._registers, partial
        )

    def _prepare_insert(self, partial: Any) -> None:
        """Take the plain form, and note how large the integers of the partial are."""
        if self._window is not None:
            self._to_plain()
        if self.monoid.adds_integers:
            members = partial if isinstance(partial, tuple) else (partial,)
            integers = (abs(member) for member in members if isinstance(member, int))
            self._largest_integer = max(self._largest_integer, max(integers, default=0))

    def _evict(self, count: int) -> None:
        if self._window is not None:
            self._to_plain()
        evict, queue, registers = self._steps.evict, self._queue, self._registers
        if count == 1 and registers[0] != registers[self.flips_at]:
            registers = evict(queue, _PLAIN_MASK, self._identity, registers)
        else:
            with queue.watched(registers[1] * self.slots):
                for _ in range(count):
                    registers = evict(queue, _PLAIN_MASK, self._identity, registers)
        self._registers = registers
        queue.release(registers[0] * self.slots)

    def _backup(self) -> dict[str, Any]:
        names = ("_registers", "_queue", "_window", "_largest_integer")
        return {**super()._backup(), **{name: getattr(self, name) for name in names}}

    @contextlib.contextmanager
    def _atomically(self) -> Iterator[None]:
        with super()._atomically():
            if self._window is not None:
                self._to_plain()
            with self._queue.watched(self._registers[1] * self.slots):
                yield

    def _partial(self) -> Any:
        if self._window is not None:
            self._to_plain()
        return self._steps.query(self._queue, _PLAIN_MASK, self._identity, self._registers)

    # -- batches: the native form
    # ----------------------------------------------------------------------------------

    def roll(self, values: Any, size: int, *, out: Any = None) -> Any:
        from windrow.swag.native.roll import prepared
        from windrow.swag.native.roll_sketch_rows import roll_wide

        def plainly() -> Any:
            return super(FifoSwag, self).roll(values, size, out=out)

        if size >= 1 and self.monoid.wide is not None and self.wide_operations is not None:
            return roll_wide(self, values, size, out)
        batch = prepared(self, values, longest=size, out=out) if size >= 1 else None
        if batch is None:
            return plainly()
        return batch.run(roll_count, size=size, rest=plainly)

    def roll_time(self, times: Any, values: Any, size: Any) -> Any:
        from windrow.swag.native.roll import prepared, prepared_times

        clock = prepared_times(times, size)
        batch = None if clock is None else prepared(self, values, longest=None)
        if batch is None or clock is None:
            return super().roll_time(times, values, size)

        def plainly() -> Any:
            return super(FifoSwag, self).roll_time(times, values, size)

        return batch.run_timed(roll_time, *clock, rest=plainly)

    def _times_kept(self) -> Any:
        window = self._window
        if window is None or window.clock is None:
            return self._times
        import numpy as np

        return window.clock[np.arange(*self._registers[:2]) & window.mask]

    # -- changing form
    # ---------------------------------------------------------------------------------------------

    def _to_plain(self) -> None:
        window = self._window
        assert window is not None
        plain = window.native.to_plain
        front, end = self._registers[:2]
        self._plain_of_ring(window)
        self._registers = tuple(r if k < self._integers else plain(r) for k, r in enumerate(self._registers))
        if window.clock is not None:
            self._times = deque(window.clock[position & window.mask].item() for position in range(front, end))
        self._window = None

    def _plain_of_ring(self, window: NativeWindow) -> None:
        """Fill the plain form from the ring."""
        front, end = (position * self.slots for position in self._registers[:2])
        self._queue = ChunkedArrayQueue(front)
        for slot in range(front, end):
            self._queue[slot] = window.native.to_plain(
                window.ring[slot & ((window.mask + 1) * self.slots - 1)]
            )

    def _ring_of_plain(self, capacity: int, form: Any) -> Any:
        """A ring with room for ``capacity`` positions, filled from the plain form."""
        import numpy as np

        ring = np.zeros(capacity * self.slots, form.layout.partial_dtype)
        front, end = (position * self.slots for position in self._registers[:2])
        for slot in range(front, end):
            ring[slot & (len(ring) - 1)] = form.to_native(self._queue[slot])
        return ring

    def _larger_ring(self, window: NativeWindow, capacity: int) -> Any:
        """The content of the ring in one with room for ``capacity`` positions."""
        import numpy as np

        larger = np.zeros(capacity * self.slots, window.ring.dtype)
        front, end = (position * self.slots for position in self._registers[:2])
        slots = np.arange(front, end)
        larger[slots & (len(larger) - 1)] = window.ring[slots & (len(window.ring) - 1)]
        return larger

    @property
    def _integers(self) -> int:
        """How many registers are positions; the rest are partials."""
        return sum(1 for r in self.start(_MARK) if r is not _MARK)


_MARK: Any = object()
