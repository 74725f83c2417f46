"""``[[window]]``, or ``[rolling]`` or ``[asof]`` in its place: which rows belong together."""

from __future__ import annotations

from typing import Any

from windrow import windows
from windrow.cli.errors import JobError, Mistakes
from windrow.cli.job.fields import REQUIRED, Fields
from windrow.cli.job.frames import ASOF_KEYS, ROLLING_KEYS, with_asof, with_rolling
from windrow.cli.job.line_numbers import LineNumbers
from windrow.query import Query
from windrow.spec_text import policy_of
from windrow.windows import Policy, Window
from windrow.windows.base import JobKey

__all__ = ["KINDS", "with_windows"]


#: the kinds of windows, as they are written in ``kind``
KINDS = {name.lower(): kind for name, kind in windows.KINDS.items()}
_EXAMPLE = "[[window]] with kind = 'tumbling' and size = '1h'"
_EVERY_KEY = tuple(dict.fromkeys(key.name for kind in KINDS.values() for key in kind.job_keys))


def with_windows(query: Query, data: dict[str, Any], places: LineNumbers) -> Query:
    """The query with the windows of the job, or with its rolling or as-of windows."""
    top = Fields(data, places, "", tuple(data))
    if "window" in data and "rolling" in data:
        top.refuse(
            "", "there are [[window]] and [rolling]: give one or more windows, or rolling, and not both"
        )
    if "asof" in data and ("window" in data or "rolling" in data):
        other = "[[window]]" if "window" in data else "[rolling]"
        raise JobError(f"{places.at('asof')}: there is {other}, too: give one of them, and not both")
    if not {"rolling", "asof"} & set(data) and data.get("window", []) == []:
        top.refuse(
            "",
            f"there is no window: write for instance {_EXAMPLE}; or [rolling] with size = '1h'; or, for "
            f"labels in a table [at], [asof] with size = '7d'",
        )
    if "rolling" in data:
        return with_rolling(query, Fields(data["rolling"], places, "rolling", ROLLING_KEYS))
    if "asof" in data:
        return with_asof(query, Fields(data["asof"], places, "asof", ASOF_KEYS))
    found = data["window"]
    if not isinstance(found, list):
        raise JobError(f"{places.at('window')}: write it with two brackets, since a job may have several")
    return _windowed(query, [_fields(each, places, number) for number, each in enumerate(found)])


def _fields(data: Any, places: LineNumbers, number: int) -> Fields:
    return Fields(data, places, "window", ("name", "kind", *_EVERY_KEY), number)


def _windowed(query: Query, tables: list[Fields]) -> Query:
    named: dict[str, Window] = {}
    mistakes = Mistakes()
    for fields in tables:
        keys = fields.reading()
        name = keys.of(fields.text, "name", None if len(tables) == 1 else REQUIRED) or ""
        if name in named:
            keys.of(fields.refuse, "name", f"{name!r} is there twice")
        window = keys.of(_window, fields)
        named[name] = window
        mistakes.of(keys.stop)
        if window is not None:
            mistakes.of(fields.checked, "", query.window, window)
    mistakes.stop()
    last = tables[-1]
    if "" in named:
        return last.checked("", query.window, named[""])
    return last.checked("name", query.window, **named)


def _window(fields: Fields) -> Window:
    kind = KINDS[fields.choice("kind", tuple(KINDS))]
    known = [key.name for key in kind.job_keys]
    keys = Mistakes()
    for name in (name for name in fields.data if name in _EVERY_KEY and name not in known):
        takes = ", ".join(known)
        keys.of(fields.refuse, name, f"a {fields.data['kind']} window has no {name}: it takes {takes}")
    wanted = [key for key in kind.job_keys if key.is_needed or key.name in fields.data]
    arguments = {key.name: keys.of(_argument, fields, key) for key in wanted}
    keys.stop()
    if kind is Policy:
        return fields.checked("evict_while", policy_of, arguments["evict_while"])
    try:
        return kind(**arguments)
    except (TypeError, ValueError, OverflowError) as error:
        # what a window refuses begins with the name of the argument
        named = str(error).partition(" ")[0]
        last = [key.name for key in kind.job_keys if key.is_needed][-1]
        fields.refuse(named if named in arguments else last, str(error))


def _argument(fields: Fields, key: JobKey) -> Any:
    if key.takes == "text":
        return fields.text(key.name)
    if key.takes == "rows":
        return fields.whole(key.name, least=1)
    return fields.value(key.name, REQUIRED, str, int, *((float,) if key.takes == "number" else ()))
