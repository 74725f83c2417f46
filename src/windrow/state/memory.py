"""A store in memory: for tests, and for windows that need no other place. It ends with the process."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence

from windrow.state.store import Guard, Item, Store, check_guards

__all__ = ["MemoryStore"]


class MemoryStore(Store):
    """Keys and values in a dict.

    >>> store = MemoryStore()
    >>> store.write([(b"key", b"value")])
    >>> store.get(b"key"), len(store)
    (b'value', 1)
    """

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def write(
        self,
        puts: Iterable[Item],
        deletes: Iterable[bytes] = (),
        *,
        sync: bool = False,
        guards: Sequence[Guard] = (),
    ) -> None:
        with self._lock:
            check_guards(guards, [self.values.get(key) for key, _ in guards])
            self.values.update(puts)
            for key in deletes:
                self.values.pop(key, None)

    def scan(self, prefix: bytes) -> Iterator[bytes]:
        with self._lock:
            return iter(sorted(key for key in self.values if key.startswith(prefix)))

    def __len__(self) -> int:
        return len(self.values)
