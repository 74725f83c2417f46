"""Opening windows that are in a key-value store, and deleting them.

A window's manifest has facts that must be the same whenever it is opened (algorithm, aggregate, identity) and
the rest, which is read once they agree. The process that opens a window becomes its owner: a token in the
store that every write is conditional on, so that an earlier owner that is still alive can do no harm."""

from __future__ import annotations

import secrets
import zlib
from typing import Any, get_args

from windrow.errors import CorruptState, StateError, UnstorableValue
from windrow.monoids.base import Monoid, as_monoid
from windrow.state.codec import Codec, records_in
from windrow.state.levels.blocks import MOST_PAIRS, BlockCodec
from windrow.state.levels.stored import MANIFEST, StoredLevels
from windrow.state.store import Store
from windrow.swag.amta import AMTA
from windrow.swag.log_mta import LogMTA
from windrow.swag.mta import MonoidTree
from windrow.swag.mta_checks import side_check
from windrow.swag.mta_stored import Durability, Keys, StoredAMTA, StoredLogMTA

__all__ = ["delete_window", "open_window"]

#: a block of about this many bytes is read at once
_BLOCK_BYTES = 32768
_MOST_IN_A_BLOCK = 64


def open_window(
    algorithm: type[MonoidTree],
    store: Store,
    window_id: str,
    monoid: Any,
    *,
    buffer: int = 512,
    cache: int = 512,
    block: int | None = None,
    durability: Durability = "buffered",
) -> Any:
    """The window of that id in a store, as it was at its last checkpoint; a new one if there is none."""
    _check(store, buffer, cache, block, durability)
    monoid = as_monoid(monoid)
    kind, stored = next((base, made) for base, made in _STORED.items() if issubclass(algorithm, base))
    keys = Keys(window_id)
    facts = _facts(kind, monoid)
    manifest = _owned(store, window_id, keys, facts, token := secrets.token_bytes(16))
    if manifest is None:
        facts |= {"epoch": 1 + secrets.randbelow(2**63 - 1), "block": block or _block_size(monoid)}
    else:
        facts |= {name: manifest[name] for name in ("epoch", "block")}
    records = records_in(monoid.identity)
    blocks = BlockCodec(facts["epoch"], monoid.identity, records)
    checked = side_check(monoid)
    sizes = {"block": facts["block"], "cache": cache}
    levels = StoredLevels(store, keys.blocks, blocks, (keys.owner, token), check=checked, **sizes)
    window: Any = stored(monoid, levels)
    window._set_up(window_id, levels, facts, blocks.values, buffer, durability, checked)
    if manifest is not None:
        _recover(window, manifest)
    return window


def _owned(
    store: Store, window_id: str, keys: Keys, facts: dict[str, Any], token: bytes
) -> dict[str, Any] | None:
    """The manifest, once no one else can write another; a window that is refused keeps its owner."""
    found = store.get(keys.manifest)
    manifest = _checked(window_id, keys, found, facts)
    store.write([(keys.owner, token)])
    again = store.get(keys.manifest)
    return manifest if again == found else _checked(window_id, keys, again, facts)


def _checked(window_id: str, keys: Keys, found: bytes | None, facts: dict[str, Any]) -> dict[str, Any] | None:
    if found is None:
        return None
    manifest: dict[str, Any] = MANIFEST.unpack(found, keys.manifest)
    limits = {"epoch": 2**63, "block": MOST_PAIRS + 1}
    if type(manifest) is not dict or not all(
        type(manifest.get(name)) is int and 0 < manifest[name] < limit for name, limit in limits.items()
    ):
        raise CorruptState(f"window {window_id!r}: the manifest makes no sense")
    _check_facts(window_id, manifest, facts)
    return manifest


def _recover(window: Any, manifest: dict[str, Any]) -> None:
    """Take up what is stored."""
    try:
        window._take_up(window._partials.value(memoryview(manifest["rest"])))
    except StateError as error:
        raise type(error)(f"window {window.window_id!r}: {error}") from error
    except MemoryError:
        raise
    except Exception as error:
        raise CorruptState(f"window {window.window_id!r}: the manifest makes no sense: {error!r}") from error


_STORED: dict[type[MonoidTree], Any] = {AMTA: StoredAMTA, LogMTA: StoredLogMTA}


def _check(store: Any, buffer: int, cache: int, block: int | None, durability: str) -> None:
    if not isinstance(store, Store):
        raise TypeError(
            f"{store!r} is not a store: use MemoryStore, RocksDBStore or RedisStore of windrow.state"
        )
    for name, value in (("buffer", buffer), ("cache", cache), ("block", 1 if block is None else block)):
        if not 1 <= value <= MOST_PAIRS:
            raise ValueError(f"{name}={value}: give a number of pairs from 1 to {MOST_PAIRS}")
    if durability not in get_args(Durability):
        raise ValueError(
            f"durability={durability!r}: use one of {', '.join(map(repr, get_args(Durability)))}"
        )


def _facts(algorithm: type[MonoidTree], monoid: Monoid) -> dict[str, Any]:
    """What must be the same whenever a window is opened."""
    return {
        "algorithm": algorithm.__name__,
        "aggregate": _described(monoid),
        "identity": zlib.crc32(_plain(monoid) or b""),
    }


def _check_facts(window_id: str, manifest: dict[str, Any], facts: dict[str, Any]) -> None:
    for name, given in facts.items():
        if manifest.get(name) != given:
            was, now = (manifest.get(name), given) if name != "identity" else ("of then", "another one")
            raise StateError(
                f"window {window_id!r} was stored with {name} {was!r} and is opened with {now!r}: "
                f"open it as it was, or use another id"
            )


def _described(monoid: Monoid) -> str:
    """What a stored window remembers of its aggregate, to refuse another one."""
    parameters = [f"{name}={value!r}" for name, value in monoid.parameters.items()]
    rules = [f"nulls={monoid.nulls}"] * (monoid.nulls != "skip") + [f"nan={monoid.nan}"] * (
        monoid.nan != "propagate"
    )
    return f"{monoid.name}({', '.join(parameters + rules)})"


def _plain(monoid: Monoid) -> bytes | None:
    """The bytes of the identity; None if it is an object that only the aggregate knows."""
    try:
        return bytes(Codec("identity", records=records_in(monoid.identity)).payload(monoid.identity))
    except UnstorableValue:
        return None


def _block_size(monoid: Monoid) -> int:
    """As many pairs as fit in a block of moderate size, going by the identity."""
    size = len(_plain(monoid) or b".")
    return max(1, min(_MOST_IN_A_BLOCK, _BLOCK_BYTES // (2 * size)))


def delete_window(store: Store, window_id: str) -> None:
    """Remove a window and all its keys from a store.

    >>> import windrow as wr
    >>> from windrow.state import MemoryStore
    >>> store = MemoryStore()
    >>> wr.swag.AMTA.open(store, "calls", wr.sum).close()
    >>> delete_window(store, "calls")
    >>> len(store)
    0
    """
    keys = Keys(window_id)
    store.write([], [keys.owner])  # from here on no one else writes
    store.write([], [keys.manifest])
    some: list[bytes] = []
    for key in store.scan(keys.blocks):
        some.append(key)
        if len(some) >= 1024:
            store.write([], some)
            some = []
    store.write([], some)
