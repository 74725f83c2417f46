"""Values that are kept of slices, as columns of the tables that are shuffled.

Numbers go as the bytes that they are, those of a slice in one Spark value: Spark copies them as a whole,
where it would take lists apart. Other values go as lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.monoids.base import Aggregate
from windrow.partials.value_aggregates import Bag
from windrow.partials.value_aggregates.column import KeptColumn

__all__ = ["kept_column", "kept_fields", "stored_values"]

_COUNT = pa.int64()


def kept_fields(name: str, kind: Any) -> list[Any]:
    """The values of a slice, how often each occurs where counts are kept, and how many rows were skipped."""
    values = pa.field(f"{name}_values", pa.binary() if _goes_as_bytes(kind) else pa.list_(kind))
    return [values, pa.field(f"{name}_counts", pa.binary()), pa.field(f"{name}_skipped", pa.int64())]


def stored_values(column: KeptColumn) -> list[Any]:
    offsets, values = column.offsets, column.bag.values
    if _goes_as_bytes(values.type):
        stored = _bytes_of(values, offsets)
    else:
        stored = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
    count, often = len(offsets) - 1, column.bag.tallies
    counts = pa.nulls(count, pa.binary()) if often is None else _bytes_of(pa.array(often), offsets)
    skipped = np.zeros(count, np.int64) if column.skipped is None else column.skipped
    return [stored, counts, pa.array(skipped)]


def kept_column(aggregate: Aggregate, name: str, kind: Any, table: pa.Table) -> KeptColumn:
    stored, often, skips = (table.column(f"{name}_{each}") for each in ("values", "counts", "skipped"))
    if _goes_as_bytes(kind):
        values, offsets = _from_bytes(stored, kind)
    else:
        lists = stored.combine_chunks()
        values, offsets = lists.flatten(), lists.offsets.to_numpy().astype(np.int64)
    counts = None if often.null_count else _from_bytes(often, _COUNT)[0].to_numpy()
    rows = np.asarray(skips.to_numpy(), np.int64)
    skipped = rows if rows.any() else None
    return KeptColumn(aggregate, skipped, Bag(values, counts), offsets - offsets[:1])


def _goes_as_bytes(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _bytes_of(values: Any, offsets: Ints) -> Any:
    """Numbers without nulls, a slice in each value."""
    width = values.type.bit_width // 8
    data = values.buffers()[1] or pa.py_buffer(b"")
    data = data.slice(values.offset * width, len(values) * width)
    places = pa.py_buffer((offsets * width).astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, places, data])


def _from_bytes(column: Any, kind: Any) -> tuple[Any, Ints]:
    """The reverse: numbers, and where those of each slice start, and the end."""
    width = kind.bit_width // 8
    parts, ends = [np.zeros(0, np.uint8)], [np.zeros(1, np.int64)]
    for chunk in column.chunks:
        _, offsets, data = chunk.buffers()
        offset_kind = np.dtype(np.int64 if pa.types.is_large_binary(chunk.type) else np.int32)
        begin = offset_kind.itemsize * chunk.offset
        places = np.frombuffer(offsets, offset_kind, len(chunk) + 1, begin).astype(np.int64)
        content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        parts.append(content[places[0] : places[-1]])
        ends.append(ends[-1][-1] + (places[1:] - places[0]) // width)
    buffer = np.concatenate(parts)
    numbers = pa.Array.from_buffers(kind, len(buffer) // width, [None, pa.py_buffer(buffer)])
    return numbers, np.concatenate(ends)
