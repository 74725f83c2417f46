"""``windrow serve``: results that were written, or the state in a checkpoint, on a page."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from windrow.cli.addresses import read_address
from windrow.cli.commands.reading import conf_of
from windrow.cli.errors import JobError
from windrow.cli.show.out import say_line
from windrow.cli.show.progress import Progress
from windrow.cli.stopping import Stopping

__all__ = ["execute"]

#: seconds between two looks for new files
_PAUSE = 1.0
#: columns of the slices in a checkpoint that are not keys
_SLICES = ("bucket", "part", "first", "last", "rows", "came_late")


def execute(options: argparse.Namespace) -> int:
    from windrow.cli.live.server import PageServer, check_installed

    check_installed("windrow serve")
    address, path = read_address(options.at, "--at"), Path(options.path)
    if not path.exists():
        raise JobError(f"{options.path}: there is no such file or folder: name the results or the checkpoint")
    source = _Checkpoint(path, options) if (path / "offsets").is_dir() else _Results(path)
    server = PageServer(source.state, address, "--at")
    say_line(f"serving {options.path} at {server.printed_url} (Ctrl-C ends it)")
    with Stopping() as stopping:
        while not stopping.asked:
            source.look()
            time.sleep(_PAUSE)
    server.close()
    return 0


class _Results:
    """Files of results; those that come later are shown, too."""

    def __init__(self, path: Path) -> None:
        from windrow.cli.charts.layout import OPTIONAL, layout_of_columns
        from windrow.cli.charts.lines import Lines
        from windrow.cli.live.files import ResultFiles
        from windrow.cli.live.state import LiveState

        self._files = ResultFiles(path)
        first = self._fresh(path)
        if not first:
            raise JobError(f"{path}: there are no results: parquet, csv or json files that windrow wrote")
        layout = layout_of_columns(first[0].schema)
        if layout is None:
            raise JobError(
                f"{path}: these are not results of windows, which have columns window_start and window_end: "
                f"they have {', '.join(first[0].column_names)}"
            )
        self._path = path
        self.state = LiveState(path.name, "results", Lines(layout))
        self.state.status = "done"
        self._needed = [name for name in first[0].column_names if name not in OPTIONAL]
        for table in first:
            self._add(table)

    def _fresh(self, path: Path) -> list[Any]:
        try:
            return list(self._files.fresh())
        except (OSError, ValueError) as error:
            raise JobError(f"{path}: {error}") from error

    def look(self) -> None:
        """A file that cannot be shown is no reason to end: it is said on the page."""
        try:
            for table in self._fresh(self._path):
                self._add(table)
        except JobError as error:
            self.state.note(str(error))

    def _add(self, table: Any) -> None:
        missing = [name for name in self._needed if name not in table.column_names]
        if missing:
            raise JobError(f"{self._path}: a file has no column {missing[0]!r}, which the first one has")
        self.state.results(table)


class _Checkpoint:
    """The slices that a stream keeps, read once, by Spark; and the watermark of each micro-batch."""

    def __init__(self, path: Path, options: argparse.Namespace) -> None:
        from windrow.cli.charts.layout import Layout
        from windrow.cli.charts.lines import Lines
        from windrow.cli.commands.state import read_slices
        from windrow.cli.live.state import LiveState
        from windrow.cli.show.progress import Totals

        table = read_slices(str(path), conf_of(options))
        keys = tuple(name for name in table.column_names if name not in _SLICES)
        self.state = LiveState(path.name, "checkpoint", Lines(Layout(keys, "last", ("rows",), "first")))
        self.state.status = "done"
        for step in _logged_steps(path):
            self.state.progress(step, Totals())
        self.state.results(table)

    def look(self) -> None:
        """Spark is not asked again."""


def _logged_steps(path: Path) -> Iterator[Progress]:
    """The watermark with which each micro-batch began, as Spark's log of offsets has it."""
    files = [file for file in (path / "offsets").iterdir() if file.name.isdigit()]
    for file in sorted(files, key=lambda file: int(file.name)):
        lines = file.read_text(encoding="utf-8").splitlines()
        settings: dict[str, Any] = json.loads(lines[1]) if len(lines) > 1 else {}
        mark = settings.get("batchWatermarkMs", 0)
        moment = dt.datetime.fromtimestamp(mark / 1000, dt.UTC) if mark else None
        yield Progress(int(file.name), 0.0, watermark=moment)
