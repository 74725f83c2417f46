"""Names that somebody got wrong: the nearest known one, and the known ones in a list that stays short.

Every "did you mean" of windrow is made here, so that columns, attributes, keywords and keys of job files are
answered alike. Cost: only when something is wrong.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from windrow.errors import UnknownColumn

__all__ = ["check_columns", "check_keywords", "check_once", "listed", "nearest", "no_column"]

_MOST_LISTED = 20
#: what no name has, or hardly one
_EXPRESSION = re.compile(r"[<>=!+*/()]|\s-\s|\s(?:and|or|not|is|in|like)\s", re.IGNORECASE)


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most like this one, upper and lower case alike; None: none is like it.

    >>> nearest("Lenght", ["ts", "length"]), nearest("xyz", ["ts", "length"])
    ('length', None)
    >>> nearest("lateness", ["late", "allowed_lateness"])
    'allowed_lateness'
    """
    by_lower = {each.lower(): each for each in known}
    longer = [each for lower, each in by_lower.items() if name.lower() in lower.split("_")]
    if len(longer) == 1:
        return longer[0]
    found = difflib.get_close_matches(name.lower(), by_lower, 1, cutoff)
    return by_lower[found[0]] if found else None


def listed(names: Sequence[str]) -> str:
    """Names in quotes, the first twenty of them.

    >>> listed(["ts", "len"]), listed([f"c{k}" for k in range(1_000)])[-27:]
    ("'ts', 'len'", "'c18', 'c19' and 980 others")
    """
    shown = ", ".join(map(repr, names[:_MOST_LISTED]))
    rest = len(names) - _MOST_LISTED
    return f"{shown} and {rest:,} others" if rest > 0 else shown or "no columns"


def no_column(name: str, columns: Sequence[str], where: str = "the table") -> str:
    """What to say of a column that is not there.

    >>> no_column("lenn", ["ts", "len"])
    "there is no column 'lenn': did you mean 'len'? The table has 'ts', 'len'"
    >>> no_column("v", ["ts", "len"])
    "there is no column 'v'; the table has 'ts', 'len'"
    """
    meant = nearest(name, columns)
    if _EXPRESSION.search(name):
        return (
            f"there is no column {name!r}, and expressions are not computed: add a column of it to the "
            f"table, and give that column's name; {where} has {listed(columns)}"
        )
    if meant is None:
        return f"there is no column {name!r}; {where} has {listed(columns)}"
    return (
        f"there is no column {name!r}: did you mean {meant!r}? "
        f"{where[0].upper()}{where[1:]} has {listed(columns)}"
    )


def check_columns(wanted: Iterable[str], columns: Sequence[str], where: str = "the table") -> None:
    """Refuse a column that is not among those of a table.

    >>> check_columns(["ts", "Len"], ["ts", "len"])
    Traceback (most recent call last):
    windrow.errors.UnknownColumn: there is no column 'Len': did you mean 'len'? The table has 'ts', 'len'
    """
    for name in wanted:
        if name not in columns:
            raise UnknownColumn(no_column(name, columns, where))
        check_once(name, columns, where)


def check_once(name: str, columns: Sequence[str], where: str = "the table") -> None:
    """Refuse a column that shares its name with another one.

    >>> check_once("v", ["ts", "v", "v"])
    Traceback (most recent call last):
    ValueError: the table has 2 columns named 'v': rename one of them, or leave it out
    """
    count = columns.count(name)
    if count > 1:
        raise ValueError(f"{where} has {count} columns named {name!r}: rename one of them, or leave it out")


def check_keywords(
    function: str, given: Iterable[str], known: Sequence[str], elsewhere: Mapping[str, str]
) -> None:
    """Refuse a keyword that a function does not have; ``elsewhere``: what others call its keywords.

    >>> check_keywords("query", ["key"], ["time", "by"], {"key": "by"})
    Traceback (most recent call last):
    TypeError: query() has no keyword 'key': did you mean 'by'? It takes time, by
    """
    for name in given:
        if name not in known:
            meant = elsewhere.get(name.lower()) or nearest(name, known)
            hint = f": did you mean {meant!r}?" if meant else "."
            raise TypeError(f"{function}() has no keyword {name!r}{hint} It takes {', '.join(known)}")
