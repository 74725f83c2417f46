"""Upper and lower case of whole texts, beyond ASCII by Unicode's full rules: 'ß' becomes 'SS'.

Python and Spark know Unicode in different versions: a letter that this Python does not know, or whose case
changed since, is refused with its value."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.expressions.errors import ValueRefused
from windrow.cli.expressions.types import STRING

__all__ = ["lower", "upper"]

#: letters whose case, or whose effect on the case of a sigma before or after them, differs by version
_CHANGED = frozenset("\u019b\u0264\u0295\ua7d3\ua7d5\U0001171e")


def upper(array: pa.Array) -> pa.Array:
    """
    >>> upper(pa.array(["straße", None])).to_pylist()
    ['STRASSE', None]
    """
    return _cased(array, pc.ascii_upper, str.upper)


def lower(array: pa.Array) -> pa.Array:
    return _cased(array, pc.ascii_lower, str.lower)


def _cased(array: pa.Array, plain: Callable[[pa.Array], pa.Array], full: Callable[[str], str]) -> pa.Array:
    if pc.all(pc.string_is_ascii(array), min_count=0).as_py():
        return plain(array)
    return pa.array([None if text is None else _one(text, full) for text in array.to_pylist()], STRING)


def _one(text: str, full: Callable[[str], str]) -> str:
    if not text.isascii():
        for letter in text:
            if letter in _CHANGED or unicodedata.category(letter) == "Cn":
                raise ValueRefused(f"{text[:50]!r}: the case of {letter!r} is known to Spark alone")
    return full(text)
