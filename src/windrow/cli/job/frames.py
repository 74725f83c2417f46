"""``[rolling]`` and ``[asof]``: what each row, or each label, sees. Sizes are one (``size = "7d"``), several
(``size = ["1d", "7d"]``) or named (``size = { week = "7d" }``), or numbers of ``rows``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, get_args

from windrow.cli.job.fields import REQUIRED, Fields
from windrow.cli.job.line_numbers import LineNumbers
from windrow.cli.job.model import Source
from windrow.query import Query
from windrow.spec_text import policy_of
from windrow.windows.relative import Closed

__all__ = ["ASOF_KEYS", "DIRECTIONS", "ROLLING_KEYS", "check_stream", "with_asof", "with_rolling"]

ROLLING_KEYS = ("size", "rows", "evict_while", "closed", "shift", "timezone", "min_count")
ASOF_KEYS = ("size", "rows", "closed", "lag", "direction", "timezone")
DIRECTIONS = ("backward", "forward")
_SIZES = "'7d', a list as ['1d', '7d'], or names as { week = '7d' }"


def with_rolling(query: Query, fields: Fields) -> Query:
    fields.reading().stop()
    if sum(key in fields.data for key in ("size", "rows", "evict_while")) != 1:
        fields.refuse("", "give one of size ('24h'), rows (a number of rows) and evict_while (a policy)")
    if "evict_while" in fields.data:
        for key in ("closed", "shift", "timezone"):
            if key in fields.data:
                fields.refuse(key, f"a policy decides how far a window reaches: leave out {key}")
        policy = fields.checked("evict_while", policy_of, fields.text("evict_while"))
        return query.rolling(policy=policy, min_count=fields.whole("min_count", None))
    settings = {"shift": fields.value("shift", 0, str, int), "min_count": fields.whole("min_count", None)}
    return _framed(fields, query.rolling, {"closed": "right"} | _ends(fields) | settings)


def with_asof(query: Query, fields: Fields) -> Query:
    fields.reading().stop()
    if ("size" in fields.data) == ("rows" in fields.data):
        fields.refuse("", f"give size ({_SIZES}) or rows (a number of events), and not both")
    settings = {
        "lag": fields.value("lag", 0, str, int),
        "direction": fields.choice("direction", DIRECTIONS, "backward"),
    }
    return _framed(fields, query.asof, _ends(fields) | settings)


def check_stream(query: Query, source: Source, data: dict[str, Any], places: LineNumbers) -> None:
    """Refuse on streams what only finite tables can do."""
    if source.is_stream and query.asof_over is not None:
        from windrow.engines.frames.waiting_labels import check_ends

        Fields(data["asof"], places, "asof", ASOF_KEYS).checked("direction", check_ends, query)


def _ends(fields: Fields) -> dict[str, Any]:
    """Settings that both have; those that are not given have windrow's own defaults."""
    found: dict[str, Any] = {}
    if "closed" in fields.data:
        found["closed"] = fields.choice("closed", get_args(Closed))
    if "timezone" in fields.data:
        found["timezone"] = fields.text("timezone")
    return found


def _framed(fields: Fields, method: Callable[..., Query], settings: dict[str, Any]) -> Query:
    """What a method of the query makes of sizes or rows; what it refuses is an error of the key that it
    names first."""
    sizes, named = _sizes(fields, method)
    rows = _rows(fields)
    try:
        return method(*sizes, **named, rows=rows, **settings)
    except (TypeError, ValueError, OverflowError) as error:
        message = str(error)
        first = re.match(r"\w*", message)
        about = first[0] if first else ""
        fields.refuse(about if about in fields.data else "size" if rows is None else "rows", message)


def _sizes(fields: Fields, method: Callable[..., Query]) -> tuple[list[Any], dict[str, Any]]:
    """Sizes without and with a name."""
    if "size" not in fields.data:
        return [], {}
    found = fields.value("size", REQUIRED, str, int, list, dict)
    if not isinstance(found, (list, dict)):
        return [found], {}
    if not found:
        fields.refuse("size", f"this is empty: give {_SIZES}")
    if isinstance(found, list):
        for size in found:
            _check_size(fields, size)
        return found, {}
    for name, size in found.items():
        if name in ("self", *inspect.signature(method).parameters):
            fields.refuse("size", f"{name!r} is the name of a setting: choose another for this size")
        _check_size(fields, size)
    return [], found


def _check_size(fields: Fields, size: Any) -> None:
    if type(size) not in (str, int):
        fields.refuse("size", f"{size!r} is not a size: give text such as '7d' or 'all', or a whole number")


def _rows(fields: Fields) -> Any:
    if "rows" not in fields.data:
        return None
    found = fields.value("rows", REQUIRED, int, list)
    for count in found if isinstance(found, list) else [found]:
        if type(count) is not int or count < 1:
            fields.refuse("rows", f"{count!r} is not a number of rows: give 1 or more")
    return found
