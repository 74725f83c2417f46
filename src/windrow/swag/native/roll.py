"""A batch through a FIFO algorithm in native code.

:func:`prepared` decides whether a batch can go through natively: the monoid compiles for its inputs, the
window's present content fits the native types, and integer sums provably fit 64 bits. :class:`NativeBatch`
then moves the window into rings, runs a driver piece by piece, and works out which results are null. A batch
that a signal interrupts between two pieces leaves a window that has taken the rows of the pieces before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from windrow.arrays import Ints, Mask
from windrow.compile.columns import Columns, inputs_of, native_columns, shaped_like, with_empty
from windrow.compile.general import mask_or_none
from windrow.compile.native import NativeMonoid, native
from windrow.compile.pieces import call_whole, pieces
from windrow.errors import AggregateError
from windrow.swag.fifo import FifoSwag, NativeWindow
from windrow.swag.native.fallback import warn_of_error, warn_of_values
from windrow.swag.native.integer_sums import extreme_integers, sums_fit
from windrow.swag.native.kernels import driver_kernel
from windrow.swag.queue import ChunkedArrayQueue

__all__ = [
    "NativeBatch",
    "account_for_nulls",
    "keep_taken",
    "power_of_two",
    "prepared",
    "prepared_times",
    "skips_by_count",
]

_SMALLEST_RING = 64


def prepared(window: FifoSwag, values: Any, longest: int | None, out: Any = None) -> NativeBatch | None:
    """The batch in native form, or None where it must go through in plain Python."""
    monoid = window.monoid
    if not monoid.compiles_for or monoid.wide is not None or monoid.only_moments:
        return None
    columns = native_columns(values, monoid)
    if columns is None:
        warn_of_values(monoid, inputs_of(values, monoid))
    if columns is None or not monoid.arity[0] <= len(columns.arrays) <= monoid.arity[1]:
        return None
    columns = _as_before(window, columns)
    form = native(monoid, columns.dtypes)
    if form is None or not _integers_fit(window, form, columns, longest):
        return None
    return NativeBatch(window, form, columns, shaped_like(values, monoid, out), out)


def prepared_times(times: Any, size: Any) -> tuple[np.ndarray[Any, Any], Any] | None:
    """Times and size in native form, if both are integers, both floats, or moments and a duration of
    numpy."""
    array = np.asarray(times)
    if array.dtype.kind == "M":
        unit = np.datetime_data(array.dtype)[0]
        return np.ascontiguousarray(array.view("i8")), np.asarray(size, f"m8[{unit}]").astype("i8")[()]
    if array.dtype.kind == "i" and isinstance(size, (int, np.integer)):
        return np.ascontiguousarray(array, "i8"), np.int64(size)
    if array.dtype.kind in "if" and isinstance(size, (int, float, np.number)):
        return np.ascontiguousarray(array, "f8"), np.float64(size)
    return None


def _as_before(window: FifoSwag, columns: Columns) -> Columns:
    """A batch of integers for a window that holds floats goes through as floats."""
    before = window._window.native.dtypes if window._window is not None and len(window) else columns.dtypes
    wider = [np.result_type(a, b) for a, b in zip(before, columns.dtypes, strict=True)]
    return Columns(
        tuple(a.astype(d, copy=False) for a, d in zip(columns.arrays, wider, strict=True)), columns.nulls
    )


def _integers_fit(window: FifoSwag, form: NativeMonoid, columns: Columns, longest: int | None) -> bool:
    """Whether no sum over a window of this batch can leave 64 bits."""
    if not form.monoid.adds_integers:
        return True
    smallest, largest = extreme_integers(columns.arrays)
    if smallest == largest == 0:  # nothing is added to what fits already
        return True
    largest = max(window._largest_integer, largest, -smallest)
    most = len(window) + len(columns) if longest is None else max(longest, len(window))
    if not sums_fit(form, -largest, largest, min(most, len(window) + len(columns))):
        return False
    window._largest_integer = largest
    return True


class NativeBatch:
    """One batch on its way through a window."""

    def __init__(
        self,
        window: FifoSwag,
        form: NativeMonoid,
        columns: Columns,
        shape: Callable[[Any, Any], Any],
        out: Any,
    ) -> None:
        self.window = window
        self.form = form
        self.columns = columns
        self.shape = shape
        self.out = out

    def __len__(self) -> int:
        return len(self.columns)

    def run(self, driver: Callable[..., Any], size: int, rest: Callable[[], Any]) -> Any:
        """A window by count; ``rest`` does the same in plain Python, for what cannot go through here."""
        if not len(self):
            return self.shape(*self._outputs())
        room = self.window.windows_in_ring * size
        if not self._enter(min(room, len(self.window) + len(self)), None):
            return rest()
        first_position = self.window._registers[1]
        skips = skips_by_count(self.window, self.columns.nulls, len(self), size)
        out, valid = self._outputs()
        written = (mask_or_none(None if skips is None else skips.all_skipped, len(self)), out, valid)
        rows = (self.columns.arrays, mask_or_none(self.columns.nulls, len(self)), None)

        def arguments(first: int, last: int) -> tuple[Any, ...]:
            return *self._window(), size, *rows, *written, first, last

        kernel = self._kernel(driver, arguments(0, len(self)))
        if kernel is None:
            return rest()
        backup = self._backup()
        try:
            for first, stop in pieces(len(self)):
                self._take(kernel, arguments(first, stop), lambda registers: registers)
        except Exception as error:
            self._restore(backup)
            return self._explain(error, rest)
        except BaseException:
            keep_taken(self.window, self.columns.nulls, first_position)
            raise
        return self._finish(first_position, out, valid, skips)

    def run_timed(self, driver: Callable[..., Any], times: Any, size: Any, rest: Callable[[], Any]) -> Any:
        """A window by time; the ring is enlarged as often as a batch asks for it."""
        self._check_times(times, size)
        if not self._enter(min(len(self), 1 << 16), times.dtype):
            return rest()
        out, valid = self._outputs()
        fronts = np.zeros(len(self), np.int64) if has_nulls(self.window, self.columns.nulls) else None
        first_position = self.window._registers[1]
        written = (self._lasts(fronts, first_position), out, valid, fronts)

        def arguments(done: int, stop: int) -> tuple[Any, ...]:
            window = (*self._window(), self._state.clock, times[:stop], size, done)
            rows = tuple(array[:stop] for array in self.columns.arrays)
            return *window, rows, self.columns.nulls, *written

        kernel = self._kernel(driver, arguments(0, len(self)))
        if kernel is None:
            return rest()
        backup = self._backup()
        done = 0
        try:
            for _, stop in pieces(len(self)):
                stop = _after_peers(times, stop)
                while done < stop:
                    done = self._take(kernel, arguments(done, stop), lambda result: result[0])[1]
                    if done < stop:
                        self._make_room(times, done)
        except Exception as error:
            self._restore(backup)
            return self._explain(error, rest)
        except BaseException:
            keep_taken(self.window, self.columns.nulls, first_position)
            raise
        if fronts is None:
            return self._finish(first_position, out, valid, None)
        ends = np.searchsorted(times, times, side="right") + first_position
        skips = skips_in(self.window, self.columns.nulls, first_position, fronts, ends)
        return self._finish(first_position, out, valid, skips)

    def _window(self) -> tuple[Any, ...]:
        """The window as drivers take it."""
        return self._state.ring, self._state.mask, self.form.identity, self._typed(self.window._registers)

    def _make_room(self, times: Any, done: int) -> None:
        """Enlarge the ring for the rows at the next moment."""
        front, end = self.window._registers[:2]
        peers = _after_peers(times, done + 1) - done
        self._enlarge(max(2 * (self._state.mask + 1), end - front + peers + 1))

    def _take(self, kernel: Callable[..., Any], arguments: tuple[Any, ...], registers_of: Any) -> Any:
        """Run a piece. Its registers stay with the ring that it has changed, also where a signal ends it."""
        result: list[Any] = []
        try:
            call_whole(kernel, arguments, result)
        finally:
            if result:
                self.window._registers = registers_of(result[0])
        return result[0]

    # -- moving the window into rings
    # ------------------------------------------------------------------------------

    @property
    def _state(self) -> NativeWindow:
        state = self.window._window
        assert state is not None
        return state

    def _enter(self, room: int, clock_type: Any) -> bool:
        """Bring the window into native form with at least this much room; False if its content does not
        fit."""
        window = self.window
        room = max(room, len(window))
        try:
            if window._window is not None:
                same = window._window.native is self.form and (window._window.clock is None) == (
                    clock_type is None
                )
                if same and window._window.mask + 1 < room:
                    self._enlarge(room)
                if same:
                    return True
                window._to_plain()
            capacity = power_of_two(room)
            ring = window._ring_of_plain(capacity, self.form)
            front, end = window._registers[:2]
            registers = self._typed(window._registers)
            clock = None if clock_type is None else np.zeros(capacity, clock_type)
            if clock is not None:
                for position, moment in zip(range(front, end), window._times, strict=True):
                    clock[position & (capacity - 1)] = moment
        except MemoryError:
            raise
        except Exception:  # a partial that does not fit, or a combine of the user's that raises
            return False
        window._registers = registers
        window._window = NativeWindow(self.form, ring, clock, capacity - 1)
        window._queue = ChunkedArrayQueue()
        window._times = deque()
        return True

    def _typed(self, registers: Any) -> tuple[Any, ...]:
        """Registers whose partials have exactly the native types."""
        integers = self.window._integers
        return tuple(int(r) if k < integers else self.form.to_native(r) for k, r in enumerate(registers))

    def _enlarge(self, at_least: int) -> None:
        state = self._state
        capacity = power_of_two(at_least)
        front, end = self.window._registers[:2]

        ring, clock = self.window._larger_ring(state, capacity), None
        if state.clock is not None:
            positions = np.arange(front, end)
            clock = np.zeros(capacity, state.clock.dtype)
            clock[positions & (capacity - 1)] = state.clock[positions & state.mask]
        # all at once: a signal must not come between a ring and its mask
        self.window._window = NativeWindow(state.native, ring, clock, capacity - 1)

    # -- running
    # ---------------------------------------------------------------------------------------------------

    def _outputs(self) -> tuple[np.ndarray[Any, Any], Any]:
        layout = self.form.layout
        count = len(self)
        given = self.out
        fits = (
            isinstance(given, np.ndarray) and given.dtype == layout.result_dtype and given.flags.c_contiguous
        )
        out = given if fits and len(given) == count else np.empty(count, layout.result_dtype)
        return out, np.ones(count, np.bool_) if layout.may_be_null else None

    def _lasts(self, fronts: Any, first_position: int) -> Any:
        """For each row the position of the last value up to it; None where neither batch nor window has a
        null."""
        if fronts is None:
            return None
        nulls = set(self.window._null_positions)
        before = range(first_position - 1, first_position - 1 - len(self.window), -1)
        last = next((position for position in before if position not in nulls), -1)
        positions = np.arange(len(self)) + first_position
        if self.columns.nulls is not None:
            positions[self.columns.nulls] = -1
        return np.maximum(np.maximum.accumulate(positions), last)

    def _kernel(self, driver: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        found = driver_kernel(self.form, type(self.window), driver, arguments)
        # compiled: windows change in place, and Ctrl-C must not come in the middle of that
        return None if found is None else found.buy()

    def _backup(self) -> Any:
        """What is needed to undo the batch if a user's function raises; windrow's own do not."""
        if self.form.monoid.builtin:
            return None
        state = self._state
        clock = None if state.clock is None else state.clock.copy()
        return self.window._registers, state.ring.copy(), clock, state.mask

    def _restore(self, backup: Any) -> None:
        if backup is None:
            return
        state = self._state
        self.window._registers, state.ring, state.clock, state.mask = backup

    def _explain(self, error: Exception, rest: Callable[[], Any]) -> Any:
        """The window is as it was before the batch: run it plainly, which raises again and names the row."""
        if self.form.monoid.builtin:
            raise error
        try:
            results = rest()
        except AggregateError as named:
            raise named from error
        warn_of_error(self.form.monoid, error)
        return results

    def _check_times(self, times: np.ndarray[Any, Any], size: Any) -> None:
        self.window._check_times(times[:1], min(len(self), 1), size)
        if len(times) != len(self):
            raise ValueError(f"{len(times)} times for {len(self)} values: give one time a value")
        falls = np.flatnonzero(times[1:] < times[:-1])
        if falls.size:
            index = int(falls[0]) + 1
            raise ValueError(
                f"times must not fall: {times[index]!r} at index {index} after {times[index - 1]!r}; "
                f"sort the rows"
            )

    def _finish(self, first_position: int, out: Any, valid: Any, skips: Skips | None) -> Any:
        out, valid = account_for_nulls(self.window, self.columns.nulls, first_position, out, valid, skips)
        return self.shape(out, valid)


def _after_peers(times: Any, stop: int) -> int:
    """The end of the first ``stop`` rows with all that have the same time as the last of them."""
    return int(np.searchsorted(times, times[stop - 1], side="right")) if stop else 0


class Skips(NamedTuple):
    """How many values each window of a batch skips, and how many rows it holds."""

    skipped: Ints
    rows: Ints

    @property
    def all_skipped(self) -> Mask:
        return self.skipped == self.rows


def has_nulls(window: FifoSwag, nulls: Any) -> bool:
    return nulls is not None or bool(window._null_positions)


def skips_by_count(window: FifoSwag, nulls: Any, count: int, size: int) -> Skips | None:
    """Before a batch of so many rows, for windows of the last ``size``; None where no value is skipped."""
    if not has_nulls(window, nulls):
        return None
    front, end = window._registers[:2]
    ends = np.arange(end + 1, end + count + 1)
    return skips_in(window, nulls, end, np.maximum(ends - min(size, end + count), front), ends)


def skips_in(window: FifoSwag, nulls: Any, first_position: int, fronts: Ints, ends: Ints) -> Skips:
    """Row i of the batch, which begins at ``first_position``, sees the positions [fronts[i], ends[i])."""
    before = np.zeros(len(fronts) + 1, np.int64)
    if nulls is not None:
        np.cumsum(nulls, out=before[1:])
    skipped = before[ends - first_position] - before[np.maximum(fronts - first_position, 0)]
    older = np.array(window._null_positions, np.int64)
    if len(older):
        skipped += len(older) - np.searchsorted(older, fronts)
    return Skips(skipped, ends - fronts)


def account_for_nulls(
    window: FifoSwag, nulls: Any, first_position: int, out: Any, valid: Any, skips: Skips | None
) -> tuple[Any, Any]:
    """After a batch: the window's count and nulls, and which results are null.

    Those of windows without a value are, and under ``nulls="propagate"`` those of windows with a null."""
    front, end = window._registers[:2]
    window._evicted, window._size = front, end - front
    if nulls is not None:
        window._null_positions.extend((np.flatnonzero(nulls) + first_position).tolist())
    while window._null_positions and window._null_positions[0] < front:
        window._null_positions.popleft()
    if skips is None:
        return out, valid
    if window.monoid.nulls == "propagate":
        return with_empty(out, valid, skips.skipped > 0, None)
    return with_empty(out, valid, skips.all_skipped, window.monoid.empty_result())


def keep_taken(window: FifoSwag, nulls: Any, first_position: int) -> None:
    """After an interruption: the rows of whole pieces are in the window, and the others are not."""
    taken = window._registers[1] - first_position
    nulls = None if nulls is None else nulls[:taken]
    account_for_nulls(window, nulls, first_position, np.empty(0), None, None)


def power_of_two(at_least: int) -> int:
    return max(_SMALLEST_RING, 1 << (at_least - 1).bit_length())
