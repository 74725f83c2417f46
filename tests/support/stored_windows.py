"""Windows on stores, for tests: as a killed process leaves them, and a store that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.state import MemoryStore, StoreUnavailable


def copied(store: MemoryStore) -> MemoryStore:
    """What a store holds at this moment: what a process that is killed now leaves behind."""
    copy = MemoryStore()
    with store._lock:
        copy.values = dict(store.values)
    return copy


class Flaky(MemoryStore):
    """Fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.calls = 0

    def _try(self) -> None:
        self.calls += 1
        if self.is_away:
            raise StoreUnavailable("away")

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._try()
        return super().get_many(keys)

    def write(self, *arguments: Any, **options: Any) -> None:
        self._try()
        super().write(*arguments, **options)
