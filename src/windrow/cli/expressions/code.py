"""What in Spark SQL runs code that is not SQL: functions that call methods of Java, scripts in subqueries.

Job files cannot have them. The words are looked for in all of an expression but plain text literals; where
escapes, comments or raw text might mislead the search, in those too.
"""

from __future__ import annotations

import re

__all__ = ["word_of_code"]

#: identifier() makes the name of a function from text; using names the script of a transformation
_WORDS = re.compile(
    r"(?<![A-Za-z0-9_])(?:(?:try_)?reflect|java_method|identifier|using)(?![A-Za-z0-9_])", re.I
)
_PLAIN = re.compile(r"`[^`]*`|\"[^\"]*\"|'[^']*'")
_MISLEADING = re.compile(r"\\|--|/\*|\$\w*\$|[rR]['\"]")


def word_of_code(text: str) -> str | None:
    """The word by which an expression would run code, if there is one.

    >>> word_of_code("reflect('java.lang.System', 'exit', 3)"), word_of_code("note = 'using a phone'")
    ('reflect', None)
    """
    if not _MISLEADING.search(text):
        text = _PLAIN.sub(lambda found: "''" if found[0].startswith("'") else found[0], text)
    word = _WORDS.search(text)
    return word and word[0]
