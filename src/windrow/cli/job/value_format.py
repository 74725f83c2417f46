"""``[source.value]``: how the bytes in Kafka's records become columns: JSON, or Avro with its schema.

An Avro value does not say what is in it: the schema it was written with is given, in a file or in the job. It
is held against ``[source.schema]`` here, since Spark would make nulls, or other times, of what does not fit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from windrow.cli.job.fields import Fields, nearest
from windrow.cli.job.line_numbers import placed
from windrow.cli.job.model import KAFKA_COLUMNS, Source, ValueFormat

__all__ = ["VALUE_FORMATS", "VALUE_KEYS", "check_value", "read_value"]

VALUE_KEYS = ("format", "schema", "options")
VALUE_FORMATS = ("json", "avro")


def read_value(fields: Fields, file: Path) -> ValueFormat | None:
    """None: the source's columns are its own."""
    found = fields.value("value", None, dict)
    if found is None:
        return None
    inner = Fields(found, fields.places, "source.value", VALUE_KEYS)
    keys = inner.reading()
    name = keys.of(inner.choice, "format", VALUE_FORMATS)
    options = keys.of(inner.settings, "options")
    keys.stop()
    if name == "avro":
        return ValueFormat(name, options, _avro_schema(inner, file))
    if "schema" in inner.data:
        inner.refuse("schema", "this is for avro: the columns of JSON are in [source.schema]")
    return ValueFormat(name, options)


def check_value(source: Source, fields: Fields, types: Fields) -> None:
    """Refuse values of a source that has none, and columns that cannot be read from them."""
    if source.value is None:
        return
    if source.format != "kafka":
        fields.refuse("value", f"this is for kafka, whose values are bytes: {source.format!r} has columns")
    if not source.schema:
        fields.refuse(
            "schema", "[source.value] needs [source.schema]: name each column of the values and its type"
        )
    own = [name for name, _ in KAFKA_COLUMNS]
    for name, _ in source.schema:
        if name.lower() in own:
            types.refuse(
                name, "this is the name of a column of Kafka's own: derive one from it in [source.columns]"
            )
    if source.value.schema is not None:
        _check_columns(source, source.value.schema, types)


# -- Avro ----------------------------------------------------------------------------------------------------


def _avro_schema(fields: Fields, file: Path) -> str:
    """The schema itself, or what is in the file that is named."""
    given = fields.value("schema", None, str)
    if given is None:
        fields.refuse("schema", "this key is missing: name the file of the values' schema, as in 'call.avsc'")
    text = given if given.lstrip().startswith("{") else _read(fields, placed(given, file))
    try:
        found = json.loads(text)
    except ValueError as error:
        fields.refuse("schema", f"this is not a schema of Avro, which is JSON: {error}")
    if not isinstance(found, dict) or found.get("type") != "record" or not found.get("fields"):
        fields.refuse("schema", "the values must be records with fields: give the schema of a record")
    return text


def _read(fields: Fields, path: str | None) -> str:
    try:
        return Path(str(path)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fields.refuse("schema", f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")


def _check_columns(source: Source, schema: str, types: Fields) -> None:
    """Every column is a field of the record; times are times there, too."""
    known = {str(field["name"]): field.get("type") for field in json.loads(schema)["fields"]}
    for name, kind in source.schema:
        if name not in known:
            hint = nearest(name, list(known))
            types.refuse(name, f"the schema of the values has no field {name!r}: {hint}")
        if kind.lower().startswith("timestamp") and not _is_time(known[name]):
            types.refuse(
                name,
                "Avro has a plain number there, and Spark would take it for seconds: write 'long', and "
                f"derive the time in [source.columns], as in timestamp_millis({name})",
            )


def _is_time(kind: Any) -> bool:
    """Whether a field holds moments, or something that is no number; null beside it does not matter."""
    for each in kind if isinstance(kind, list) else [kind]:
        plain = each.get("type") if isinstance(each, dict) and "logicalType" not in each else each
        if isinstance(plain, str) and plain in ("int", "long", "float", "double"):
            return False
    return True
