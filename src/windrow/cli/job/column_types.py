"""Types of columns as Spark writes them (``timestamp``, ``decimal(10,2)``, ``array<struct<a:int>>``), checked
and turned into Arrow's without Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TIME_TYPES", "arrow_type", "check_type"]

_SIMPLE = {
    **dict.fromkeys(("byte", "tinyint"), "int8"),
    **dict.fromkeys(("short", "smallint"), "int16"),
    **dict.fromkeys(("int", "integer"), "int32"),
    **dict.fromkeys(("long", "bigint"), "int64"),
    **dict.fromkeys(("float", "real"), "float32"),
    "double": "float64",
    "boolean": "bool_",
    "string": "string",
    "binary": "binary",
    "date": "date32",
}
_TIMES = ("timestamp", "timestamp_ltz", "timestamp_ntz")
#: types of columns that may be times
TIME_TYPES = (*_TIMES, "date", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint")
_TOKEN = re.compile(r"\s*([\w]+|[<>(),:])")
_NAMES = (*_SIMPLE, *_TIMES, "decimal", "array", "map", "struct")
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


def check_type(text: str) -> None:
    """Raise ValueError for what is not a type.

    >>> check_type("array<struct<a:int,b:decimal(10,2)>>")
    >>> check_type("datetime")
    Traceback (most recent call last):
    ValueError: 'datetime' is not a type: did you mean 'timestamp'?
    """
    _Reader(text).read_all()


def arrow_type(text: str) -> pa.DataType:
    """
    >>> print(arrow_type("map<string, array<long>>"), arrow_type("timestamp"))
    map<string, list<item: int64>> timestamp[us, tz=UTC]
    """
    return _as_arrow(_Reader(text).read_all())


class _Reader:
    """Recursive descent over tokens; a type is a name with arguments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        if "".join(self.tokens) != "".join(text.split()):
            self._refuse()

    def read_all(self) -> tuple[str, list[Any]]:
        found = self._type()
        if self.tokens:
            self._refuse()
        return found

    def _type(self) -> tuple[str, list[Any]]:
        name = self._next().lower()
        if name == "decimal":
            return name, self._numbers()
        if name == "array":
            return name, self._between(1)
        if name == "map":
            return name, self._between(2)
        if name == "struct":
            return name, self._members()
        if name not in _NAMES:
            self._refuse(name)
        return name, []

    def _between(self, count: int) -> list[Any]:
        self._expect("<")
        found = [self._type()]
        for _ in range(count - 1):
            self._expect(",")
            found.append(self._type())
        self._expect(">")
        return found

    def _members(self) -> list[Any]:
        found = []
        self._expect("<")
        while True:
            name = self._next()
            if self.tokens[:1] == [":"]:
                self._next()
            found.append((name, self._type()))
            if (mark := self._next()) == ">":
                return found
            if mark != ",":
                self._refuse()

    def _numbers(self) -> list[Any]:
        if self.tokens[:1] != ["("]:
            return [10, 0]
        self._next()
        precision = self._next()
        scale = "0"
        if self.tokens[:1] == [","]:
            self._next()
            scale = self._next()
        self._expect(")")
        if not (precision.isdigit() and scale.isdigit() and 1 <= int(precision) <= 38 >= int(scale)):
            raise ValueError(f"{self.text!r}: a decimal has 1 to 38 digits, as in decimal(10,2)")
        return [int(precision), int(scale)]

    def _next(self) -> str:
        if not self.tokens:
            self._refuse()
        return str(self.tokens.pop(0))

    def _expect(self, token: str) -> None:
        if self._next() != token:
            self._refuse()

    def _refuse(self, name: str = "") -> None:
        from windrow.cli.job.fields import nearest

        meant = _ELSEWHERE.get(name)
        hint = f"did you mean {meant!r}?" if meant else nearest(name or self.text, _NAMES)
        raise ValueError(f"{self.text!r} is not a type: {hint}")


def _as_arrow(found: tuple[str, list[Any]]) -> Any:
    import pyarrow as pa

    name, inner = found
    if name in _SIMPLE:
        return getattr(pa, _SIMPLE[name])()
    if name in _TIMES:
        return pa.timestamp("us", None if name == "timestamp_ntz" else "UTC")
    if name == "decimal":
        return pa.decimal128(*inner)
    if name == "array":
        return pa.list_(_as_arrow(inner[0]))
    if name == "map":
        return pa.map_(_as_arrow(inner[0]), _as_arrow(inner[1]))
    return pa.struct([(member, _as_arrow(kind)) for member, kind in inner])
