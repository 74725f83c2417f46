"""Values from bytes that may be anything: the other half of :mod:`windrow.state.codec.writing`.

Invariant: reading never goes past the end, allocates by what is there and not by what is claimed, and nests
at most :data:`~windrow.state.codec.writing.DEPTH` deep.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from windrow.errors import CorruptState, StateError
from windrow.state.codec.writing import CLOCK, DAY, DEPTH, DOUBLE, MOMENT, SPAN, Records

__all__ = ["Reader"]


class Reader:
    """Takes values from bytes that may be anything."""

    __slots__ = ("_at", "_data", "_depth", "_end", "constants", "records")

    def __init__(self, data: memoryview, records: Records, constants: tuple[Any, ...]) -> None:
        self._data = data
        self._at = 0
        self._end = len(data)
        self._depth = 0
        self.records = records
        self.constants = constants

    def read_all(self) -> Any:
        value = self.read()
        if self._at != self._end:
            raise CorruptState(f"{self._end - self._at} bytes follow the value")
        return value

    def read(self) -> Any:
        tag = self._byte()
        function = _READERS.get(tag)
        if function is None:
            raise CorruptState(f"unknown tag {tag} at byte {self._at - 1}")
        return function(self)

    def _byte(self) -> int:
        at = self._at
        if at >= self._end:
            raise CorruptState(f"the content ends early: a byte wanted at byte {at}")
        self._at = at + 1
        return self._data[at]

    def take(self, count: int) -> memoryview:
        start = self._at
        if count > self._end - start:
            raise CorruptState(f"the content ends early: {count} bytes wanted at byte {start}")
        self._at = start + count
        return self._data[start : start + count]

    def length(self) -> int:
        number = self._byte()
        if number < 128:
            return number
        number, shift = number & 127, 7
        while True:
            byte = self._byte()
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
        if count > self._end - self._at:  # an item takes a byte at least
            raise CorruptState(f"the content ends early: {count} items stated at byte {self._at}")
        self._depth += 1
        if self._depth > DEPTH + 1:
            raise CorruptState(f"containers nest more than {DEPTH} deep")
        values = [self.read() for _ in range(count)]
        self._depth -= 1
        return values

    def set_items(self) -> list[Any]:
        count = self.length()
        if count > self._end - self._at:
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
    from windrow.state.codec import specials

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
    *fields, fold = MOMENT.unpack(reader.take(MOMENT.size))
    return dt.datetime(*fields).replace(tzinfo=_read_zone(reader), fold=fold)


def _read_time(reader: Reader) -> dt.time:
    *fields, fold = CLOCK.unpack(reader.take(CLOCK.size))
    return dt.time(*fields).replace(tzinfo=_read_zone(reader), fold=fold)


def _read_dict(reader: Reader) -> dict[Any, Any]:
    parts = reader.items(each=2)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _read_packed(reader: Reader) -> Any:
    from windrow.state.codec import integers

    return integers.read_packed(reader)


def _read_array(name: str) -> Callable[[Reader], Any]:
    def read(reader: Reader) -> Any:
        from windrow.state.codec import arrays

        return getattr(arrays, name)(reader)

    return read


_BY_TAG: dict[bytes, Callable[[Reader], Any]] = {
    b"0": lambda reader: None,
    b"T": lambda reader: True,
    b"F": lambda reader: False,
    b"i": lambda reader: int.from_bytes(reader.blob(), "little", signed=True),
    b"f": lambda reader: DOUBLE.unpack(reader.take(8))[0],
    b"s": lambda reader: str(reader.blob(), "utf-8", "surrogatepass"),
    b"b": lambda reader: bytes(reader.blob()),
    b"(": lambda reader: tuple(reader.items()),
    b"[": lambda reader: reader.items(),
    b"d": _read_dict,
    b"{": lambda reader: set(reader.set_items()),
    b"<": lambda reader: frozenset(reader.set_items()),
    b"m": _read_datetime,
    b"y": lambda reader: dt.date(*DAY.unpack(reader.take(DAY.size))),
    b"c": _read_time,
    b"p": lambda reader: dt.timedelta(*SPAN.unpack(reader.take(SPAN.size))),
    b"D": lambda reader: Decimal(str(reader.blob(), "ascii")),
    b"#": _read_constant,
    b"R": _read_record,
    b"@": _read_special,
    b"A": _read_array("read_array"),
    b"P": _read_packed,
    b"S": _read_array("read_scalar"),
    b"W": _read_array("read_arrow"),
}
_READERS = {tag[0]: function for tag, function in _BY_TAG.items()}
