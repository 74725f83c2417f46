"""What windows have in common that one column of flags decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windrow.windows.arguments import check_column
from windrow.windows.base import Window

__all__ = ["FlaggedWindow"]


@dataclass(frozen=True, init=False, repr=False)
class FlaggedWindow(Window):
    """A window that a boolean column decides, row by row in order of time."""

    ties_matter = True
    column: str

    def __init__(self, column: str) -> None:
        object.__setattr__(self, "column", check_column(column))

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def _arguments(self) -> Iterator[str]:
        yield repr(self.column)
