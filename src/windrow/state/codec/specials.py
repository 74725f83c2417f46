"""Types that are stored through a plain value: those of windrow's aggregates, which their own modules declare
(:mod:`windrow.monoids.stored_types`), and those that a user registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.monoids import stored_types
from windrow.monoids.stored_types import Special

__all__ = ["Special", "by_name", "named_after", "register"]

#: what users have registered: by name, and the names by module and name of the type
_SPECIALS: dict[str, Special] = {}
_NAMES: dict[tuple[str, str], str] = {}


def register(name: str, kind: type, to_plain: Callable[[Any], Any], from_plain: Callable[[Any], Any]) -> None:
    """Let values of exactly this type be stored, under a name that must stay the same.

    ``to_plain`` gives something that can be stored already; ``from_plain`` gets that back, or anything else
    if the store was tampered with, and must not do harm.

    >>> from fractions import Fraction
    >>> from windrow.state.codec import pack, unpack
    >>> register("fraction", Fraction, lambda f: f.as_integer_ratio(), lambda plain: Fraction(*plain))
    >>> unpack("example", pack("example", Fraction(1, 3)))
    Fraction(1, 3)
    """
    known = named_after(kind)
    if (known is None and by_name(name) is not None) or (known is not None and known.name != name):
        raise ValueError(f"{name!r} and {kind.__qualname__}: one of them is registered already")
    _SPECIALS[name] = Special(name, to_plain, from_plain)
    _NAMES[kind.__module__, kind.__qualname__] = name


def named_after(kind: type) -> Special | None:
    """The entry for a type, if there is one."""
    name = _NAMES.get((kind.__module__, kind.__qualname__))
    return stored_types.by_type(kind) if name is None else _SPECIALS[name]


def by_name(name: str) -> Special | None:
    """The entry with a name, if there is one."""
    return _SPECIALS.get(name) or stored_types.by_name(name)
