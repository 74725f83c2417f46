"""A run shown in several ways at once: on the terminal, to Prometheus, on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windrow.cli.show.lines import Reporter
from windrow.cli.show.progress import Progress, Totals

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Several"]


class Several:
    """Hands everything on, in order."""

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self._reporters = reporters

    def note(self, text: str) -> None:
        for reporter in self._reporters:
            reporter.note(text)

    def progress(self, progress: Progress, totals: Totals) -> None:
        for reporter in self._reporters:
            reporter.progress(progress, totals)

    def results(self, table: pa.Table) -> None:
        for reporter in self._reporters:
            reporter.results(table)

    def ended(self, summary: dict[str, Any], text: str) -> None:
        for reporter in self._reporters:
            reporter.ended(summary, text)

    def close(self) -> None:
        for reporter in self._reporters:
            reporter.close()
