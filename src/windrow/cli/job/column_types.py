"""Types of columns as Spark writes them (``timestamp``, ``decimal(10,2)``, ``array<struct<a:int>>``), checked
and turned into Arrow's without Spark."""

from __future__ import annotations

import re
from typing import NoReturn

import pyarrow as pa

from windrow.cli.job.fields import nearest

__all__ = ["TIME_TYPES", "arrow_type"]

_SIMPLE = {
    **dict.fromkeys(("byte", "tinyint"), pa.int8()),
    **dict.fromkeys(("short", "smallint"), pa.int16()),
    **dict.fromkeys(("int", "integer"), pa.int32()),
    **dict.fromkeys(("long", "bigint"), pa.int64()),
    **dict.fromkeys(("float", "real"), pa.float32()),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.timestamp("us"),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
}
#: types of columns that may be times
TIME_TYPES = tuple(
    name for name, kind in _SIMPLE.items() if pa.types.is_temporal(kind) or pa.types.is_integer(kind)
)
_TOKEN = re.compile(r"\s*([\w]+|[<>(),:])")
_NAMES = (*_SIMPLE, "decimal", "array", "map", "struct")
#: what others call them
_ELSEWHERE = {
    **dict.fromkeys(("str", "text", "varchar", "char", "object", "utf8"), "string"),
    **dict.fromkeys(("datetime", "datetime64", "timestamptz", "time"), "timestamp"),
    **dict.fromkeys(("int64", "uint64", "uint32"), "long"),
    **dict.fromkeys(("number", "float64", "f64"), "double"),
    **dict.fromkeys(("bool", "bit"), "boolean"),
    **dict.fromkeys(("list",), "array"),
    "int8": "byte",
    "int16": "short",
    "int32": "int",
    "float32": "float",
    "numeric": "decimal",
    "bytes": "binary",
    "blob": "binary",
    "dict": "map",
    "date32": "date",
}


def arrow_type(text: str) -> pa.DataType:
    """
    >>> print(arrow_type("map<string, array<long>>"), arrow_type("timestamp"))
    map<string, list<item: int64>> timestamp[us, tz=UTC]
    >>> arrow_type("datetime")
    Traceback (most recent call last):
    ValueError: 'datetime' is not a type: did you mean 'timestamp'?
    """
    reader = _Reader(text)
    found = reader.type()
    return reader.refuse() if reader.tokens else found


class _Reader:
    """Recursive descent over tokens; a type is a name with arguments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        if "".join(self.tokens) != "".join(text.split()):
            self.refuse()

    def type(self) -> pa.DataType:
        name = self._next().lower()
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name == "decimal":
            return pa.decimal128(*self._digits())
        if name not in _NAMES:
            self.refuse(name)
        self._expect("<")
        if name == "struct":
            return pa.struct(self._members())
        inner = [self.type()]
        if name == "map":
            self._expect(",")
            inner.append(self.type())
        self._expect(">")
        return pa.map_(*inner) if name == "map" else pa.list_(*inner)

    def _members(self) -> list[tuple[str, pa.DataType]]:
        """Names and types, up to the bracket that closes."""
        found, mark = [], ","
        while mark == ",":
            name = self._next()
            if self.tokens[:1] == [":"]:
                self._next()
            found.append((name, self.type()))
            mark = self._next()
        return found if mark == ">" else self.refuse()

    def _digits(self) -> tuple[int, int]:
        if self.tokens[:1] != ["("]:
            return 10, 0
        self._next()
        precision, scale = self._next(), "0"
        if self.tokens[:1] == [","]:
            self._next()
            scale = self._next()
        self._expect(")")
        if not (precision.isdigit() and scale.isdigit() and 1 <= int(precision) <= 38 >= int(scale)):
            raise ValueError(f"{self.text!r}: a decimal has 1 to 38 digits, as in decimal(10,2)")
        return int(precision), int(scale)

    def _next(self) -> str:
        return str(self.tokens.pop(0)) if self.tokens else self.refuse()

    def _expect(self, token: str) -> None:
        if self._next() != token:
            self.refuse()

    def refuse(self, name: str = "") -> NoReturn:
        meant = _ELSEWHERE.get(name)
        hint = f"did you mean {meant!r}?" if meant else nearest(name or self.text, _NAMES)
        raise ValueError(f"{self.text!r} is not a type: {hint}")
