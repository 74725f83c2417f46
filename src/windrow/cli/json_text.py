"""Values as JSON: what JSON has no word for is text, as Spark's writer of JSON has it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

__all__ = ["json_text"]


def json_text(value: Any, default: Callable[[Any], Any] = str) -> str:
    """One line of JSON. NaN and infinities become text; ``default`` is for what is not a JSON type at all.

    >>> json_text({"top": float("nan"), "all": [1.5, float("-inf")]})
    '{"top": "NaN", "all": [1.5, "-Infinity"]}'
    """
    try:
        return json.dumps(value, default=default, allow_nan=False)
    except ValueError:  # there is one among the values
        return json.dumps(_with_words(value), default=default, allow_nan=False)


def _with_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_words(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_words(each) for each in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
