"""What the manifest of a stored window must be before its tree goes on from it.

Where nodes are follows from the positions of the first and the last leaf alone, so that every count in a
manifest can be computed: levels, sides of the last pairs, the stack, and which pairs must be in the store.
Partials are only known to the aggregate. Those of sketches, and what is made of them, are checked, as
compiled and native code reads them; what is wrong with others the aggregate says when it combines them.

Invariant: what is wrong raises :class:`CorruptState` and says what. Cost: O(size of the manifest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.stored_partials import check_partial, is_checked
from windrow.state.checks import making_sense, require, whole
from windrow.state.layout import NULLS, TIMES, Level
from windrow.state.levels.blocks import PairCheck
from windrow.swag.amta import AMTA
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import MonoidTree

__all__ = ["check_counts", "check_levels", "check_tree", "side_check"]

_MOST = 2**62


def check_counts(manifest: dict[str, Any]) -> None:
    """Numbers that are used before the tree is there."""
    whole("values evicted", manifest["evicted"], 0, _MOST)
    whole("values", manifest["size"], 0, _MOST - manifest["evicted"])
    for name in ("nulls", "times"):
        head, end = manifest[name]
        whole(f"end of {name}", end, 0, _MOST)
        whole(f"begin of {name}", head, 0, end)
        require(end - head <= manifest["size"], f"{end - head} {name} for {manifest['size']} values")


def check_levels(tree: MonoidTree, levels: Iterable[Level], manifest: dict[str, Any]) -> None:
    """The pairs that the tree will read are said to be in the store, and the queues are where they are."""
    found = {level.level: level for level in levels}
    for number, queue in ((NULLS, "nulls"), (TIMES, "times")):
        level = found.pop(number, Level(number, 0, 0, ()))
        ends = (level.head, level.end)
        require(ends == tuple(manifest[queue]), f"{queue} are at {tuple(manifest[queue])}, stored at {ends}")
    for number in range(len(tree._tails)):
        first, last = tree._front >> (number + 1), (tree._level_end(number) - 1) >> 1
        level = found.get(number, Level(number, first, 0, ()))
        require(level.head <= first, f"level {number} begins at pair {level.head}, the window at {first}")
        # a first node without a left sibling is here in LogMTA, and its pair may never have been stored
        read = first if isinstance(tree, AMTA) else ((tree._front >> number) + 1) >> 1
        require(
            level.end == last if read < last else level.end <= max(first, last),
            f"level {number} ends at pair {level.end}, the window needs those up to {last}",
        )
    for number in found.keys() - range(len(tree._tails)):
        most = max(tree._front >> (number + 1), (tree._level_end(number) - 1) >> 1)
        end = found[number].end
        require(end <= most, f"level {number} ends at pair {end}, past the window")


def check_tree(tree: MonoidTree) -> None:
    """What is here of a tree that was restored has the form that its leaves give it."""
    whole("leaves before the window", tree._front, tree._evicted, tree._evicted)
    whole("leaves up to its end", tree._end, tree._evicted + tree._size, tree._evicted + tree._size)
    count = _LEVELS[_kind(tree)](tree)
    require(len(tree._tails) == count, f"{len(tree._tails)} levels where {count} are expected")
    for number, tail in enumerate(tree._tails):
        sides = 2 - (tree._level_end(number) & 1)
        require(len(tail) == sides, f"level {number}: {len(tail)} nodes in its last pair, not {sides}")
    _SHAPES[_kind(tree)](tree)


def _kind(tree: MonoidTree) -> type[MonoidTree]:
    return AMTA if isinstance(tree, AMTA) else LogMTA


def _amta_levels(tree: Any) -> int:
    count = 0
    while tree._front >> count < tree._level_end(count):
        count += 1
    return count


def _check_amta(tree: Any) -> None:
    """See ``AMTA._left_result`` for what is on the stack."""
    require(type(tree._is_stale) is bool, "whether results are stale: neither true nor false")
    require(bool(tree._tails) or not tree._is_stale, "results of no values that are stale")
    count, top = 0, len(tree._tails) - 1
    if tree._tails and not tree._is_stale:
        count += not (tree._front >> top) & 1 and len(tree._tails[top]) == 2
        count += sum(not (tree._front >> level) & 1 for level in range(top))
    require(len(tree._stack) == count, f"{len(tree._stack)} results on the stack where {count} are expected")


def _check_log_mta(tree: Any) -> None:
    heads, levels = len(tree._heads), len(tree._tails)
    require(heads == levels, f"{heads} first nodes of {levels} levels")


_LEVELS: Mapping[Any, Callable[[Any], int]] = {
    AMTA: _amta_levels,
    LogMTA: lambda tree: tree._height(tree._front),
}
_SHAPES: Mapping[Any, Callable[[Any], None]] = {AMTA: _check_amta, LogMTA: _check_log_mta}


# -- partials ------------------------------------------------------------------------------------------------


def side_check(monoid: Monoid) -> PairCheck | None:
    """What checks the nodes in a pair, or in any list; the identity stands for a side that is empty.

    None: only the aggregate knows its partials.
    """
    if not is_checked(monoid):
        return None

    def check_sides(sides: Any) -> None:
        for side in sides:
            if side is not monoid.identity:
                with making_sense("a partial"):
                    check_partial(monoid, side)

    return check_sides
