"""The JSON Schema of job files, by which editors complete keys and mark mistakes.

It is made from what the reader of job files knows: its tables and their keys, the words that a key may have,
the kinds of windows and what each takes. A key of the reader's that has no type here is an error. Whatever
the reader takes, the schema takes; the reader also checks what a schema cannot say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from windrow.cli.job.frames import ASOF_KEYS, DIRECTIONS, ROLLING_KEYS
from windrow.cli.job.model import FILE_FORMATS
from windrow.cli.job.more_tables import AT_KEYS, DEAD_LETTER_KEYS, DEAD_LETTERS, HISTORY_KEYS
from windrow.cli.job.read import CHOICES, EVENTS_KEYS, NEEDED, SINK_KEYS, SPARK_KEYS, TABLES, TRIGGERS
from windrow.cli.job.source import SOURCE_KEYS
from windrow.cli.job.value_format import VALUE_FORMATS, VALUE_KEYS
from windrow.cli.job.windows import KINDS
from windrow.windows.base import Window
from windrow.windows.relative import Closed

__all__ = ["job_schema"]

Schema = dict[str, Any]


def _described(schema: Schema, about: str) -> Schema:
    return schema | {"description": about}


_TEXT: Schema = {"type": "string", "pattern": r"\S"}
_FLAG: Schema = {"type": "boolean"}
_LENGTH: Schema = {"type": ["string", "integer"]}
_COLUMNS: Schema = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}]
}
_TEXTS: Schema = {"type": "object", "additionalProperties": _TEXT}
_SECRET: Schema = {
    "type": "object",
    "properties": {"env": {"type": "string"}},
    "required": ["env"],
    "additionalProperties": False,
}
_SETTINGS: Schema = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": ["string", "number", "boolean"]}, _SECRET]},
}
_SIZES: Schema = {
    "anyOf": [
        _LENGTH,
        {"type": "array", "items": _LENGTH, "minItems": 1},
        {"type": "object", "additionalProperties": _LENGTH, "minProperties": 1},
    ]
}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_COUNTS: Schema = {"anyOf": [_COUNT, {"type": "array", "items": _COUNT}]}


def _words(words: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


#: what a key takes, in whichever table it is
_KEYS: dict[str, Schema] = {
    "format": _described(
        _TEXT | {"examples": [*FILE_FORMATS, "kafka", "delta"]}, "Any format that Spark knows."
    ),
    "path": _described(_TEXT, "Files or a folder, from the folder of this job file."),
    "stream": _described(_FLAG, "Whether rows keep coming."),
    "options": _described(_SETTINGS, 'Options of the format; { env = "NAME" } for a secret.'),
    "schema": _described(_TEXTS, "The type of each column, as Spark writes types."),
    "columns": _described(_TEXTS, "Derived columns: name and expression."),
    "where": _described(_TEXT, "Rows for which this is not true are left out."),
    "value": {
        "type": "object",
        "properties": dict(zip(VALUE_KEYS, (_words(VALUE_FORMATS), _TEXT, _SETTINGS), strict=True)),
        "additionalProperties": False,
        "description": "How the values of Kafka's records are read into columns.",
    },
    "time": _described(_TEXT, "The column of times."),
    "by": _described(_COLUMNS, "The columns of keys."),
    "order": _described(_COLUMNS, "Columns that order rows of the same time."),
    "watermark": _described(
        _LENGTH, "How far the watermark stays behind the largest time, such as '10 minutes'."
    ),
    "max_ahead": _described(_LENGTH, "Rows further ahead of the clock are rejected and counted."),
    "allowed_lateness": _described(_LENGTH, "How late a row may correct windows that have come out."),
    "min_count": _described({"type": "integer", "minimum": 0}, "An aggregate over fewer values is null."),
    "max_windows": _described(_COUNT, "A step that would give more windows is refused."),
    "until": _described({"type": ["string", "integer"]}, "Where history ends."),
    "takes_over": _described(_TEXT, "The checkpoint of a stream that this one goes on for, with more."),
    "size": _described(_SIZES, "How far back rows are seen: one size, several, or names of sizes."),
    "rows": _described(_COUNTS, "How many rows are seen."),
    "evict_while": _described(_TEXT, "A policy over total and old, such as 'total.n - old.n >= 3'."),
    "closed": _words(get_args(Closed)),
    "shift": _described(_LENGTH, "Moves what a row sees: '-1h' to the past."),
    "lag": _described(_LENGTH, "How late rows become known: the window ends so long before the label."),
    "direction": _words(DIRECTIONS),
    "timezone": _described(_TEXT, "The zone of calendar sizes, such as 'Europe/Berlin'."),
    "checkpoint": _described(_TEXT, "Where a stream keeps its progress and state."),
    "trigger": _described(_TEXT | {"examples": [*TRIGGERS, "10s"]}, "When a stream takes new rows."),
    "master": _described(_TEXT | {"examples": ["local[2]"]}, "Where Spark runs."),
    "remote": _described(_TEXT, "An address of Spark Connect."),
    "app_name": _TEXT,
    "conf": _described(_SETTINGS, "Spark settings."),
    **{name: _words(words) for name, words in CHOICES.items()},
}
_ARGUMENTS: dict[str, Schema] = {
    "text": _TEXT,
    "time": _LENGTH,
    "rows": _COUNT,
    "number": {"type": ["string", "number"]},
}


def job_schema() -> Schema:
    """The schema, as JSON has it.

    >>> job_schema()["properties"]["events"]["required"]
    ['time']
    """
    tables: dict[str, Schema] = {
        "source": _table(SOURCE_KEYS, "Where rows come from.", ["format"]),
        "events": _table(EVENTS_KEYS, "Times, keys and lateness.", ["time"]),
        "window": {
            "type": "array",
            "minItems": 1,
            "items": {"oneOf": [_window(name, kind) for name, kind in KINDS.items()]},
            "description": "Which rows belong together.",
        },
        "rolling": _table(ROLLING_KEYS, "One result per row, over the rows before it."),
        "asof": _table(ASOF_KEYS, "One result per label, over the events before it."),
        "at": _table(AT_KEYS, "The labels: moments to look from.", ["format"]),
        "history": _table(HISTORY_KEYS, "The rows before a stream.", ["format"]),
        "agg": _described(_TEXTS | {"minProperties": 1}, "Results by name, such as longest = 'max(len)'."),
        "sink": _table(SINK_KEYS, "Where results go.", ["format"]),
        **{name: _table(DEAD_LETTER_KEYS, f"Where {name} rows go.", ["format"]) for name in DEAD_LETTERS},
        "spark": _table(SPARK_KEYS, "How Spark runs."),
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a windrow job",
        "type": "object",
        "properties": {name: tables[name] for name in TABLES},
        "required": list(NEEDED),
        "additionalProperties": False,
    }


def _table(keys: Iterable[str], about: str, required: Iterable[str] = ()) -> Schema:
    return {
        "type": "object",
        "properties": {key: _KEYS[key] for key in keys},
        "required": list(required),
        "additionalProperties": False,
        "description": about,
    }


def _window(name: str, kind: type[Window]) -> Schema:
    keys = {key.name: _ARGUMENTS[key.takes] for key in kind.job_keys}
    return {
        "type": "object",
        "title": f"a {name} window",
        "properties": {"name": _TEXT, "kind": {"const": name}, **keys},
        "required": ["kind", *(key.name for key in kind.job_keys if key.is_needed)],
        "additionalProperties": False,
    }
