"""A value that is at hand, or is loaded when it is asked for.

Pieces of an operator's state that a store may hold are made of such values: blocks of slices
(:class:`windrow.slicing.blocks.Block`), their wholes, and chunks of rows
(:class:`windrow.engines.kept_rows.chunk.Chunk`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["OnDemand"]

T = TypeVar("T")


class OnDemand(Generic[T]):
    """A value, or how to load it. One that does not *keep* what it loads loads it whenever it is asked for:
    the caller who gives it the function decides what stays in memory.

    >>> loaded = OnDemand(load=lambda: [1, 2])
    >>> loaded.is_loaded, loaded.get(), loaded.is_loaded
    (False, [1, 2], True)
    >>> loaded = OnDemand(load=lambda: [1, 2], keeps=False)
    >>> loaded.get(), loaded.is_loaded
    ([1, 2], False)
    """

    def __init__(
        self, value: T | None = None, load: Callable[[], T] | None = None, keeps: bool = True
    ) -> None:
        self._value, self._load, self.keeps = value, load, keeps

    @property
    def is_loaded(self) -> bool:
        return self._value is not None

    @property
    def can_load(self) -> bool:
        return self._load is not None

    def get(self) -> T:
        if self._value is not None:
            return self._value
        assert self._load is not None, "a value, or a way to load it"
        return self.kept(self._load())

    def kept(self, value: T) -> T:
        """The value, which was loaded or made now, and stays if values are kept."""
        if self.keeps:
            self._value, self._load = value, None
        return value
