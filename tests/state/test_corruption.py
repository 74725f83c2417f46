"""Stores whose content was changed from outside: a named error or the right result, never a wrong number, and
nothing in them is ever executed."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import windrow as wr
from windrow.state import MemoryStore, StateError, Store
from windrow.state.levels.blocks import BlockCodec
from windrow.swag.mta import MonoidTree
from windrow.swag.mta_stored import MANIFEST

both = pytest.mark.parametrize("algorithm", [wr.swag.LogMTA, wr.swag.AMTA])
Algorithm = type[MonoidTree]
AGGREGATES = [wr.sum, wr.collect, wr.together(n=wr.count, top=wr.max), wr.median]
CANARY: list[str] = []


class Bomb:
    """Leaves a trace if anything unpickles it."""

    def __reduce__(self) -> Any:
        return CANARY.append, ("executed",)


def build(algorithm: Algorithm, aggregate: Any, store: Store) -> Any:
    window = algorithm.open(store, "w", aggregate, buffer=4, cache=2, block=2)
    for number in range(40):
        window.insert(None if number % 9 == 4 else float(number % 11))
        if number > 25:
            window.evict()
    window.close()


def results(algorithm: Algorithm, aggregate: Any, store: Store) -> Iterator[Any]:
    """All that a window can say, read to its end; stops with the error that the store causes."""
    window = algorithm.open(store, "w", aggregate, buffer=4, cache=2, block=2)
    yield len(window)
    while len(window):
        yield window.query()
        window.evict()


def check_each_slot(
    algorithm: Algorithm, aggregate: Any, store: Store, change: Callable[[bytes, bytes], bytes | None]
) -> int:
    """Change one value after the other; how many changes were noticed."""
    build(algorithm, aggregate, store)
    content = {key: store.get(key) or b"" for key in store.scan(b"")}
    expected = list(results(algorithm, aggregate, store))
    noticed = 0
    for key, value in content.items():
        store.write(content.items(), [k for k in store.scan(b"") if k not in content])
        changed = change(key, value)
        store.write([] if changed is None else [(key, changed)], [key] if changed is None else [])
        found: list[Any] = []
        try:
            for result in results(algorithm, aggregate, store):
                found.append(result)
        except StateError:
            noticed += 1
            assert found == expected[: len(found)], "a wrong result came before the error"
        else:
            is_new = key.startswith(b"wm") and changed is None  # then there is no window
            assert found == ([0] if is_new else expected)
    return noticed


@both
@pytest.mark.parametrize("aggregate", AGGREGATES, ids=lambda aggregate: aggregate.name)
@pytest.mark.parametrize(
    "change",
    [
        lambda key, value: value[: len(value) // 2],
        lambda key, value: b"",
        lambda key, value: value + b"\0",
        lambda key, value: value[:-3] + bytes([value[-3] ^ 4]) + value[-2:],
        lambda key, value: value[:20] + bytes([value[20] ^ 1]) + value[21:] if len(value) > 20 else None,
        lambda key, value: None,
        lambda key, value: pickle.dumps(Bomb()),
        lambda key, value: b"WRST\x01" + value[5:],
    ],
    ids=["halved", "emptied", "longer", "flipped", "flipped head", "missing", "pickle", "version"],
)
def test_every_slot(algorithm: Algorithm, aggregate: Any, change: Any) -> None:
    assert check_each_slot(algorithm, aggregate, MemoryStore(), change) >= 5
    assert CANARY == []


@both
def test_a_canary_pickle_in_every_slot_is_never_executed(algorithm: Algorithm, store: Store) -> None:
    assert check_each_slot(algorithm, wr.sum, store, lambda key, value: pickle.dumps(Bomb())) >= 5
    for key in list(store.scan(b"")):
        store.write([(key, pickle.dumps(Bomb()))])
    with pytest.raises(StateError, match="windrow's mark"):
        algorithm.open(store, "w", wr.sum)
    assert CANARY == []


@both
def test_blocks_that_were_exchanged_are_noticed(algorithm: Algorithm) -> None:
    store = MemoryStore()
    build(algorithm, wr.sum, store)
    blocks = list(store.scan(b"wb\x00\x01w\x00"))
    store.values[blocks[0]], store.values[blocks[1]] = store.values[blocks[1]], store.values[blocks[0]]
    with pytest.raises(StateError, match="changed or moved"):
        list(results(algorithm, wr.sum, store))


@both
def test_blocks_of_an_older_checkpoint_are_noticed(algorithm: Algorithm) -> None:
    """An older copy of a block that was not full has too few pairs; a full one is the same as now."""
    store = MemoryStore()
    window = algorithm.open(store, "w", wr.sum, buffer=4, cache=2, block=8)
    copies: list[dict[bytes, bytes]] = []
    for number in range(60):
        window.insert(float(number))
        window.flush()
        copies.append(dict(store.values))
    now = dict(store.values)
    expected = list(results(algorithm, wr.sum, store))
    noticed = 0
    for copy in copies:
        for key in copy:
            if key.startswith(b"wb") and copy[key] != now[key]:
                store.values = now | {key: copy[key]}
                found: list[Any] = []
                with contextlib.suppress(StateError):
                    for result in results(algorithm, wr.sum, store):
                        found.append(result)
                noticed += found != expected
                assert found == expected[: len(found)]
    assert noticed > 20


def test_a_manifest_of_another_window_is_noticed() -> None:
    store = MemoryStore()
    build(wr.swag.AMTA, wr.sum, store)
    other = wr.swag.AMTA.open(store, "x", wr.sum)
    other.close()
    keys = list(store.scan(b"wm"))
    store.values[keys[1]] = store.values[keys[0]]
    with pytest.raises(StateError, match="changed or moved"):
        wr.swag.AMTA.open(store, "x", wr.sum)


@pytest.mark.parametrize(
    "manifest",
    [
        None,
        [],
        {},
        {"epoch": 1},
        {"epoch": 1, "block": 0},
        {"epoch": 1, "block": 2**70},
        {"epoch": -1, "block": 2},
    ],
    ids=range(7),
)
@pytest.mark.parametrize("rest", [b"", b"0", b"d\x00", b"[\x010"])
def test_a_forged_manifest_with_a_good_checksum(manifest: Any, rest: bytes) -> None:
    store = MemoryStore()
    build(wr.swag.AMTA, wr.sum, store)
    key = b"wm\x00\x01w"
    if type(manifest) is dict:
        manifest = MANIFEST.unpack(store.values[key], key) | {"rest": rest} | manifest
    store.values[key] = MANIFEST.pack(manifest, key)
    with pytest.raises(StateError):
        wr.swag.AMTA.open(store, "w", wr.sum)


# -- blocks --------------------------------------------------------------------------------------------------


def test_blocks_come_back_whatever_they_hold() -> None:
    identity = (float("inf"), 0)
    codec = BlockCodec(5, identity, ())
    for pairs in (
        [],
        [(1.0, 2.0), (-0.0, float("inf"))],
        [(1, 2), (3, 2**63 - 1)],
        [(1, 2), (3, 2**63)],
        [(1, 2.0), ("x", None)],
        [((1, 2.0), (3, 4.0)), ((5, 6.0), identity)],
        [((1, 2.0), (3,)), ((), identity)],
        [(identity, identity)],
        [((1.0, (2, True)), (3.0, (4, False)))],
        [None, None, (1, 2)],
        [("a", "b"), (identity, "c")],
    ):
        found = codec.decode(b"key", codec.encode(b"key", pairs))
        assert list(found) == pairs
        flat = [side for pair in found if pair for side in pair]
        assert all(side is identity for side in flat if side == identity)


@pytest.mark.parametrize(
    "pairs", [[(1.0, 2.0)] * 4, [((1, 2), (3, 4))] * 4, [("a", b"b")] * 4, [(None, 1)] * 4]
)
def test_hostile_blocks_with_a_good_checksum(pairs: Any) -> None:
    from windrow.state.codec import frame, unframe

    codec = BlockCodec(5, (0, 0), ())
    payload = bytearray(unframe("block", codec.encode(b"key", pairs), b"key"))
    for at in range(len(payload)):
        for byte in (0, 1, 127, 255, payload[at] ^ 16):
            hostile = payload.copy()
            hostile[at] = byte
            with contextlib.suppress(StateError):
                [*codec.decode(b"key", frame("block", hostile, b"key"))]
            with contextlib.suppress(StateError):
                [*codec.decode(b"key", frame("block", hostile[:at], b"key"))]
