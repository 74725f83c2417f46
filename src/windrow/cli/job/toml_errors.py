"""What is wrong with text that is not TOML, with its line and what it may be about. Values are not shown, as
they may be secret."""

from __future__ import annotations

import re

__all__ = ["toml_error"]

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
