"""The slice store: slices of all keys, in blocks of time.

A block holds the slices that end in one stretch of time. A batch changes the blocks its rows fall into and no
others; what no window needs any more is dropped block by block. The *lazy* store reads slices one by one when
windows are due. The *eager* store keeps, besides, the partial of each whole block for each key (made when
first needed, and again after a change): a window then reads slices only in the blocks at its two ends, and
one partial per block in between: with b slices per block, a window of n slices costs at most 2b + n/b reads,
and not n. Blocks start as a 32nd of the longest window, which is near the best, about 3 sqrt(n), for windows
of a thousand slices. Batches that touch many small blocks make them longer, as long as batches are if need
be, and so do keys with so few rows that blocks hold next to nothing; when they have become large, they get
shorter again, and still shorter where keys have many slices in one.

A block is several *runs*. Those of large blocks are each some times as long as the next: slices are added to
the short ones, and a run is put together with the one before it when it has become about as long, so that a
slice is moved O(log) times. Those of small batches wait until there are some of them, and are put together at
once: to merge them one by one would cost several times what it takes to fold a hundred rows. What reads a
block puts all of them together. Runs wait only where combining them cannot raise: what a user's function
raises belongs to the push that brought the rows.

Invariant: a slice lies in block (end - 1) // span. Stores are values: adding rows gives another store, and
the old one is still what it was.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.compile.cache import kernel
from windrow.rows.sorting import counting_sort
from windrow.slicing.slicer import Slicer
from windrow.slicing.slices import HeldSlices, concat, merged, run_starts, runs_of, sorted_and_fused
from windrow.state.checks import require, whole
from windrow.state.on_demand import OnDemand
from windrow.values import with_fields

__all__ = ["Block", "SliceStore", "check_block"]


#: blocks that the longest window should span: a power of two near the square root of usual slice counts
_BLOCKS = 32
#: a batch that touches more blocks than this, small ones, makes blocks longer
_MOST_TOUCHED = 8
_SMALL = 4096
#: one that finds larger ones than this makes them shorter
_LARGE = 16 * _SMALL
#: blocks that hold fewer slices than this on average may become longer
_TINY = 256
#: while to put one of this size together takes so long that it is made shorter with the next batch
_HUGE = 4 * _LARGE
#: how many times longer, or shorter
_FACTOR = 4
#: runs that are longer than this wait for others, until those are this part of them
_LONG_RUN = 2048
_PART = 4
#: runs of up to so many slices wait for so many others like them
_TINY_RUN = 256
_MOST_TINY = 16


class Block:
    """The slices that end in one stretch of time; they, and the partials of the whole block, may be loaded
    when they are asked for."""

    def __init__(
        self,
        slices: HeldSlices | Callable[[], HeldSlices],
        is_settled: bool = False,
        whole: Callable[[], HeldSlices] | None = None,
        *,
        keeps: bool = True,
        sizes: tuple[int, int] | None = None,
        runs: tuple[HeldSlices, ...] = (),
        tiny: int = 0,
        most: int = 0,
    ) -> None:
        if isinstance(slices, HeldSlices):
            self._slices = OnDemand(slices, keeps=keeps)
        else:
            self._slices = OnDemand(load=slices, keeps=keeps)
        self._runs = runs
        #: how many of the runs, the last ones, are tiny
        self.tiny = tiny
        self._most = most
        #: how many slices there are and their bytes, where that is known
        self.known_sizes = sizes
        #: all is left out that windows to come do not need; see :meth:`SliceStore.settled`
        self.is_settled = is_settled
        self._whole = OnDemand(load=whole, keeps=keeps)

    @classmethod
    def of_runs(cls, runs: tuple[HeldSlices, ...], tiny: int, most: int) -> Block:
        """Slices in several lists, each sorted and fused: so many at most, and so many tiny lists."""
        if len(runs) == 1:
            return cls(runs[0])
        return cls(lambda: _together(runs, tiny), runs=runs, tiny=tiny, most=most)

    @property
    def keeps(self) -> bool:
        return self._slices.keeps

    @property
    def is_loaded(self) -> bool:
        return self._slices.is_loaded or bool(self._runs)

    @property
    def runs(self) -> tuple[HeldSlices, ...]:
        """The lists that slices in memory are in; none: they are not in memory."""
        return (self._slices.get(),) if self._slices.is_loaded else self._runs

    @property
    def most(self) -> int:
        """How many slices there are at most."""
        return self._most if self._runs else self.count

    @property
    def slices(self) -> HeldSlices:
        found = self._slices.get()
        if self._runs:
            self._runs, self.tiny = (), 0  # all of them are in one list now
        return found

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of slices and their bytes."""
        if self.known_sizes is None:
            slices = self.slices
            self.known_sizes = len(slices), slices.nbytes
        return self.known_sizes

    @property
    def count(self) -> int:
        """The number of slices."""
        return self.sizes[0] if self.known_sizes is not None else len(self.slices.keys)

    def whole(self) -> HeldSlices | None:
        """One slice a key, for all of the block; None where layers keep slices apart."""
        if self._whole.is_loaded or self._whole.can_load:
            return self._whole.get()
        slices = self.slices
        return None if slices.since is not None else self._whole.kept(slices.folded(runs_of(slices.keys)[1]))


