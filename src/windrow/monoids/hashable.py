"""Values that an aggregate tells apart by hashing them."""

from __future__ import annotations

from typing import Any

__all__ = ["check_hashable"]


def check_hashable(name: str, value: Any) -> None:
    """Refuse a value that cannot be hashed, in the name of an aggregate.

    >>> check_hashable("mode", [1])
    Traceback (most recent call last):
    TypeError: mode needs values that can be hashed; got a list: [1]. Turn it into a tuple or text first
    """
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"{name} needs values that can be hashed; got a {type(value).__name__}: {value!r}. "
            f"Turn it into a tuple or text first"
        ) from None
