"""Progress as lines: plain ones for logs, JSON ones for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from windrow.cli.show.out import one_line, say_line
from windrow.cli.show.progress import Progress, Totals, human_bytes, human_seconds, human_time

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["JsonLines", "PlainLines", "Reporter", "Several", "Silent", "progress_text"]


class Reporter(Protocol):
    """What shows a run."""

    def note(self, text: str) -> None: ...

    def progress(self, progress: Progress, totals: Totals) -> None: ...

    def results(self, table: pa.Table) -> None:
        """Results of a step, where they pass through this process."""

    def ended(self, summary: dict[str, Any], text: str) -> None: ...

    def close(self) -> None: ...


def progress_text(progress: Progress, totals: Totals) -> str:
    """A step in one line of at most 80 columns.

    >>> print(progress_text(Progress(3, 9.0, rows=5_000, windows=12, seconds=0.5), Totals(rows=20_000)))
    #3 20,000 rows, 10,000/s | watermark - | late 0 | windows 0 | 0 B | 500 ms
    """
    lag = progress.lag()
    parts = [
        f"#{progress.batch} {totals.rows:,} rows, {progress.rows_per_second:,.0f}/s",
        f"watermark {human_time(progress.watermark)}",
        *([] if lag is None or lag > 86_400 * 3 else [f"lag {human_seconds(lag)}"]),
        f"late {totals.late_text}",
        f"windows {totals.windows:,}",
        human_bytes(progress.state_bytes),
        human_seconds(progress.seconds),
    ]
    return " | ".join(parts)


class Silent:
    """Shows nothing."""

    def note(self, text: str) -> None:
        pass

    def progress(self, progress: Progress, totals: Totals) -> None:
        pass

    def results(self, table: pa.Table) -> None:
        pass

    def ended(self, summary: dict[str, Any], text: str) -> None:
        pass

    def close(self) -> None:
        pass


class PlainLines(Silent):
    """A line per step on the error output, so that results may be piped."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr

    def note(self, text: str) -> None:
        say_line(text, self._out)

    def progress(self, progress: Progress, totals: Totals) -> None:
        self.note(progress_text(progress, totals))

    def ended(self, summary: dict[str, Any], text: str) -> None:
        if text:
            self.note(text)


class JsonLines(Silent):
    """An object a line on the standard output: note, progress, end."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout

    def _write(self, event: str, **values: Any) -> None:
        line = json.dumps({"event": event, **values}, default=str)
        print(f"{line}\n", end="", file=self._out, flush=True)  # whole, whichever thread writes

    def note(self, text: str) -> None:
        self._write("note", text=one_line(text))

    def progress(self, progress: Progress, totals: Totals) -> None:
        self._write("progress", **progress.as_dict())

    def ended(self, summary: dict[str, Any], text: str) -> None:
        self._write("end", **summary)


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
