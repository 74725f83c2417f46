"""The words of a Spark SQL expression: names, literals, operators, each with its place.

Strings may stand in single or double quotes; a quote is doubled or escaped, as in Spark. Names with unusual
characters stand in backticks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from windrow.cli.expressions.errors import ExpressionError, only_spark

__all__ = ["LONGEST", "Token", "tokens_of"]

#: characters of an expression
LONGEST = 10_000
_LONGEST_NUMBER = 400
Kind = Literal["word", "name", "number", "text", "sign", "end"]
_PATTERN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+(?:BD|bd|[LlSsYyDdFf])?(?![\w.]))
    | (?P<word>[A-Za-z_]\w*)
    | (?P<name>`(?:[^`]|``)+`)
    | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<sign><=>|<>|!=|<=|>=|==|\|\||[-+*/%=<>(),.!])
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_COMMENT = re.compile(r"\s*(--|/\*)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r", "%": "\\%", "_": "\\_"}


@dataclass(frozen=True)
class Token:
    """A word. ``value``: of a text without its quotes, of a name without its backticks, of a word in lower
    case; ``text``: as it was written."""

    kind: Kind
    value: str
    text: str
    at: int


def tokens_of(text: str) -> list[Token]:
    """
    >>> [token.value for token in tokens_of("Len >= 3 and `who` = 'O''Hara'")]
    ['len', '>=', '3', 'and', 'who', '=', "O'Hara", '']
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"this has {len(text):,} characters: at most {LONGEST:,} are read")
    found, at = [], 0
    end = len(text.rstrip())
    while at < end:
        if comment := _COMMENT.match(text, at):
            raise only_spark(f"the comment {comment[1]} at character {comment.start(1) + 1}")
        match = _PATTERN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _unreadable(text, at)
        found.append(_token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        at = match.end()
    return [*found, Token("end", "", "", end)]


def _token(kind: str, text: str, at: int) -> Token:
    if kind == "word":
        return Token("word", text.lower(), text, at)
    if kind == "name":
        return Token("name", text[1:-1].replace("``", "`"), text, at)
    if kind == "text":
        return Token("text", _unquoted(text), text, at)
    if kind == "number" and len(text) > _LONGEST_NUMBER:
        raise ExpressionError(
            f"the number {text[:20]}... has {len(text):,} characters: Spark has no such number"
        )
    return Token("number" if kind == "number" else "sign", text, text, at)


def _unquoted(text: str) -> str:
    """A string without its quotes. A backslash before % or _ stays: LIKE reads it."""
    inner = text[1:-1]
    parts = _ESCAPE.split(inner)
    found = [parts[0].replace(text[0] * 2, text[0])]
    for escaped, rest in zip(parts[1::2], parts[2::2], strict=True):
        if escaped not in _ESCAPED:
            raise only_spark(f"the escape \\{escaped} in {text}")
        found += [_ESCAPED[escaped], rest.replace(text[0] * 2, text[0])]
    return "".join(found)


def _unreadable(text: str, at: int) -> Exception:
    rest = text[at:].lstrip()
    place = len(text) - len(rest) + 1
    if rest[0] in "'\"`":
        return ExpressionError(f"the quote at character {place} is not closed: {rest[:20]!r}")
    if rest[0].isdigit() or not rest[0].isascii():
        word = re.match(r"\S+", rest)
        return only_spark(
            f"{word[0] if word else rest[0]!r}", "put names with unusual characters in backticks"
        )
    return only_spark(f"the sign {rest[0]!r} at character {place}")
