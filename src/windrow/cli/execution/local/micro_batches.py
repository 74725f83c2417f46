"""The files of a stream, cut into the micro-batches that Spark's file source makes of them.

Files are taken by the time of their last change, in milliseconds, the oldest first (``latestFirst``: the
newest). A micro-batch is all of them, or as many as ``maxFilesPerTrigger`` says, or as fit into
``maxBytesPerTrigger``, and at least one. Spark gives files that were changed in the same millisecond no order
of their own; here they are taken by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from windrow.cli.errors import JobError
from windrow.cli.job import Source

__all__ = ["LIMITS", "by_age", "micro_batches"]

#: the options that this follows, in small letters
LIMITS = ("maxfilespertrigger", "maxbytespertrigger", "latestfirst")


def by_age(source: Source, files: Sequence[Path]) -> list[Path]:
    """Files in the order in which a stream takes them; those of one age stay in the order given."""
    return sorted(files, key=lambda file: file.stat().st_mtime_ns // 1_000_000, reverse=_latest_first(source))


def micro_batches(source: Source, files: Sequence[Path]) -> list[list[Path]]:
    """Files, in the order in which they are taken, by micro-batch."""
    most_files, most_bytes = _limit(source, "maxFilesPerTrigger"), _limit(source, "maxBytesPerTrigger")
    if most_files is not None and most_bytes is not None:
        raise JobError("[source.options] maxFilesPerTrigger and maxBytesPerTrigger: give one of them")
    found: list[list[Path]] = []
    held = 0
    for file in files:
        size = 0 if most_bytes is None else file.stat().st_size
        is_full = bool(found) and (
            len(found[-1]) == most_files or (most_bytes is not None and held + size > most_bytes)
        )
        if is_full or not found:
            found.append([])
            held = 0
        found[-1].append(file)
        held += size
    return found


def _limit(source: Source, name: str) -> int | None:
    text = _option(source, name)
    if text is None:
        return None
    if not re.fullmatch(r"\s*0*[1-9]\d{0,18}\s*", text, re.ASCII):
        raise JobError(f"[source.options] {name}: {text[:40]!r} is not a whole number of at least 1")
    return int(text)


def _latest_first(source: Source) -> bool:
    text = (_option(source, "latestFirst") or "false").lower()
    if text not in ("true", "false"):
        raise JobError(f"[source.options] latestFirst: {text!r} is neither true nor false")
    return text == "true"


def _option(source: Source, name: str) -> str | None:
    """Spark does not tell large letters from small ones in names of options."""
    found = {option.name.lower(): option.value for option in source.options}
    return found.get(name.lower())
