"""Types of partials that are stored through a plain value, under a name that never changes.

The module of an aggregate whose partials are of a type of its own declares it here by :func:`stored_as`;
:mod:`windrow.state.codec` looks types and names up. A type is found without an import, since its module is
loaded when there is a value of it; for a name that is not known yet all aggregates are loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Special", "by_name", "by_type", "stored_as"]

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True, slots=True)
class Special:
    """How values of one type become plain values and come back."""

    name: str
    to_plain: Callable[[Any], Any]
    from_plain: Callable[[Any], Any]


_BY_NAME: dict[str, Special] = {}
_BY_TYPE: dict[type, Special] = {}


def stored_as(
    name: str, to_plain: Callable[[Any], Any], from_plain: Callable[[Any], Any]
) -> Callable[[Kind], Kind]:
    """A class decorator: values of exactly this type are stored under the name. ``from_plain`` may get
    anything that can be stored, and raises ValueError or TypeError for what is not a value of the type."""

    def declare(kind: Kind) -> Kind:
        _BY_NAME[name] = _BY_TYPE[kind] = Special(name, to_plain, from_plain)
        return kind

    return declare


def by_type(kind: type) -> Special | None:
    """The entry for a type, if there is one."""
    return _BY_TYPE.get(kind)


def by_name(name: str) -> Special | None:
    """The entry with a name, if there is one.

    >>> found = by_name("m4")
    >>> found.from_plain((5, 4, 4, 9)).last
    4
    """
    if name not in _BY_NAME:
        from windrow import monoids

        for aggregate in monoids.__all__:
            getattr(monoids, aggregate)
    return _BY_NAME.get(name)
