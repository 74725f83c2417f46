"""Values as bytes: one tag byte, then the content; what is nested is written the same way.

Types are matched exactly: a subclass of int or dict would come back as something else, so it is refused.
Numbers are little-endian; lengths are base-128 varints. Sets are written in the order of their items' bytes.

Invariant: reading never goes past the end, allocates by what is there and not by what is claimed, and nests
at most :data:`DEPTH` deep. Cost: O(size), about 0.3 µs a number inside a list or tuple.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from windrow.state.errors import CorruptState, StateError, UnstorableValue

__all__ = ["DEPTH", "Reader", "Writer"]

#: how deep containers may nest
DEPTH = 100
_DOUBLE = struct.Struct("<d")
_MOMENT = struct.Struct("<HBBBBBIB")
_DAY = struct.Struct("<HBB")
_CLOCK = struct.Struct("<BBBIB")
_SPAN = struct.Struct("<iiI")
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
        from windrow.state import specials

        kind = type(value)
        special = specials.named_after(kind)
        fields = (kind.__name__, *getattr(kind, "_fields", ()))
        if special is not None:
            self.blob(b"@", special.name.encode())
            self.items(b"(", [special.to_plain(value)], 1)
        elif self.records.get(fields) is kind:
            self.items(b"R", [fields, *value], len(fields))
        elif kind.__module__.partition(".")[0] in ("numpy", "pyarrow"):
            from windrow.state import arrays

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


# -- writing -----------------------------------------------------------------------------------------------


def _int(writer: Writer, value: int) -> None:
    writer.blob(b"i", value.to_bytes((value.bit_length() >> 3) + 1, "little", signed=True))


def _float(writer: Writer, value: float) -> None:
    writer.out += b"f"
    writer.out += _DOUBLE.pack(value)


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
    writer.out += _MOMENT.pack(v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, v.fold)
    _zone(writer, v.tzinfo)


def _date(writer: Writer, v: dt.date) -> None:
    writer.out += b"y" + _DAY.pack(v.year, v.month, v.day)


def _time(writer: Writer, v: dt.time) -> None:
    writer.out += b"c" + _CLOCK.pack(v.hour, v.minute, v.second, v.microsecond, v.fold)
    _zone(writer, v.tzinfo)


def _timedelta(writer: Writer, v: dt.timedelta) -> None:
    writer.out += b"p" + _SPAN.pack(v.days, v.seconds, v.microseconds)


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


# -- reading -----------------------------------------------------------------------------------------------


class Reader:
    """Takes values from bytes that may be anything."""

    __slots__ = ("_at", "_data", "_depth", "constants", "records")

    def __init__(self, data: memoryview, records: Records, constants: tuple[Any, ...]) -> None:
        self._data = data
        self._at = 0
        self._depth = 0
        self.records = records
        self.constants = constants

    def read_all(self) -> Any:
        value = self.read()
        if self._at != len(self._data):
            raise CorruptState(f"{len(self._data) - self._at} bytes follow the value")
        return value

    def read(self) -> Any:
        tag = self.take(1)[0]
        function = _READERS.get(tag)
        if function is None:
            raise CorruptState(f"unknown tag {tag} at byte {self._at - 1}")
        return function(self)

    def take(self, count: int) -> memoryview:
        start = self._at
        if count > len(self._data) - start:
            raise CorruptState(f"the content ends early: {count} bytes wanted at byte {start}")
        self._at = start + count
        return self._data[start : start + count]

    def length(self) -> int:
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise CorruptState(f"a length of more than 63 bits at byte {self._at}")

    def blob(self) -> memoryview:
        return self.take(self.length())

    def items(self, each: int = 1) -> list[Any]:
        count = self.length() * each
        if count > len(self._data) - self._at:  # an item takes a byte at least
            raise CorruptState(f"the content ends early: {count} items stated at byte {self._at}")
        self._depth += 1
        if self._depth > DEPTH + 1:
            raise CorruptState(f"containers nest more than {DEPTH} deep")
        values = [self.read() for _ in range(count)]
        self._depth -= 1
        return values

    def set_items(self) -> list[Any]:
        count = self.length()
        if count > len(self._data) - self._at:
            raise CorruptState(f"the content ends early: {count} items stated at byte {self._at}")
        self._depth += 1
        values = [self.read() for _ in range(count)]
        self._depth -= 1
        return [value for (value,) in values]

    def expect(self, *kinds: type) -> Any:
        value = self.read()
        if type(value) not in kinds:
            raise CorruptState(f"a {type(value).__name__} where {kinds[0].__name__} is expected")
        return value


def _read_constant(reader: Reader) -> Any:
    number = reader.length()
    if number >= len(reader.constants):
        raise CorruptState(f"constant {number} is not known here: the aggregate has changed")
    return reader.constants[number]


def _read_record(reader: Reader) -> Any:
    fields, *values = reader.items() or [()]
    record = reader.records.get(fields) if type(fields) is tuple else None
    if record is None or len(values) != len(fields) - 1:
        raise CorruptState(f"a named tuple {fields!r} that is not known here: the aggregate has changed")
    return record(*values)


def _read_special(reader: Reader) -> Any:
    from windrow.state import specials

    name = str(reader.blob(), "utf-8")
    special = specials.by_name(name)
    if special is None:
        raise CorruptState(f"a special value {name!r} that is not known here: register its type first")
    (plain,) = reader.expect(tuple)
    return special.from_plain(plain)


def _read_zone(reader: Reader) -> Any:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    zone = reader.expect(type(None), str, tuple)
    if type(zone) is tuple:
        return dt.timezone(*zone)
    try:
        return None if zone is None else ZoneInfo(zone)
    except ZoneInfoNotFoundError as error:
        raise StateError(f"time zone {zone!r} is not known on this machine: install tzdata") from error


def _read_datetime(reader: Reader) -> dt.datetime:
    *fields, fold = _MOMENT.unpack(reader.take(_MOMENT.size))
    return dt.datetime(*fields).replace(tzinfo=_read_zone(reader), fold=fold)


def _read_time(reader: Reader) -> dt.time:
    *fields, fold = _CLOCK.unpack(reader.take(_CLOCK.size))
    return dt.time(*fields).replace(tzinfo=_read_zone(reader), fold=fold)


def _read_dict(reader: Reader) -> dict[Any, Any]:
    parts = reader.items(each=2)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _read_array(name: str) -> Callable[[Reader], Any]:
    def read(reader: Reader) -> Any:
        from windrow.state import arrays

        return getattr(arrays, name)(reader)

    return read


_BY_TAG: dict[bytes, Callable[[Reader], Any]] = {
    b"0": lambda reader: None,
    b"T": lambda reader: True,
    b"F": lambda reader: False,
    b"i": lambda reader: int.from_bytes(reader.blob(), "little", signed=True),
    b"f": lambda reader: _DOUBLE.unpack(reader.take(8))[0],
    b"s": lambda reader: str(reader.blob(), "utf-8", "surrogatepass"),
    b"b": lambda reader: bytes(reader.blob()),
    b"(": lambda reader: tuple(reader.items()),
    b"[": lambda reader: reader.items(),
    b"d": _read_dict,
    b"{": lambda reader: set(reader.set_items()),
    b"<": lambda reader: frozenset(reader.set_items()),
    b"m": _read_datetime,
    b"y": lambda reader: dt.date(*_DAY.unpack(reader.take(_DAY.size))),
    b"c": _read_time,
    b"p": lambda reader: dt.timedelta(*_SPAN.unpack(reader.take(_SPAN.size))),
    b"D": lambda reader: Decimal(str(reader.blob(), "ascii")),
    b"#": _read_constant,
    b"R": _read_record,
    b"@": _read_special,
    b"A": _read_array("read_array"),
    b"S": _read_array("read_scalar"),
    b"W": _read_array("read_arrow"),
}
_READERS = {tag[0]: function for tag, function in _BY_TAG.items()}
