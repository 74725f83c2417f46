"""Reports of a run as one HTML page that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from windrow.cli.record import Record
from windrow.cli.report.page import page

__all__ = ["replace_file", "write_report"]


def write_report(record: Record, path: Path) -> None:
    """Write the report of a run."""
    replace_file(path, page(record))


def replace_file(path: Path, text: str) -> None:
    """Write a file; an earlier one is replaced only by a whole one."""
    hidden = path.with_name(f".{path.name}.unfinished")
    hidden.write_text(text, encoding="utf-8")
    hidden.replace(path)
