"""``[source]``, and ``[at]`` alike: where rows come from, which are left out, which columns are derived.

Expressions are checked here as far as they can be without Spark: what is surely wrong (an open quote, a
column that the schema does not have, a ``where`` that is not true or false) is an error of the file. What
only Spark can judge is left to it."""

from __future__ import annotations

import re
from pathlib import Path

from windrow.cli.job.column_types import TIME_TYPES, arrow_type
from windrow.cli.job.fields import Fields
from windrow.cli.job.formats import check_source
from windrow.cli.job.line_numbers import placed
from windrow.cli.job.model import FILE_FORMATS, Source
from windrow.cli.job.value_format import check_value, read_value

__all__ = ["SOURCE_KEYS", "check_time", "read_source", "word_of_code"]

SOURCE_KEYS = ("format", "path", "stream", "options", "schema", "columns", "where", "value")


def read_source(fields: Fields, file: Path, is_stream: bool | None = None) -> Source:
    """The source of a table; ``is_stream``: whether it is a stream, where the table does not say so."""
    keys = fields.reading()
    schema = keys.of(fields.value, "schema", {}, dict, instead={})
    types = Fields(schema, fields.places, f"{fields.table}.schema", tuple(schema))
    for name in schema:
        keys.of(lambda name=name: types.checked(name, arrow_type, types.text(name)))
    form = keys.of(fields.text, "format", instead="")
    found = Source(
        format=form,
        path=keys.of(lambda: placed(fields.text("path", None), file, form)),
        is_stream=keys.of(fields.flag, "stream", False) if is_stream is None else is_stream,
        options=keys.of(fields.settings, "options"),
        schema=tuple(schema.items()),
        columns=keys.of(_columns, fields),
        where=keys.of(fields.text, "where", None),
        value=keys.of(read_value, fields, file),
        table=fields.table,
    )
    keys.stop()
    if found.format in FILE_FORMATS and found.path is None:
        fields.miss("path", f"say where the {found.format} files are")
    if found.format in FILE_FORMATS and found.is_stream and not schema:
        table = f"[{fields.table}.schema]"
        fields.refuse("schema", f"a stream of files needs {table}: name each column and its type")
    check_source(found, fields)
    check_value(found, fields, types)
    _check_expressions(found, fields)
    return found


def check_time(source: Source, time: str, fields: Fields) -> None:
    """Where types are known, a column of times of another type is an error of the file."""
    if time.lower() in (name.lower() for name, _ in source.columns):
        return  # of the type that its expression gives
    kind = dict(source.schema).get(time, "timestamp").partition("(")[0].strip().lower()
    if kind not in TIME_TYPES:
        fields.refuse(
            "time", f"column {time!r} is of type {kind}: name one of timestamps, dates or whole numbers"
        )


# -- derived columns and rows that are left out --------------------------------------------------------------


def _columns(fields: Fields) -> tuple[tuple[str, str], ...]:
    found = fields.value("columns", {}, dict)
    inner = Fields(found, fields.places, f"{fields.table}.columns", tuple(found))
    seen: dict[str, str] = {}
    for name in found:
        if name.lower() in seen:
            inner.refuse(name, f"this is {seen[name.lower()]!r} again: Spark takes both for the same name")
        seen[name.lower()] = name
    keys = inner.reading()
    columns = tuple((name, keys.of(inner.text, name)) for name in found)
    keys.stop()
    return columns


def _check_expressions(source: Source, fields: Fields) -> None:
    """Without a schema, only how they are written."""
    if not source.columns and source.where is None:
        return
    _check_code(source, fields)
    import pyarrow as pa

    from windrow.cli.expressions.derivation import Derivation
    from windrow.cli.expressions.errors import ExpressionError

    known = source.read_columns
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in known]) if known else None
    try:
        Derivation.of(source.columns, source.where, schema, source.table)
    except ExpressionError as error:
        table, key, message = error.args
        Fields({}, fields.places, table, ()).refuse(key, message)


def _check_code(source: Source, fields: Fields) -> None:
    """Nothing in a job file is run but SQL."""
    where = [] if source.where is None else [(source.table, "where", source.where)]
    derived = [(f"{source.table}.columns", name, text) for name, text in source.columns]
    for table, key, text in [*where, *derived]:
        if word := word_of_code(text):
            Fields({}, fields.places, table, ()).refuse(
                key, f"{word!r} can run code, which a job file cannot: compute this before, or in Python"
            )


#: identifier() makes the name of a function from text; using names the script of a transformation
_WORDS = re.compile(
    r"(?<![A-Za-z0-9_])(?:(?:try_)?reflect|java_method|identifier|using)(?![A-Za-z0-9_])", re.I
)
_PLAIN = re.compile(r"`[^`]*`|\"[^\"]*\"|'[^']*'")
_MISLEADING = re.compile(r"\\|--|/\*|\$\w*\$|[rR]['\"]")


def word_of_code(text: str) -> str | None:
    """The word by which an expression would run code that is not SQL, if there is one: a function that calls
    methods of Java, a script in a subquery. The words are looked for in all of an expression but plain text
    literals; where escapes, comments or raw text might mislead the search, in those too.

    >>> word_of_code("reflect('java.lang.System', 'exit', 3)"), word_of_code("note = 'using a phone'")
    ('reflect', None)
    """
    if not _MISLEADING.search(text):
        text = _PLAIN.sub(lambda found: "''" if found[0].startswith("'") else found[0], text)
    word = _WORDS.search(text)
    return word and word[0]
