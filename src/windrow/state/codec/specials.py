"""Types that are stored through a plain value: windrow's own, and those that a user registers.

Windrow's own are named by module, so that nothing is imported before a value of such a type is at hand.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Special", "by_name", "named_after", "register"]


@dataclass(frozen=True, slots=True)
class Special:
    """How values of one type become plain values and come back."""

    name: str
    to_plain: Callable[[Any], Any]
    from_plain: Callable[[Any], Any]


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
    place = (kind.__module__, kind.__qualname__)
    known = _NAMES.get(place)
    if (name in _SPECIALS and known != name) or (known is not None and known != name):
        raise ValueError(f"{name!r} and {kind.__qualname__}: one of them is registered already")
    _SPECIALS[name] = Special(name, to_plain, from_plain)
    _NAMES[place] = name


def named_after(kind: type) -> Special | None:
    """The entry for a type, if there is one."""
    name = _NAMES.get((kind.__module__, kind.__qualname__))
    return None if name is None else _SPECIALS[name]


def by_name(name: str) -> Special | None:
    """The entry with a name, if there is one."""
    return _SPECIALS.get(name)


def _extreme(name: str) -> Special:
    def from_plain(plain: None) -> Any:
        return getattr(importlib.import_module("windrow.monoids.extremes"), name)

    return Special(name.lower(), lambda value: None, from_plain)


def _ranks_to_plain(ranks: Any) -> Any:
    return ranks.nans, ranks.values, None if ranks.sketch is None else bytes(ranks.sketch.serialize())


def _ranks_from_plain(plain: Any) -> Any:
    from windrow.monoids.quantiles import Ranks

    nans, values, sketch = plain
    if type(nans) is not int or nans < 0 or not all(type(value) is float for value in values):
        raise ValueError("ranks that are not numbers")
    if type(values) is not tuple or not all(a <= b for a, b in itertools.pairwise((*values, math.inf))):
        raise ValueError("ranks that are not sorted")
    if sketch is not None:
        from datasketches import kll_doubles_sketch

        from windrow.monoids.kll_form import check_kll

        if type(sketch) is not bytes or values:
            raise ValueError("ranks with a sketch that is not one, or with values beside it")
        check_kll(sketch)
        sketch = kll_doubles_sketch.deserialize(sketch)
    return Ranks(nans, values, sketch)


def _m4_from_plain(plain: Any) -> Any:
    from windrow.monoids.extremes import M4

    return M4(*plain)


_SPECIALS: dict[str, Special] = {
    special.name: special
    for special in (
        _extreme("LOWEST"),
        _extreme("HIGHEST"),
        Special("ranks", _ranks_to_plain, _ranks_from_plain),
        Special("m4", tuple, _m4_from_plain),
    )
}
_NAMES: dict[tuple[str, str], str] = {
    ("windrow.monoids.extremes", "_Lowest"): "lowest",
    ("windrow.monoids.extremes", "_Highest"): "highest",
    ("windrow.monoids.quantiles", "Ranks"): "ranks",
    ("windrow.monoids.extremes", "M4"): "m4",
}
