"""Changed copies of values: what ``dataclasses.replace`` gives, in a tenth of the time.

Only for frozen dataclasses that compute nothing when they are made and keep nothing beside their fields: no
``__post_init__``, no ``cached_property`` and no slots. Cost: about half a microsecond, whatever the fields;
a push changes some dozens of values, however few rows it has.
"""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["with_fields"]

_Value = TypeVar("_Value")


def with_fields(value: _Value, **changes: Any) -> _Value:
    """The value with some fields changed; the names of fields are not checked.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int
    >>> with_fields(Point(1, 2), y=5)
    Point(x=1, y=5)
    """
    found: _Value = object.__new__(value.__class__)
    fields = found.__dict__
    fields.update(value.__dict__)
    fields.update(changes)
    return found
