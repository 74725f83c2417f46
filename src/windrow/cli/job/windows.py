"""``[[window]]`` and ``[rolling]``: which rows belong together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from windrow import windows
from windrow.cli.errors import JobError
from windrow.cli.job.fields import REQUIRED, Fields
from windrow.cli.job.places import Places
from windrow.query import Query
from windrow.spec_text import policy_of
from windrow.windows import Window

__all__ = ["KINDS", "with_windows"]


@dataclass(frozen=True)
class _Kind:
    """How a kind of window is written: the keys it needs, and those it may have."""

    make: Callable[..., Window]
    needs: tuple[str, ...]
    may: tuple[str, ...] = ()


_ALIGNED = ("offset", "timezone")
KINDS = {
    "tumbling": _Kind(windows.Tumbling, ("size",), _ALIGNED),
    "sliding": _Kind(windows.Sliding, ("size", "slide"), _ALIGNED),
    "session": _Kind(windows.Session, ("gap",), ("max_size",)),
    "cumulative": _Kind(windows.Cumulative, ("size", "step"), _ALIGNED),
    "fixed": _Kind(windows.Fixed, ("start", "size"), ("timezone",)),
    "rows": _Kind(windows.Rows, ("size",), ("slide",)),
    "delta": _Kind(windows.Delta, ("column", "size"), ("slide",)),
    "punctuation": _Kind(windows.Punctuation, ("column",)),
    "policy": _Kind(policy_of, ("evict_while",)),
}
_EXAMPLE = "[[window]] with kind = 'tumbling' and size = '1h'"
_TEXTS = ("column", "timezone", "evict_while")
_EVERY_KEY = tuple(dict.fromkeys(key for kind in KINDS.values() for key in (*kind.needs, *kind.may)))


def with_windows(query: Query, data: dict[str, Any], places: Places) -> Query:
    """The query with the windows of the job, or with its rolling."""
    top = Fields(data, places, "", tuple(data))
    if "window" in data and "rolling" in data:
        top.refuse(
            "", "there are [[window]] and [rolling]: give one or more windows, or rolling, and not both"
        )
    if "window" not in data and "rolling" not in data:
        top.refuse("", f"there is no window: write for instance {_EXAMPLE}; or [rolling] with size = '1h'")
    if "rolling" in data:
        return _rolling(query, Fields(data["rolling"], places, "rolling", ("size", "rows", "evict_while")))
    found = data["window"]
    if not isinstance(found, list):
        raise JobError(f"{places.at('window')}: write it with two brackets, since a job may have several")
    return _windowed(query, [_fields(each, places, number) for number, each in enumerate(found)])


def _fields(data: Any, places: Places, number: int) -> Fields:
    return Fields(data, places, "window", ("name", "kind", *_EVERY_KEY), number)


def _windowed(query: Query, tables: list[Fields]) -> Query:
    named: dict[str, Window] = {}
    for fields in tables:
        name = fields.text("name", None if len(tables) == 1 else REQUIRED) or ""
        if name in named:
            fields.refuse("name", f"{name!r} is there twice")
        window = _window(fields)
        fields.checked("", query.window, window)
        named[name] = window
    last = tables[-1]
    if "" in named:
        return last.checked("", query.window, named[""])
    return last.checked("name", query.window, **named)


def _window(fields: Fields) -> Window:
    kind = KINDS[fields.choice("kind", tuple(KINDS))]
    for key in fields.data:
        if key not in ("name", "kind", *kind.needs, *kind.may):
            takes = ", ".join((*kind.needs, *kind.may))
            fields.refuse(key, f"a {fields.data['kind']} window has no {key}: it takes {takes}")
    arguments = {key: _argument(fields, key, REQUIRED) for key in kind.needs}
    arguments |= {key: _argument(fields, key, None) for key in kind.may if key in fields.data}
    if "evict_while" in arguments:
        return fields.checked("evict_while", kind.make, arguments["evict_while"])
    try:
        return kind.make(**arguments)
    except (TypeError, ValueError) as error:
        # what a window refuses begins with the name of the argument
        named = str(error).partition(" ")[0]
        fields.refuse(named if named in arguments else kind.needs[-1], str(error))


def _argument(fields: Fields, key: str, default: Any) -> Any:
    if key in _TEXTS:
        return fields.text(key, default)
    if fields.data.get("kind") == "rows":
        return fields.whole(key, default, 1)
    return fields.value(key, default, str, int, *((float,) if fields.data.get("kind") == "delta" else ()))


def _rolling(query: Query, fields: Fields) -> Query:
    if len(fields.data) != 1:
        fields.refuse("", "give one of size ('24h'), rows (a number of rows) and evict_while (a policy)")
    if "rows" in fields.data:
        return fields.checked("rows", query.rolling, rows=fields.whole("rows", least=1))
    if "evict_while" in fields.data:
        policy = fields.checked("evict_while", policy_of, fields.text("evict_while"))
        return query.rolling(policy=policy)
    return fields.checked("size", query.rolling, fields.value("size", REQUIRED, str, int))
