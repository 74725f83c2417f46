"""Logs of Spark: its file sink keeps one beside results, and its file source one in a checkpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlparse

__all__ = ["Logged", "logged_files"]

_NAME = re.compile(r"[0-9]+(\.compact)?")


class Logged(NamedTuple):
    """A file, and the number of the entry that names it."""

    file: Path
    number: int


def logged_files(log: Path) -> Iterator[Logged]:
    """The files of all entries, in their order; raises ValueError if Spark did not write these."""
    entries = sorted((_number(file), file) for file in log.iterdir() if _NAME.fullmatch(file.name))
    compacts = [k for k, (_, file) in enumerate(entries) if file.name.endswith(".compact")]
    for number, file in entries[compacts[-1] if compacts else 0 :]:
        try:
            for line in file.read_text(encoding="utf-8").splitlines()[1:]:  # the first is its version
                entry = json.loads(line)
                if entry.get("action", "add") == "add":
                    path = Path(unquote(urlparse(entry["path"]).path))
                    yield Logged(path, int(entry.get("batchId", number)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{file}: this is not in the log of a Spark stream") from error


def _number(file: Path) -> int:
    return int(file.name.removesuffix(".compact"))
