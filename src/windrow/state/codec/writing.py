"""Values as bytes: one tag byte, then the content; what is nested is written the same way.

Types are matched exactly: a subclass of int or dict would come back as something else, so it is refused.
Numbers are little-endian; lengths are base-128 varints. Sets are written in the order of their items' bytes.
:mod:`windrow.state.codec.reading` is the other half. Cost: O(size), about 0.3 µs a number inside a list or
tuple."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from struct import Struct
from typing import Any

from windrow.errors import UnstorableValue

__all__ = ["CLOCK", "DAY", "DEPTH", "DOUBLE", "MOMENT", "SPAN", "Records", "Writer"]

#: how deep containers may nest
DEPTH = 100
DOUBLE = Struct("<d")
#: the fields of moments, days, times of day and durations
MOMENT, DAY, CLOCK, SPAN = Struct("<HBBBBBIB"), Struct("<HBB"), Struct("<BBBIB"), Struct("<iiI")
_REMEDY = (
    "use numbers, text, bytes, dates, lists, tuples, dicts, sets, numpy or Arrow arrays, or tell the codec "
    "how to store it with windrow.state.codec.register"
)

Records = dict[tuple[str, ...], type]


class Writer:
    """Appends values to ``out``."""

    __slots__ = ("_numbers", "constants", "depth", "out", "records")

    def __init__(self, records: Records, constants: tuple[Any, ...]) -> None:
        self.out = bytearray()
        self.records = records
        self.constants = constants
        self.depth = 0
        self._numbers = {id(constant): number for number, constant in enumerate(constants)}

    def write(self, value: Any) -> None:
        if self._numbers and id(value) in self._numbers:
            self.out += b"#"
            self.length(self._numbers[id(value)])
            return
        function = _WRITERS.get(type(value))
        if function is not None:
            function(self, value)
        else:
            self._write_other(value)

    def length(self, number: int) -> None:
        """A number from 0 on, seven bits a byte, the lowest first."""
        while number > 127:
            self.out.append(number & 127 | 128)
            number >>= 7
        self.out.append(number)

    def blob(self, tag: bytes, content: Any) -> None:
        self.out += tag
        self.length(len(content))
        self.out += content

    def items(self, tag: bytes, values: Any, count: int) -> None:
        self.out += tag
        self.length(count)
        self.depth += 1
        if self.depth > DEPTH:
            raise UnstorableValue(f"containers nest more than {DEPTH} deep: store something flatter")
        for value in values:
            self.write(value)
        self.depth -= 1

    def _write_other(self, value: Any) -> None:
        from windrow.state.codec import specials

        kind = type(value)
        special = specials.named_after(kind)
        fields = (kind.__name__, *getattr(kind, "_fields", ()))
        if special is not None:
            self.blob(b"@", special.name.encode())
            self.items(b"(", [special.to_plain(value)], 1)
        elif self.records.get(fields) is kind:
            self.items(b"R", [fields, *value], len(fields))
        elif kind.__module__.partition(".")[0] in ("numpy", "pyarrow"):
            from windrow.state.codec import arrays

            arrays.write(self, value)
        else:
            raise UnstorableValue(_refusal(kind))


def _refusal(kind: type) -> str:
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return (
            f"the named tuple {kind.__qualname__} is not known to the codec and would come back as a plain "
            f"tuple: store tuple(value), or make it known with windrow.state.codec.register"
        )
    return f"a value of type {kind.__qualname__} has no stored form: {_REMEDY}"


def _int(writer: Writer, value: int) -> None:
    writer.blob(b"i", value.to_bytes((value.bit_length() >> 3) + 1, "little", signed=True))


def _float(writer: Writer, value: float) -> None:
    writer.out += b"f"
    writer.out += DOUBLE.pack(value)


def _set(tag: bytes) -> Callable[[Writer, Any], None]:
    def write(writer: Writer, value: Any) -> None:
        parts = []
        for item in value:
            part = Writer(writer.records, writer.constants)
            part.depth = writer.depth + 1
            part.items(b"(", [item], 1)
            parts.append(bytes(part.out))
        writer.out += tag
        writer.length(len(parts))
        for encoded in sorted(parts):
            writer.out += encoded

    return write


def _dict(writer: Writer, value: dict[Any, Any]) -> None:
    writer.items(b"d", [part for item in value.items() for part in item], len(value))


def _zone(writer: Writer, zone: Any) -> None:
    from zoneinfo import ZoneInfo

    if zone is None:
        writer.write(None)
    elif type(zone) is dt.timezone:
        writer.write(zone.__getinitargs__())  # type: ignore[attr-defined]
    elif type(zone) is ZoneInfo and zone.key:
        writer.write(zone.key)
    else:
        raise UnstorableValue(
            f"a time zone of type {type(zone).__qualname__} has no stored form: use zoneinfo.ZoneInfo, "
            f"datetime.timezone, or moments in UTC"
        )


def _datetime(writer: Writer, v: dt.datetime) -> None:
    writer.out += b"m"
    writer.out += MOMENT.pack(v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, v.fold)
    _zone(writer, v.tzinfo)


def _date(writer: Writer, v: dt.date) -> None:
    writer.out += b"y" + DAY.pack(v.year, v.month, v.day)


def _time(writer: Writer, v: dt.time) -> None:
    writer.out += b"c" + CLOCK.pack(v.hour, v.minute, v.second, v.microsecond, v.fold)
    _zone(writer, v.tzinfo)


def _timedelta(writer: Writer, v: dt.timedelta) -> None:
    writer.out += b"p" + SPAN.pack(v.days, v.seconds, v.microseconds)


_WRITERS: dict[type, Callable[[Writer, Any], None]] = {
    type(None): lambda writer, value: writer.out.extend(b"0"),
    bool: lambda writer, value: writer.out.extend(b"T" if value else b"F"),
    int: _int,
    float: _float,
    str: lambda writer, value: writer.blob(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda writer, value: writer.blob(b"b", value),
    tuple: lambda writer, value: writer.items(b"(", value, len(value)),
    list: lambda writer, value: writer.items(b"[", value, len(value)),
    dict: _dict,
    set: _set(b"{"),
    frozenset: _set(b"<"),
    dt.datetime: _datetime,
    dt.date: _date,
    dt.time: _time,
    dt.timedelta: _timedelta,
    Decimal: lambda writer, value: writer.blob(b"D", str(value).encode()),
}
