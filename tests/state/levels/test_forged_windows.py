"""Manifests of stored windows with a right checksum whose content lies: refused by name before anything is
read, deleted or computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import windrow as wr
from windrow.errors import AggregateError, CorruptState
from windrow.state import MemoryStore
from windrow.state.levels.stored import DELETED_BY_FLUSH, MANIFEST
from windrow.state.store import block_key
from windrow.swag.mta import MonoidTree

Algorithm = type[MonoidTree]
both = pytest.mark.parametrize("algorithm", [wr.swag.LogMTA, wr.swag.AMTA])
KEY = b"wm\x00\x01w"


def opened(algorithm: Algorithm, store: MemoryStore, aggregate: Any = wr.sum) -> Any:
    return algorithm.open(store, "w", aggregate, buffer=4, cache=2, block=2)


def built(algorithm: Algorithm, aggregate: Any = wr.sum) -> MemoryStore:
    store = MemoryStore()
    window = opened(algorithm, store, aggregate)
    for number in range(60):
        window.insert(None if number % 9 == 4 else float(number))
        if number > 25:
            window.evict()
            window.query()
    window.close()
    return store


def forge(
    algorithm: Algorithm, store: MemoryStore, lie: Callable[[Any], None], aggregate: Any = wr.sum
) -> None:
    """Change the manifest of a window, and let its checksum be right."""
    partials = opened(algorithm, MemoryStore(), aggregate)._partials
    manifest = MANIFEST.unpack(store.values[KEY], KEY)
    rest = partials.value(memoryview(manifest["rest"]))
    rest["levels"] = [list(level) for level in rest["levels"]]
    rest["tree"] = list(rest["tree"])
    lie(rest)
    store.values[KEY] = MANIFEST.pack(manifest | {"rest": bytes(partials.payload(rest))}, KEY)


def _set(*path: Any) -> Callable[[Any], None]:
    """A lie that sets what is at a path to the last argument, or changes it where that is a function."""
    *keys, last, value = path

    def lie(rest: Any) -> None:
        for key in keys:
            rest = rest[key]
        rest[last] = value(rest[last]) if callable(value) else value

    return lie


LIES: dict[str, tuple[Callable[[Any], None], str]] = {
    "garbage without end": (_set("dead", [(0, 0, 2**60)]), "cannot be garbage"),
    "garbage that the window needs": (_set("dead", [(0, 9, 9)]), "cannot be garbage"),
    "garbage of another level": (_set("dead", [(60, 0, 1)]), "garbage of level 60"),
    "garbage backwards": (_set("dead", [(0, 3, 1)]), "last block of garbage"),
    "runs without end": (_set("levels", 0, 3, [(10, 2**60)]), "blocks 10 to"),
    "runs out of order": (_set("levels", 0, 3, [(13, 13), (9, 10)]), "first block of a run"),
    "runs before the head": (_set("levels", 0, 3, lambda runs: [(0, 0), *runs]), "given up"),
    "a level out of range": (_set("levels", 0, 0, 77), "level 77"),
    "a level twice": (_set("levels", lambda levels: [*levels, levels[0]]), "twice"),
    "a level that ends too early": (_set("levels", 0, 2, lambda end: end - 1), "level 0|a level that ends"),
    "a level that ends too late": (_set("levels", 0, 2, lambda end: end + 2**40), "level 0 ends"),
    "a level that begins too late": (_set("levels", 0, 1, lambda head: head + 1), "level 0 begins|given up"),
    "a level that is missing": (lambda rest: rest["levels"].pop(0), "level 0 ends at pair 0"),
    "a negative head": (_set("levels", 0, 1, -1), "head of level"),
    "more values than leaves": (_set("size", lambda size: size + 1), "leaves"),
    "a size below zero": (_set("size", -5), "values: -5"),
    "a size that is text": (_set("size", "x"), "values: 'x'"),
    "other values evicted": (_set("evicted", 0), "leaves"),
    "more nulls than values": (_set("nulls", (0, 2**40)), "nulls for"),
    "nulls elsewhere": (_set("nulls", lambda ends: (ends[0] - 1, ends[1] - 1)), "nulls are at"),
    "times that are not stored": (_set("times", (0, 3)), "times are at"),
    "fewer levels than leaves": (_set("tree", 2, lambda tails: tails[:-1]), "levels where"),
    "a last pair with other sides": (_set("tree", 2, 0, lambda tail: (*tail, 1.0, 1.0)), "in its last pair"),
    "a last leaf without end": (_set("tree", 1, 2**70), "leaves"),
}


@both
@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_is_refused_when_it_is_opened(algorithm: Algorithm, lie: str) -> None:
    change, message = LIES[lie]
    store = built(algorithm)
    forge(algorithm, store, change)
    before = dict(store.values)
    with pytest.raises(CorruptState, match=message):
        opened(algorithm, store)
    store.close()
    assert {k: v for k, v in store.values.items() if not k.startswith(b"wo")} == {
        k: v for k, v in before.items() if not k.startswith(b"wo")
    }, "nothing is deleted for a manifest that lies"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [(5, [], "on the stack"), (5, [1.0] * 40, "on the stack"), (6, 1, "stale"), (6, True, "on the stack")],
)
def test_results_of_amta_that_lie_are_refused(place: int, value: Any, message: str) -> None:
    store = built(wr.swag.AMTA)
    forge(wr.swag.AMTA, store, _set("tree", place, value))
    with pytest.raises(CorruptState, match=message):
        opened(wr.swag.AMTA, store)


def test_first_nodes_of_log_mta_that_lie_are_refused() -> None:
    store = built(wr.swag.LogMTA)
    forge(wr.swag.LogMTA, store, _set("tree", 3, lambda heads: heads[:-1]))
    with pytest.raises(CorruptState, match="first nodes"):
        opened(wr.swag.LogMTA, store)


@both
def test_a_sketch_of_another_size_in_a_manifest_is_refused(algorithm: Algorithm) -> None:
    store = built(algorithm, wr.bloom)
    forge(algorithm, store, _set("tree", 2, 0, lambda tail: tuple(node[:3] for node in tail)), wr.bloom)
    with pytest.raises(CorruptState, match="256 numbers"):
        opened(algorithm, store, wr.bloom)


@both
def test_a_partial_that_the_aggregate_cannot_combine_is_named(algorithm: Algorithm) -> None:
    store = built(algorithm)
    forge(algorithm, store, _set("tree", 2, lambda tails: [("text",) * len(tail) for tail in tails]))
    window = opened(algorithm, store)

    def slide() -> None:
        for _ in range(20):
            window.insert(1.0)
            window.evict()
            window.query()

    with pytest.raises(AggregateError, match="'sum' raised TypeError over the partials of window 'w'"):
        slide()


@both
def test_garbage_without_bound_is_deleted_step_by_step(algorithm: Algorithm) -> None:
    """What may be deleted is what a manifest says: any number of blocks."""
    store = built(algorithm)
    window = opened(algorithm, store)
    first = 2**40
    blocks = [
        block_key(window._keys.blocks, 0, number) for number in (first, first + DELETED_BY_FLUSH, 2**61)
    ]
    store.write([(key, b"") for key in blocks])
    window._levels._dead = [(0, first, 2**60), (1, 2**50, 2**60)]
    for left in (blocks[1:], blocks[2:]):
        window.insert(1.0)
        window.flush()
        assert [key for key in blocks if key in store.values] == left
    assert window.metrics.blocks_deleted == 2 * DELETED_BY_FLUSH
    assert window._levels._dead == [(0, first + 2 * DELETED_BY_FLUSH, 2**60), (1, 2**50, 2**60)]
