"""``--serve``: the page of a run, as one more reporter of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.cli.addresses import Address
from windrow.cli.charts.layout import layout_of_job
from windrow.cli.charts.lines import Lines
from windrow.cli.connections import Note, say_on_errors
from windrow.cli.job import FILE_FORMATS, Job
from windrow.cli.live.files import ResultFiles
from windrow.cli.live.server import PageServer
from windrow.cli.live.state import LiveState
from windrow.cli.show.lines import Silent
from windrow.cli.show.progress import Progress, Totals

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RunPage"]


class RunPage(Silent):
    """On Spark, results are read where the sink has written them; the local engine hands them over."""

    def __init__(self, job: Job, engine: str, address: Address, note: Note = say_on_errors) -> None:
        sink = job.sink
        reads_back = engine == "spark" and sink.format in FILE_FORMATS and "://" not in str(sink.path)
        has_results = engine == "local" or reads_back
        lines = Lines(layout_of_job(job)) if has_results else None
        self._state = LiveState(job.name, engine, lines, job)
        self._files = (
            ResultFiles(Path(str(sink.path).removeprefix("file:")), sink.format) if reads_back else None
        )
        self._cannot_read = False
        if not has_results:
            self._state.note(f"the results go to {sink.format}, from where they are not read back")
        self._server = PageServer(self._state, address, note=note)
        self.url, self.printed_url = self._server.url, self._server.printed_url

    def note(self, text: str) -> None:
        self._state.note(text)

    def progress(self, progress: Progress, totals: Totals) -> None:
        self._state.progress(progress, totals)
        self._read_back()

    def results(self, table: pa.Table) -> None:
        self._state.results(table)

    def ended(self, summary: dict[str, Any], text: str) -> None:
        self._read_back()
        self._state.end(summary["status"], text or str(summary.get("error", "")))

    def _read_back(self) -> None:
        """A page that cannot read results is no reason for a run to fail."""
        if self._files is None or self._cannot_read:
            return
        try:
            for table in self._files.fresh():
                self._state.results(table)
        except Exception as error:
            self._cannot_read = True
            self._state.note(f"the results cannot be shown: {type(error).__name__}: {error}")

    def close(self) -> None:
        self._server.close()
