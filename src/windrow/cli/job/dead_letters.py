"""``[late]`` and ``[rejected]``: where rows go that no result holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windrow.cli.errors import JobError
from windrow.cli.job.fields import Fields
from windrow.cli.job.formats import check_sink
from windrow.cli.job.line_numbers import LineNumbers, placed
from windrow.cli.job.model import FILE_FORMATS, Sink, Source

__all__ = ["DEAD_LETTERS", "DEAD_LETTER_KEYS", "check_settings", "read_dead_letters"]

#: the tables, with the setting of [events] that hands such rows back, and what it must be
DEAD_LETTERS = {"late": ("late", "return"), "rejected": ("on_error", "reject")}
DEAD_LETTER_KEYS = ("format", "path", "options")


def check_settings(data: dict[str, Any], events: Fields, is_stream: bool) -> None:
    """Refuse a table for rows that are not handed back."""
    for table, (setting, wanted) in DEAD_LETTERS.items():
        if table in data and events.data.get(setting, wanted) not in (wanted, "emit"):
            events.refuse(
                setting, f"[{table}] is for rows that are handed back: write {wanted!r}, or leave this out"
            )
    if "late" in data and not is_stream:
        raise JobError(
            f"{events.places.at('late')}: only rows of a stream are late: set stream = true in [source], or "
            f"take [late] out"
        )


def read_dead_letters(
    table: str, data: dict[str, Any], places: LineNumbers, file: Path, source: Source, results: Sink
) -> Sink | None:
    """Where such rows go; None: the job does not say."""
    if table not in data:
        return None
    fields = Fields(data[table], places, table, DEAD_LETTER_KEYS)
    found = Sink(
        format=fields.text("format"),
        path=placed(fields.text("path", None), file, fields.text("format")),
        mode=results.mode,
        checkpoint=None,
        trigger=results.trigger,
        options=fields.settings("options"),
        table=table,
    )
    if found.format in FILE_FORMATS and found.path is None:
        fields.refuse("path", f"this key is missing: say where the {found.format} files go")
    if found.path is not None and found.path == results.path:
        fields.refuse("path", "results go there already: name another folder")
    check_sink(found, source, [], fields)
    return found
