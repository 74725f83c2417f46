"""What the page shows: steps, totals, notes and results, as a run goes on or as they were found.

A run feeds it from its own thread, and requests read it from others: both take its lock. ``version`` grows
with every change, so that a page knows when to ask again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from windrow.cli.charts.lines import Lines
from windrow.cli.job import Job
from windrow.cli.job.secrets import scrubbed
from windrow.cli.show.lines import Silent
from windrow.cli.show.progress import Progress, Totals

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LiveState"]

#: steps and notes that are kept
_MOST_STEPS, _MOST_NOTES = 2_000, 20


class LiveState(Silent):
    """Of a run with its job; of results that were found without one."""

    def __init__(self, name: str, engine: str, lines: Lines | None, job: Job | None = None) -> None:
        self.name, self.engine, self.job = name, engine, job
        self.lines = lines
        self.status = "running"
        self.message = ""
        self.steps: deque[Progress] = deque(maxlen=_MOST_STEPS)
        self.notes: deque[str] = deque(maxlen=_MOST_NOTES)
        self.totals = Totals()
        self.began = time.time()
        self.ended_at: float | None = None
        self.version = 0
        self.lock = threading.RLock()

    def note(self, text: str) -> None:
        with self.lock:
            self.notes.append(self._without_secrets(text))
            self.version += 1

    def progress(self, progress: Progress, totals: Totals) -> None:
        with self.lock:
            self.steps.append(progress)
            self.totals = totals
            self.version += 1

    def results(self, table: pa.Table) -> None:
        with self.lock:
            if self.lines is not None and table.num_rows:
                self.lines.add(table)
                self.version += 1

    def ended(self, summary: dict[str, Any], text: str) -> None:
        self.end(summary["status"], text)

    def end(self, status: str, text: str) -> None:
        with self.lock:
            self.status, self.ended_at = status, time.time()
            self.message = self._without_secrets(text)
            self.version += 1

    @property
    def watermark(self) -> Any:
        """The last that is known."""
        return next((step.watermark for step in reversed(self.steps) if step.watermark is not None), None)

    @property
    def largest(self) -> Any:
        return next((step.largest for step in reversed(self.steps) if step.largest is not None), None)

    def _without_secrets(self, text: str) -> str:
        return text if self.job is None else scrubbed(text, self.job.settings)
