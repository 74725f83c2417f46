"""Progress on a terminal: one line that stays, redrawn by rich."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from windrow.cli.show.lines import Silent
from windrow.cli.show.out import one_line
from windrow.cli.show.progress import Progress, Totals, human_bytes, human_seconds, human_time

__all__ = ["LiveLine"]

#: widths at which more is shown
_WIDE = 110


class LiveLine(Silent):
    """A small table: a head and one row of numbers, at most as wide as the terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=4, transient=False)
        self._begun = False

    def note(self, text: str) -> None:
        self._console.print(one_line(text), markup=False, highlight=False)

    def progress(self, progress: Progress, totals: Totals) -> None:
        if not self._begun:
            self._live.start()
            self._begun = True
        self._live.update(self._table(progress, totals))

    def _table(self, progress: Progress, totals: Totals) -> Table:
        lag = progress.lag()
        cells = {
            "rows": f"{totals.rows:,}",
            "rows/s": f"{progress.rows_per_second:,.0f}",
            "watermark": human_time(progress.watermark)[5:],
            "lag": "-" if lag is None else human_seconds(lag),
            "late": totals.late_text,
            "windows": f"{totals.windows:,}",
            "state": human_bytes(progress.state_bytes),
            "batch": human_seconds(progress.seconds),
        }
        if self._console.width >= _WIDE:
            cells = {"micro-batch": f"{progress.batch}", **cells, "rejected": f"{totals.rejected:,}"}
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
        for name in cells:
            table.add_column(name, justify="right", no_wrap=True)
        table.add_row(*cells.values())
        return table

    def ended(self, summary: dict[str, Any], text: str) -> None:
        self.close()
        if text:
            self.note(text)

    def close(self) -> None:
        if self._begun:
            self._live.stop()
            self._begun = False
