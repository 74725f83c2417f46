"""What is printed for people: no secret, and nothing that a terminal would obey.

Names of columns and files, and values that an error quotes, come from others. In a terminal their control
characters could move the cursor, change its title or turn text around; here they are written out (``\\x1b``).
Every line of the command line goes through ``say`` or ``say_line``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import TextIO

from windrow.cli.job.secrets import Setting, scrubbed, without_logins

__all__ = ["hide", "one_line", "say", "say_line", "shown", "visible"]

_hidden: list[Setting] = []


def hide(settings: Iterable[Setting]) -> None:
    """From now on the secrets among these are left out of what is printed, and those of before are not."""
    _hidden[:] = settings


def shown(text: str) -> str:
    """Text of one line or more, fit to print.

    >>> shown("a \\x1b[31mred\\x07 name\\nin two lines, \\u202eturned")
    'a \\\\x1b[31mred\\\\x07 name\\nin two lines, \\\\u202eturned'
    """
    return visible(without_logins(scrubbed(text, _hidden)))


def visible(text: str) -> str:
    """Control characters, and those that turn text around, written out.

    >>> visible("\\x1b[31mred \\u202eturned")
    '\\\\x1b[31mred \\\\u202eturned'
    """
    return "".join(map(_visible, text))


def one_line(text: str) -> str:
    """
    >>> one_line("cannot read\\n    \\x1b[2Ja file\\n")
    'cannot read \\\\x1b[2Ja file'
    """
    return shown(re.sub(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*", " ", text.rstrip()))


def _visible(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return " " if character in "\t\xa0" else character.encode("unicode_escape").decode("ascii")


def say(text: str = "", out: TextIO | None = None) -> None:
    """Print text of one line or more."""
    print(shown(text), file=out or sys.stdout, flush=True)


def say_line(text: str, out: TextIO | None = None) -> None:
    """Print what is one line, whatever is in it."""
    print(one_line(text), file=out or sys.stdout, flush=True)
