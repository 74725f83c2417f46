"""The grammar of written durations: Polars style and Spark style, and nothing in between.

Purpose: turn text into counted units, ``"1h30m"`` into ``{"h": 1, "m": 30}``, or refuse it.
Invariant: text that two readers could take for different durations is refused, and the message says what to
write.

- Polars style: numbers and short units without spaces, ``1h30m``, ``250ms``, ``1mo``.
- Spark style: numbers and whole words with spaces, ``10 minutes``, ``1 hour 30 minutes``, ``interval 2
  days``.
- The short words ``min``, ``sec`` and ``hr``, and their plurals, in both: ``30min``, ``15 mins``.

A leading ``-``, before or after ``interval``, makes the whole duration negative. With several words it is
refused: Spark takes it for the sign of the first number alone.
"""

from __future__ import annotations

import difflib
import re

UNITS = ("y", "q", "mo", "w", "d", "h", "m", "s", "ms", "us", "ns")

_WORDS = {
    "year": "y",
    "quarter": "q",
    "month": "mo",
    "week": "w",
    "day": "d",
    "hour": "h",
    "minute": "m",
    "second": "s",
    "millisecond": "ms",
    "microsecond": "us",
    "nanosecond": "ns",
}

# Short words, in any case; each means one unit only.
_SHORT_WORDS = {"min": "m", "mins": "m", "sec": "s", "secs": "s", "hr": "h", "hrs": "h"}

# Units that people write and that are neither Polars' nor Spark's, with what they may have meant.
_MEANT = {
    "M": ("mo", "m"),
    "Q": ("q",),
    "Y": ("y",),
    "W": ("w",),
    "D": ("d",),
    "H": ("h",),
    "S": ("s",),
    "MS": ("ms",),
    "T": ("m",),
    "L": ("ms",),
    "U": ("us",),
    "N": ("ns",),
    "A": ("y",),
    "YE": ("y",),
    "YS": ("y",),
    "ME": ("mo",),
    "QE": ("q",),
    "QS": ("q",),
    "u": ("us",),
    "n": ("ns",),
    "mon": ("mo",),
    "mons": ("mo",),
}

_LEAD = re.compile(r"\s*(-?)\s*(?:interval\s+(-?)\s*)?", re.IGNORECASE)
_SHORT_TOKEN = re.compile(r"([0-9]+)([A-Za-z]+)")
_SHORT_TEXT = re.compile(r"(?:[0-9]+[A-Za-z]+)+")
_WORD_TOKEN = re.compile(r"([0-9]+)\s+([A-Za-z]+)")
_WORD_TEXT = re.compile(r"[0-9]+\s+[A-Za-z]+(?:\s+[0-9]+\s+[A-Za-z]+)*")


def counted_units(text: str, name: str) -> dict[str, int]:
    """The units of a written duration with their counts.

    >>> counted_units("1h30m", "size")
    {'h': 1, 'm': 30}
    >>> counted_units("-2 days", "offset")
    {'d': -2}
    >>> counted_units("30min", "size"), counted_units("interval -10 seconds", "offset")
    ({'m': 30}, {'s': -10})
    >>> counted_units("1M", "size")
    Traceback (most recent call last):
    ValueError: size '1M' is ambiguous: write '1mo' or '1m'
    """
    sign, body = _signed(text, name)
    if _SHORT_TEXT.fullmatch(body):
        pairs = [(n, _short_unit(n, unit, text, name)) for n, unit in _SHORT_TOKEN.findall(body)]
    elif _WORD_TEXT.fullmatch(body):
        pairs = [(n, _word_unit(n, unit, text, name)) for n, unit in _WORD_TOKEN.findall(body)]
        if sign < 0 and len(pairs) > 1:
            whole = "".join(number + unit for number, unit in pairs)
            raise ValueError(
                f"{name} {text!r} is ambiguous, as the minus may be for the first number alone: write "
                f"'-{whole}' if it is for all of it"
            )
    else:
        raise _shape_error(body, text, name)
    return _counts(pairs, sign, text, name)


def _signed(text: str, name: str) -> tuple[int, str]:
    """The sign, and the numbers and units behind it and behind ``interval``."""
    found = _LEAD.match(text)
    assert found is not None  # all of it is optional
    before, after = found.groups()
    if before and after:
        raise ValueError(f"{name} {text!r} has two signs: write one minus, or none")
    return -1 if before or after else 1, text[found.end() :].strip()


def _counts(pairs: list[tuple[str, str]], sign: int, text: str, name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for number, unit in pairs:
        if unit in counts:
            raise ValueError(f"{name} {text!r} names the unit '{unit}' twice: write each unit once")
        if len(number) > 19:
            raise ValueError(f"{name} {text!r} does not fit in 64 bits: use a shorter duration")
        counts[unit] = sign * int(number)
    return counts


def _short_unit(number: str, unit: str, text: str, name: str) -> str:
    if unit in UNITS:
        return unit
    if unit.lower() in _SHORT_WORDS:
        return _SHORT_WORDS[unit.lower()]
    meant = _MEANT.get(unit) or _as_word(unit)
    raise _unit_error(number, unit, meant, text, name)


def _word_unit(number: str, unit: str, text: str, name: str) -> str:
    meant = _as_word(unit)
    if meant:
        return meant[0]
    if unit.lower() in _SHORT_WORDS:
        return _SHORT_WORDS[unit.lower()]
    # A lone letter after a space is in neither style: 'm' may be minutes or months here.
    candidates = ("m", "mo") if unit in ("m", "M") else _MEANT.get(unit, (unit,) if unit in UNITS else ())
    raise _unit_error(number, unit, candidates, text, name)


def _as_word(unit: str) -> tuple[str, ...]:
    word = unit.lower()
    found = _WORDS.get(word) or _WORDS.get(word.removesuffix("s"))
    return (found,) if found else ()


def _like_words(unit: str) -> tuple[str, ...]:
    """The unit whose word is most like one that is not known."""
    found = difflib.get_close_matches(unit.lower().removesuffix("s"), _WORDS, 1, 0.75)
    return (_WORDS[found[0]],) if found else ()


def _unit_error(number: str, unit: str, meant: tuple[str, ...], text: str, name: str) -> ValueError:
    meant = meant or _like_words(unit)
    if not meant:
        return ValueError(
            f"{name} {text!r} has the unknown unit '{unit}': use one of {', '.join(UNITS)} as in '1h30m', "
            "or whole words as in '10 minutes'"
        )
    remedy = " or ".join(f"'{number}{unit}'" for unit in meant)
    reason = "is ambiguous" if len(meant) > 1 else f"has the unknown unit '{unit}'"
    return ValueError(f"{name} {text!r} {reason}: write {remedy}")


def _shape_error(body: str, text: str, name: str) -> ValueError:
    if not body:
        return ValueError(f"{name} {text!r} is empty: write a duration such as '10m' or '10 minutes'")
    if re.fullmatch(r"[0-9]+", body):
        remedy = f"write '{body}m' or '{body}s', or the integer {body} for integer time"
        return ValueError(f"{name} {text!r} has no unit: {remedy}")
    if re.search(r"[0-9][.,][0-9]", body):
        return ValueError(
            f"{name} {text!r} has a fraction: use whole numbers of smaller units, as in '1h30m'"
        )
    remedy = "write it like '1h30m' (no spaces) or like '1 hour 30 minutes' (whole words)"
    return ValueError(f"{name} {text!r} is not a duration: {remedy}")