@dataclass(frozen=True)
class SliceStore:
    """Slices in blocks of time; see the module."""

    #: how long the longest window is
    longest: int
    span: int
    eager: bool = True
    blocks: Mapping[int, Block] = field(default_factory=dict[int, Block])
    #: how long blocks become with the next batch; 0: as long as they are
    next_span: int = 0

    @classmethod
    def empty(cls, longest: int, eager: bool = True) -> SliceStore:
        return cls(longest, _shortest(longest), eager)

    @property
    def has_wholes(self) -> bool:
        """Whether windows are so long that they hold whole blocks, and the store gives their partials."""
        return self.eager and 2 * self.span <= self.longest

    def __len__(self) -> int:
        return sum(block.count for block in self.blocks.values())

    @property
    def nbytes(self) -> int:
        return sum(block.sizes[1] for block in self.blocks.values())

    def check_invariants(self, key_count: int) -> None:
        """Of a store that comes from outside; blocks that are not loaded are checked when they are."""
        span = whole("length of blocks", self.span, 1, END_OF_TIME)
        for number, block in self.blocks.items():
            whole("number of a block", number, START_OF_TIME // span - 1, 2 * END_OF_TIME // span)
            if block.is_loaded:
                block.slices.check_invariants(key_count)
                check_block(block.slices, number, span)

    def all(self) -> Iterator[HeldSlices]:
        return (self.blocks[number].slices for number in sorted(self.blocks))

    def added(self, slices: HeldSlices) -> SliceStore:
        """With the slices of a batch, which are sorted by key and time."""
        if not len(slices):
            return self
        if self.next_span:
            return self.with_span(self.next_span).added(slices)
        changed, touched = dict(self.blocks), dict[int, int]()
        for number, part in self._by_block(slices):
            block = changed[number] = self._with_part(changed.get(number), part)
            touched[number] = block.most
        store = with_fields(self, blocks=changed)
        span = store._fitting(touched)
        if span == self.span:
            return store
        is_huge = max(touched.values()) > _HUGE
        return with_fields(store, next_span=span) if is_huge else store.with_span(span)

    def _fitting(self, touched: Mapping[int, int]) -> int:
        """How long blocks should be, after a batch that has touched these, which have so many slices each."""
        span, count = self.span, len(touched)
        if count > _MOST_TOUCHED:
            held = sum(touched.values())
            while count > _MOST_TOUCHED and held < _SMALL * count:
                span, count = span * _FACTOR, -(-count // _FACTOR)
        if max(touched.values()) > _LARGE:
            span = max(span // _FACTOR, min(span, _shortest(self.longest)))
            if span == self.span and self._is_dense(touched):
                span = max(span // _FACTOR, 1)
        if span == self.span and len(self.blocks) > _FACTOR and self._is_scattered(touched):
            span *= _FACTOR
        return span

    def _is_dense(self, touched: Mapping[int, int]) -> bool:
        """Whether the largest of these blocks, to which adding costs too much, would be several if blocks
        were shorter: keys have many slices in it."""
        most = max(touched, key=lambda number: touched[number])
        runs = self.blocks[most].runs
        if self.span == 1 or len(runs) > 1:  # it is asked again when these are put together
            return False
        return touched[most] >= 2 * _FACTOR * (len(run_starts(self.blocks[most].slices.keys)) - 1)

    def _is_scattered(self, touched: Mapping[int, int]) -> bool:
        """Whether blocks hold so little that there should be fewer, after a batch has touched these; where
        whole blocks are read, only if keys have hardly a slice in a block."""
        if any(len(self.blocks[number].runs) > 1 for number in touched):
            return False  # it is asked again when these are put together
        count = len(self.blocks)
        sizes = [block.most for block in self.blocks.values()]
        held = sum(sizes)
        if held >= _TINY * count or max(sizes) >= _SMALL:
            return False
        if not self.has_wholes:
            return True
        keys = max(len(runs_of(self.blocks[number].slices.keys)[0]) for number in touched)
        return held < 2 * keys * count

    def _by_block(self, slices: HeldSlices) -> Iterator[tuple[int, HeldSlices]]:
        first, last = _block_range(slices.ends, self.span)
        if first == last:
            yield first, slices
            return
        numbers = (slices.ends - 1) // self.span
        if last - first < len(numbers):
            order = counting_sort(numbers - first, int(last - first + 1), None)
        else:
            order = np.argsort(numbers, kind="stable")
        heads = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order[0]] - 1))
        for head, end in zip(heads, [*heads[1:], len(order)], strict=True):
            yield int(numbers[order[head]]), slices.take(order[head:end])

    def _with_part(self, block: Block | None, part: HeldSlices) -> Block:
        if block is None:
            return Block(sorted_and_fused(part, is_sorted=part.since is None and not part.order))
        held, count = block.runs, len(part.keys)
        if not held or not held[0].may_wait_for(part):
            return Block(self._merged(block.slices, part))
        if count <= _TINY_RUN and block.tiny < _MOST_TINY:
            return Block.of_runs((*held, part), block.tiny + 1, block.most + count)
        runs = [*held, part]
        if block.tiny:
            runs[-block.tiny - 1 :] = [sorted_and_fused(concat(runs[-block.tiny - 1 :]))]
        while len(runs) > 1 and not _LONG_RUN < len(runs[-2].keys) > _PART * len(runs[-1].keys):
            new = runs.pop()
            runs[-1] = merged(runs[-1], new)
        return Block.of_runs(tuple(runs), 0, sum(len(run.keys) for run in runs))

    def _merged(self, held: HeldSlices, part: HeldSlices) -> HeldSlices:
        if held.since is not None or part.since is not None or part.order:
            return sorted_and_fused(concat([held, part]))
        return merged(held, part)

    def with_span(self, span: int) -> SliceStore:
        """The same slices in blocks of another length."""
        return with_fields(self, span=span, next_span=0)._holding(self.all(), are_fused=True)

    def with_ends(self, ends: Callable[[HeldSlices], Ints]) -> SliceStore:
        """The same slices, each up to another edge, none of them later than before. Reads all blocks."""
        return self._holding(with_fields(part, ends=ends(part)) for part in self.all())

    def _holding(self, slices: Iterable[HeldSlices], are_fused: bool = False) -> SliceStore:
        """Other slices in blocks of the same length; ``are_fused``: each list of them is sorted and fused."""
        blocks: dict[int, list[HeldSlices]] = {}
        for part in slices:
            for number, some in self._by_block(part):
                blocks.setdefault(number, []).append(some)
        return with_fields(self, blocks={n: Block(_joined(parts, are_fused)) for n, parts in blocks.items()})

    def between(self, low: int, high: int, core: tuple[int, int] | None = None) -> HeldSlices | None:
        """The slices that end in (low, high], sorted by key and time; None: there are none.

        ``core``: a stretch that every window asked for contains. The eager store gives one slice a key for
        each block inside it."""
        parts = [part for part in self._parts(low, high, core) if len(part)]
        if not parts:
            return None
        found = concat(parts)
        if len(parts) == 1:
            return found
        # Blocks do not overlap and come in order, so a stable sort by key is enough
        return found.take(np.argsort(found.keys, kind="stable"))

    def _parts(self, low: int, high: int, core: tuple[int, int] | None) -> Iterator[HeldSlices]:
        for number in sorted(n for n in self.blocks if n * self.span < high and (n + 1) * self.span > low):
            block = self.blocks[number]
            first, last = number * self.span, (number + 1) * self.span
            if self.has_wholes and core is not None and core[0] <= first and last <= core[1]:
                whole = block.whole()
                if whole is not None:
                    yield whole
                    continue
            ends = block.slices.ends
            if first >= low and last <= high:
                yield block.slices
            else:
                yield block.slices.take(np.flatnonzero((ends > low) & (ends <= high)))

    def dropped_before(self, time: int) -> SliceStore:
        """Without the slices that end at or before a time."""
        kept: dict[int, Block] = {}
        for number, block in self.blocks.items():
            if (number + 1) * self.span <= time:
                continue
            if number * self.span >= time or not block.is_loaded:
                kept[number] = block
                continue
            alive = block.slices.ends > time
            if alive.all():
                kept[number] = block
            elif alive.any():
                kept[number] = Block(block.slices.take(np.flatnonzero(alive)), block.is_settled)
        return self if kept == self.blocks else with_fields(self, blocks=kept)

    def settled(self, starts: Slicer | None, until: int) -> SliceStore:
        """With what windows need that end after a time: those that end by then have come out. Slices before
        it that only the ends of windows kept apart are fused, as the others are told apart by their starts
        (None: slices are cut nowhere else); and values go that later slices cover."""
        done = [n for n, b in self.blocks.items() if (n + 1) * self.span <= until and not b.is_settled]
        if not done:
            return self
        changed = dict(self.blocks)
        for number in done:
            slices = changed[number].slices
            if starts is not None:
                ends = np.minimum(starts.edges_after(slices.firsts), (number + 1) * self.span)
                slices = sorted_and_fused(with_fields(slices, ends=ends))
            changed[number] = Block(slices, is_settled=True)
        if any(changed[number].slices.partials.covers for number in done):
            before = [n for n, block in self.blocks.items() if block.is_settled]
            for first, stop in _groups(min(done), max(done), before):
                _leave_out_covered(changed, [n for n in sorted(changed) if first <= n < stop])
        return with_fields(self, blocks=changed)

    def with_keys(self, renumbered: Ints) -> SliceStore:
        return with_fields(self, blocks={n: _with_keys(b, renumbered) for n, b in self.blocks.items()})

    def keys(self) -> Iterable[Ints]:
        return (block.slices.keys for block in self.blocks.values())


def _together(runs: Sequence[HeldSlices], tiny: int) -> HeldSlices:
    """Runs as one; of equal slices those of the first run come first. Tiny ones, which are the last, are put
    together at once, and with what is before them if that is not long either."""
    if tiny:
        tiny += len(runs) > tiny and len(runs[-tiny - 1].keys) <= _TINY_RUN
        runs = [*runs[:-tiny], sorted_and_fused(concat(runs[-tiny:]))]
    return functools.reduce(lambda new, held: merged(held, new), runs[::-1])


def _groups(low: int, high: int, before: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Stretches of blocks that have come to their end, now that blocks from ``low`` to ``high`` have: each of
    a power of two of them, and the longest that end there, so that a block is in O(log) of them in all.
    ``before``: blocks that had ended already.

    >>> list(_groups(5, 6, [3, 4])), list(_groups(7, 7, [5, 6]))
    ([(4, 6), (6, 7)], [(0, 8)])
    """
    done, end = max([n + 1 for n in before if n < low], default=low), high + 1
    while done < end:
        level = (done ^ end).bit_length() - 1
        stop = end >> level << level
        yield stop - (1 << level), stop
        done = stop


def _leave_out_covered(blocks: dict[int, Block], numbers: list[int]) -> None:
    """Windows to come that hold a slice of these blocks hold all later ones of them: what these cover need
    not be kept."""
    some = [(number, blocks[number].slices) for number in numbers if blocks[number].is_settled]
    if not some or any(slices.since is not None for _, slices in some):
        return
    parts = [slices.partials for _, slices in some]
    found = type(parts[0]).without_covered(parts, [slices.keys for _, slices in some])
    for (number, slices), old, new in zip(some, parts, found, strict=True):
        if new is not old:
            blocks[number] = Block(with_fields(slices, partials=new), is_settled=True)


def _joined(parts: list[HeldSlices], are_fused: bool) -> HeldSlices:
    return parts[0] if are_fused and len(parts) == 1 else sorted_and_fused(concat(parts))


@kernel
def _block_range(ends: Ints, span: int) -> Any:
    """The first and the last block that slices are in."""
    low = high = ends[0]
    for i in range(len(ends)):
        low, high = min(low, ends[i]), max(high, ends[i])
    return (low - 1) // span, (high - 1) // span


def check_block(slices: HeldSlices, number: int, span: int) -> None:
    """Slices are in the block where they end."""
    require(((slices.ends - 1) // span == number).all(), f"block {number}: slices that end in another")


def _shortest(longest: int) -> int:
    return max(1, longest // _BLOCKS)


def _with_keys(block: Block, renumbered: Ints) -> Block:
    """With other key numbers; slices that are not in memory stay where they are until they are read."""

    def slices() -> HeldSlices:
        return block.slices.with_keys(renumbered)

    if block.is_loaded:
        return Block(slices(), block.is_settled)
    return Block(slices, block.is_settled, keeps=block.keeps, sizes=block.known_sizes)
