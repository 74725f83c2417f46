"""What windrow asks of a key-value store: batched reads, atomic batched writes, and a scan by prefix.

Keys and values are bytes; what they mean is known to :mod:`windrow.state.codec` alone, so that no store ever
interprets a value. A write is atomic: all of its puts and deletes are seen, or none, also after a crash. That
and order (a write that returned is seen by every later read and survives the death of this process) is all
that a window needs to be recovered exactly.

A *guard* makes a write conditional on the value of one key. Windows use it so that of two processes that
opened the same window only the later one writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from windrow.errors import WindowTaken

__all__ = ["Guard", "Item", "Store", "block_key", "check_guards", "key_of", "windows"]

Item = tuple[bytes, bytes]
#: a key and the value that it must have for a write to happen
Guard = tuple[bytes, bytes]


class Store(ABC):
    """A key-value store; subclasses say where. Methods may be called from several threads.

    >>> from windrow.state import MemoryStore
    >>> store = MemoryStore()
    >>> store.write([(b"a/1", b"one"), (b"a/2", b"two")], deletes=[b"b"])
    >>> store.get_many([b"a/2", b"b"])
    [b'two', None]
    >>> list(store.scan(b"a/"))
    [b'a/1', b'a/2']
    """

    @abstractmethod
    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of keys, None where there is none; one round trip."""

    @abstractmethod
    def write(
        self,
        puts: Iterable[Item],
        deletes: Iterable[bytes] = (),
        *,
        sync: bool = False,
        guards: Sequence[Guard] = (),
    ) -> None:
        """Put and delete, all or nothing. ``sync``: return when it is as safe as can be."""

    @abstractmethod
    def scan(self, prefix: bytes) -> Iterator[bytes]:
        """The keys that begin with a prefix, in order."""

    def get(self, key: bytes) -> bytes | None:
        return self.get_many([key])[0]

    def close(self) -> None:  # noqa: B027 - a store that holds nothing open has nothing to do
        """Let go of files and connections."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_guards(guards: Sequence[Guard], found: Sequence[bytes | None]) -> None:
    """Raise if a guarded key has another value."""
    if any(value != guard[1] for guard, value in zip(guards, found, strict=True)):
        raise WindowTaken(
            "this window was opened again or deleted since, here or by another process, and only the last to "
            "open it may write: open it anew to go on from what is stored"
        )


#: what the keys of manifests begin with; those of a user must not begin with "w"
MANIFESTS = b"wm"

# -- keys ----------------------------------------------------------------------------------------------------


def key_of(window_id: str, what: str) -> bytes:
    r"""The key of one of a window's records, by its letter: all of a kind are next to each other.

    >>> key_of("calls", "m")
    b'wm\x00\x05calls'
    """
    name = window_id.encode()
    if not 0 < len(name) < 65536:
        raise ValueError(f"window id {window_id[:40]!r}...: give a text of 1 to 65,535 bytes")
    return b"w" + what.encode() + len(name).to_bytes(2, "big") + name


def block_key(prefix: bytes, level: int, number: int) -> bytes:
    """The key of a block of pairs: window, level and position, so that keys sort as the pairs do."""
    return b"%b%c%b" % (prefix, level, number.to_bytes(8, "big"))


def windows(store: Store) -> list[str]:
    """The ids of all windows in a store.

    >>> import windrow as wr
    >>> from windrow.state import MemoryStore
    >>> store = MemoryStore()
    >>> wr.swag.AMTA.open(store, "calls by region, north", wr.sum).close()
    >>> windows(store)
    ['calls by region, north']
    """
    return [key[4:].decode(errors="replace") for key in store.scan(MANIFESTS)]
