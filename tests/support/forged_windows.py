"""Windows in a store whose manifests and blocks lie: AMTA and LogMTA. What a lie may change,
and what not, is said where it is checked."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import windrow as wr
from support.forgery import Forgery, Path, lie_in
from windrow.state import MemoryStore
from windrow.state.codec import frame, unframe
from windrow.state.levels.blocks import BlockCodec
from windrow.state.levels.stored import MANIFEST

AGGREGATES = [
    wr.sum,
    wr.concat,
    wr.collect,
    wr.median,
    wr.bloom(bits=64),
    wr.together(n=wr.count, top=wr.max, half=wr.median),
]
SIZES: dict[str, Any] = {"buffer": 4, "cache": 4, "block": 2}
#: parts of a manifest that say where garbage is, or may be read ahead: none of them changes a result
HARMLESS = {"dead", "runs"}


class Recorder(MemoryStore):
    """Keeps what it held after each write."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: list[dict[bytes, bytes]] = []

    def write(self, puts: Iterable[Any], deletes: Iterable[bytes] = (), **options: Any) -> None:
        super().write(puts, deletes, **options)
        self.copies.append(dict(self.values))


def _value(aggregate: Any, number: int) -> Any:
    if number % 9 == 4:
        return None
    return "abc"[number % 3] if aggregate.name in ("concat", "bloom") else float(number % 11)


class Window:
    """A window in a store, as a process that died has left it."""

    def __init__(self, algorithm: Any, aggregate: Any, timed: bool, durability: str) -> None:
        self.algorithm, self.aggregate, self.timed, self.durability = algorithm, aggregate, timed, durability
        store = Recorder()
        window = self._open(store)
        self._partials = window._partials
        self._epoch = window._facts["epoch"]
        self._grow(window)
        # of all that was ever stored the last with garbage to delete: the most there is to lie about
        self.entries = max(store.copies, key=lambda copy: (bool(self._rest(copy)["dead"]), len(copy)))
        self.honest = self.finished(self.entries)

    def __repr__(self) -> str:
        return f"{self.algorithm.__name__} of {self.aggregate.name}, timed={self.timed}, {self.durability}"

    def _open(self, store: Any) -> Any:
        return self.algorithm.open(store, "w", self.aggregate, durability=self.durability, **SIZES)

    def _grow(self, window: Any) -> None:
        if self.timed:
            values = [_value(self.aggregate, number) for number in range(90)]
            window.roll_time([number // 2 for number in range(60)], values[:60], 12)
            window.flush()
            window.roll_time([30 + number // 2 for number in range(30)], values[60:], 12)
            return
        for number in range(70):
            window.insert(_value(self.aggregate, number))
            if number == 40:
                window.evict_many(21)
                window.flush()
            elif number > 50:
                window.evict()
                window.query()

    def _rest(self, entries: dict[bytes, bytes]) -> Any:
        key = b"wm\0\1w"
        if key not in entries:
            return {"dead": []}
        return self._partials.value(memoryview(MANIFEST.unpack(entries[key], key)["rest"]))

    def finished(self, entries: dict[bytes, bytes]) -> list[Any]:
        """All that a window says which goes on from these entries, and is opened once more."""
        store = MemoryStore()
        store.values = dict(entries)
        window, found = self._open(store), []
        for count in (1, len(window) // 3, 0, 2):
            found += [len(window), window.query()]
            window.evict_many(min(count, len(window)))
            if self.timed:
                times = [200 + len(found)] * 2
                found.append(window.roll_time(times, [_value(self.aggregate, 7)] * 2, 10_000))
            else:
                window.insert(_value(self.aggregate, 7))
        for _ in range(5):
            window.evict()
            found.append(window.query())
        window.flush()
        window = self._open(store)
        found.append(window.evict_while(lambda total, old: len(found) < 5))
        found += [window.query(), len(window)]
        window.evict_many(len(window))
        window.close()
        store.close()
        return found

    def attempt(self, rng: random.Random) -> tuple[str, Callable[[], None]]:
        names = [name for name in self.entries if not name.startswith(b"wo")]
        manifests = [name for name in names if not name.startswith(b"wb")]
        name = rng.choice(manifests if rng.random() < 0.6 else names)
        data, paths = self._forged(name, rng)
        return f"{self!r}, entry {name!r}, {paths}", partial(self._run, self.entries | {name: data}, paths)

    def _forged(self, name: bytes, rng: random.Random) -> tuple[bytes, list[Path]]:
        data = self.entries[name]
        if name.startswith(b"wb"):
            return self._forged_block(name, data, rng)
        manifest = MANIFEST.unpack(data, name)
        if rng.random() < 0.1:
            del (rest := manifest.copy())["rest"]
            facts, paths = lie_in(rest, rng)
            return MANIFEST.pack(facts | {"rest": manifest["rest"]}, name), paths
        rest, paths = lie_in(self._partials.value(memoryview(manifest["rest"])), rng)
        payload = bytes(self._partials.payload(rest))
        return MANIFEST.pack(manifest | {"rest": payload}, name), [_told(path) for path in paths]

    def _forged_block(self, name: bytes, data: bytes, rng: random.Random) -> tuple[bytes, list[Path]]:
        if rng.random() < 0.5:
            payload = bytearray(unframe("block", data, name))
            at = rng.randrange(len(payload))
            payload[at] = rng.choice([0, 1, 127, 255, payload[at] ^ 16])
            return frame("block", payload, name), [("byte", at)]
        codec = BlockCodec(self._epoch, self.aggregate.identity, self._partials.records.values())
        pairs, paths = lie_in(list(codec.decode(name, data)), rng)
        whole = [pair if type(pair) is tuple and len(pair) == 2 else (pair, pair) for pair in pairs]
        return codec.encode(name, whole), paths

    def _run(self, entries: dict[bytes, bytes], paths: list[Path]) -> None:
        found = self.finished(entries)
        assert len(found) == len(self.honest)
        if all(HARMLESS & set(path) for path in paths):
            assert repr(found) == repr(self.honest)  # NaN is equal to itself here


def _told(path: Path) -> Path:
    """Where in a manifest; the fourth of what is said of a level are its runs."""
    return (*path, "runs") if path[0] == "levels" and len(path) > 2 and path[2] == 3 else path


def windows() -> list[Forgery]:
    return [
        Window(algorithm, aggregate, number % 4 == 1, "flush" if number % 3 == 0 else "buffered")
        for number, (algorithm, aggregate) in enumerate(
            (algorithm, aggregate) for aggregate in AGGREGATES for algorithm in (wr.swag.AMTA, wr.swag.LogMTA)
        )
    ]
