"""Where in a job file a key is, for messages: TOML readers do not say.

A scan by lines finds headers and keys. It may be misled by text of several lines that looks like keys; then a
message names a line too early, and nothing else happens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from windrow.cli.errors import JobError

__all__ = ["LineNumbers", "placed", "toml_error"]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w.-]+))\s*=""")


@dataclass
class LineNumbers:
    """Lines of tables and keys.

    >>> places = LineNumbers.of(
    ...     "jobs/a.toml", '[source]\\nformat = "csv"\\n[[window]]\\n[[window]]\\nkind = "rows"\\n'
    ... )
    >>> places.at("source", "format")
    'jobs/a.toml:2: [source] format'
    >>> places.at("window", "kind", 1), places.at("window", "size", 1), places.at("sink")
    ('jobs/a.toml:5: [[window]] kind', 'jobs/a.toml:4: [[window]] size', 'jobs/a.toml: [sink]')
    """

    file: str
    lines: dict[tuple[str, int, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, file: str, text: str) -> LineNumbers:
        found = cls(file)
        table, number = "", 0
        seen: dict[str, int] = {}
        for line, content in enumerate(text.splitlines(), 1):
            if header := _HEADER.match(content):
                table = header[2].replace(" ", "").replace('"', "")
                number = seen.get(table, 0) if header[1] == "[[" else 0
                seen[table] = number + 1
                found.lines.setdefault((table, number, ""), line)
            elif key := _KEY.match(content):
                found.lines.setdefault((table, number, key[1] or key[2] or key[3]), line)
        return found

    def at(self, table: str, key: str = "", number: int = 0) -> str:
        """The place of a key, or else of its table, in words."""
        line = self.lines.get((table, number, key)) or self.lines.get((f"{table}.{key}", 0, ""))
        line = line or self.lines.get((table, number, ""))
        shown = f"[[{table}]]" if table == "window" else f"[{table}]" if table else ""
        place = f"{self.file}:{line}" if line else self.file
        inside = " ".join(part for part in (shown, key) if part)
        return f"{place}: {inside}" if inside else place


def placed(path: str | None, file: Path, form: str = "") -> str | None:
    """Relative paths are relative to the job file, whatever the working directory. In the format of Iceberg
    a path without a slash is the name of a table.

    >>> placed("catalog.calls", Path("/jobs/a.toml"), "iceberg"), placed("calls", Path("/jobs/a.toml"))
    ('catalog.calls', '/jobs/calls')
    """
    if path is not None and "\0" in path:
        raise JobError(f"{file}: {path!r}: a path cannot have a zero byte: name another")
    is_name = path is not None and form.lower() == "iceberg" and "/" not in path
    if path is None or is_name or "://" in path or path.startswith(("file:", "hdfs:", "dbfs:")):
        return path
    return str(file.resolve().parent / path)


_AT = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
#: how the reader's messages begin, and what they are about
_HINTS = {
    "Invalid value": 'text stands in quotes, as in time = "ts"',
    "Cannot overwrite a value": "this key is there twice",
    "Cannot declare": "this table is there twice",
    "Illegal character": "text ends with the quote that it began with",
    "Unterminated string": "text ends with the quote that it began with",
    "Expected '=' after a key": "write name = value; a name with spaces or dots stands in quotes",
    "Expected ']'": "a table stands in brackets, as in [source]",
}


def toml_error(file: str, text: str, said: str) -> str:
    """
    >>> toml_error("a.toml", "[events]\\ntime = ts", "Invalid value (at line 2, column 8)")
    'a.toml:2: time: this is not TOML: Invalid value: text stands in quotes, as in time = "ts"'
    """
    found = _AT.search(said)
    lines = text.splitlines()
    number = int(found[1]) if found and found[1] else len(lines)
    why = _AT.sub("", said)
    hint = next((hint for start, hint in _HINTS.items() if why.startswith(start)), None)
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    shown = line if line.startswith("[") else line.partition("=")[0].strip() if "=" in line else ""
    parts = (f"{file}:{number}", shown, "this is not TOML", why, hint)
    return ": ".join(part for part in parts if part)
