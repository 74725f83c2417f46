"""A few rows of given types, for trying a job whose source cannot be read here."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

from windrow.cli.job.column_types import arrow_type

__all__ = ["made_up_rows"]

_ROWS = 8
_START = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


def made_up_rows(schema: tuple[tuple[str, str], ...]) -> pa.Table:
    """
    >>> made_up_rows((("ts", "timestamp"), ("len", "int"), ("who", "string"))).slice(1, 1).to_pylist()[0][
    ...     "who"
    ... ]
    'b'
    """
    fields = [pa.field(name, arrow_type(kind)) for name, kind in schema]
    columns = [pa.array([_value(field.type, k) for k in range(_ROWS)], field.type) for field in fields]
    return pa.table(columns, schema=pa.schema(fields))


def _value(kind: pa.DataType, k: int) -> Any:
    if pa.types.is_timestamp(kind):
        moment = _START + dt.timedelta(seconds=k)
        return moment if kind.tz else moment.replace(tzinfo=None)
    if pa.types.is_date(kind):
        return _START.date() + dt.timedelta(days=k)
    if pa.types.is_boolean(kind):
        return k % 2 == 0
    if pa.types.is_decimal(kind):
        return Decimal(k)
    if pa.types.is_struct(kind):
        return {field.name: _value(field.type, k) for field in kind}
    if pa.types.is_map(kind):
        return [(_value(kind.key_type, k), _value(kind.item_type, k))]
    if pa.types.is_list(kind):
        return [_value(kind.value_type, k)]
    if pa.types.is_string(kind):
        return "abcdefgh"[k]
    return b"abcdefgh"[k : k + 1] if pa.types.is_binary(kind) else k
