"""Values that are made, changed and asked quickly: what frozen dataclasses, ``dataclasses.replace`` and
``functools.cached_property`` give, in a third of the time or less. A push makes and changes some dozens of
values, however few rows it has.

Changed copies are only for frozen dataclasses that compute nothing when they are made and keep nothing beside
their fields: no ``__post_init__``, nothing lazy and no slots. Cost: about half a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, Generic, TypeVar

__all__ = ["lazy", "made_at_once", "with_fields"]

_new, _set = object.__new__, object.__setattr__

_Value = TypeVar("_Value")
_Found = TypeVar("_Found")
_Class = TypeVar("_Class", bound=type[Any])


def made_at_once(cls: _Class) -> _Class:
    """A frozen dataclass, without slots, whose values take all their fields in one step: Python sets each
    field of a frozen value by a call of its own.

    >>> from dataclasses import dataclass, field
    >>> @made_at_once
    ... @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int = 2
    ...     notes: list[str] = field(default_factory=list)
    >>> Point(1), Point(1, y=5, notes=["near"])
    (Point(x=1, y=2, notes=[]), Point(x=1, y=5, notes=['near']))
    """
    scope: dict[str, Any] = {"_set": _set, "_made": MISSING}
    arguments, values = ["self"], []
    for each in fields(cls):
        argument = value = each.name
        if each.default_factory is not MISSING:
            scope[f"_make_{each.name}"] = each.default_factory
            argument, value = f"{value}=_made", f"_make_{value}() if {value} is _made else {value}"
        elif each.default is not MISSING:
            scope[f"_default_{each.name}"] = each.default
            argument = f"{value}=_default_{value}"
        arguments.append(argument)
        values.append(f"{each.name!r}: {value}")
    source = f"def __init__({', '.join(arguments)}):\n    _set(self, '__dict__', {{{', '.join(values)}}})"
    exec(source, scope)
    cls.__init__ = scope["__init__"]
    return cls


class lazy(Generic[_Found]):  # noqa: N801 (it is used like cached_property)
    """A property that is found out once, without a lock: two threads may both find it out.

    >>> class Answer:
    ...     @lazy
    ...     def text(self) -> str:
    ...         print("asked")
    ...         return "42"
    >>> answer = Answer()
    >>> answer.text, answer.text
    asked
    ('42', '42')
    """

    def __init__(self, find: Callable[[Any], _Found]) -> None:
        self._find, self._name = find, find.__name__
        self.__doc__ = find.__doc__

    def __get__(self, value: Any, _: Any = None) -> _Found:
        if value is None:  # asked of the class
            return self  # type: ignore[return-value]
        found = value.__dict__[self._name] = self._find(value)
        return found


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
    found: _Value = _new(value.__class__)
    _set(found, "__dict__", value.__dict__ | changes)
    return found
