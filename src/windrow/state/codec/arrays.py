"""Numpy arrays and scalars as their bytes, Arrow data as Arrow IPC; both are imported only when met.

Columns of 64-bit integers are packed where that shrinks them (:mod:`windrow.state.codec.integers`).
A dtype is written as data (letters, or fields with offsets) and checked before it is built; objects, which
numpy would pickle, have no stored form. Arrow data from a store is validated in full before it is used.
Cost: a copy of the data.
"""

from __future__ import annotations

import re
from typing import Any

from windrow.errors import CorruptState, UnstorableValue
from windrow.state.codec.reading import Reader
from windrow.state.codec.writing import Writer

__all__ = ["read_array", "read_arrow", "read_scalar", "write"]

#: shorter columns are left as they are
_FEWEST = 16

_SIMPLE = re.compile(r"[<>|][biufcSUV]\d{1,9}|[<>][mM]8(\[\d{0,9}[A-Za-zμ]{1,7}\])?")


def write(writer: Writer, value: Any) -> None:
    """Write a numpy or Arrow value, or say that it has no stored form."""
    if type(value).__module__.startswith("pyarrow"):
        _write_arrow(writer, value)
        return
    import numpy as np

    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        raise UnstorableValue(f"numpy's {type(value).__name__} has no stored form: use a plain numpy array")
    array = np.asarray(value)
    if type(value) is np.ndarray and array.ndim == 1 and array.dtype == np.int64 and len(array) >= _FEWEST:
        from windrow.state.codec.integers import write_packed

        if write_packed(writer, array):
            return
    writer.out += b"A" if type(value) is np.ndarray else b"S"
    writer.write(_described(array.dtype))
    writer.write(array.shape)
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    writer.blob(b"b", memoryview(flat.view(np.uint8)) if array.nbytes else b"")


def _described(dtype: Any) -> Any:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return (_described(base), shape)
    if dtype.names is None:
        if not _SIMPLE.fullmatch(dtype.str):
            raise UnstorableValue(
                f"numpy data of type {dtype} has no stored form: use numbers, booleans, dates, fixed text or "
                f"records of these"
            )
        return dtype.str
    fields = [dtype.fields[name] for name in dtype.names]
    if any(len(field) > 2 for field in fields):
        raise UnstorableValue("numpy records with titles have no stored form: give the fields names only")
    parts = [(name, _described(f[0]), f[1]) for name, f in zip(dtype.names, fields, strict=True)]
    return [dtype.itemsize, dtype.isalignedstruct, *parts]


def _dtype(described: Any) -> Any:
    import numpy as np

    if type(described) is str:
        if not _SIMPLE.fullmatch(described):
            raise CorruptState(f"{described[:40]!r} is not a type of numpy data that can be stored")
        return np.dtype(described)
    if type(described) is tuple:
        base, shape = described
        return np.dtype((_dtype(base), _shape(shape)))
    size, aligned, *parts = described
    if type(size) is not int or not 0 <= size < 2**31 or type(aligned) is not bool:
        raise CorruptState("a numpy record without a size")
    layout: Any = {
        "names": [name for name, _, _ in parts],
        "formats": [_dtype(inner) for _, inner, _ in parts],
        "offsets": [offset for _, _, offset in parts],
        "itemsize": size,
    }
    return np.dtype(layout, align=aligned)


def _shape(shape: Any) -> tuple[int, ...]:
    if type(shape) is not tuple or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
        raise CorruptState(f"{shape!r} is not the shape of an array")
    return shape


def read_array(reader: Reader) -> Any:
    import numpy as np

    dtype = _dtype(reader.read())
    if dtype.hasobject:
        raise CorruptState("numpy data that holds objects")
    shape = _shape(reader.expect(tuple))
    data = reader.expect(bytes)
    count = 1
    for length in shape:
        count *= length
    if count * dtype.itemsize != len(data):
        raise CorruptState(f"{len(data)} bytes for an array of shape {shape} and type {dtype}")
    if dtype == np.bool_ and data.translate(None, b"\0\1"):
        raise CorruptState("truth values other than 0 and 1")
    array = np.empty(shape, dtype)
    if data:
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
    return array


def read_scalar(reader: Reader) -> Any:
    array = read_array(reader)
    if array.shape != ():
        raise CorruptState("an array where a numpy scalar is expected")
    return array[()]


# -- Arrow -------------------------------------------------------------------------------------------------


def _write_arrow(writer: Writer, value: Any) -> None:
    import pyarrow as pa

    kinds = (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray, pa.Schema)
    form = next((number for number, kind in enumerate(kinds) if isinstance(value, kind)), None)
    if form is None:
        raise UnstorableValue(
            f"pyarrow's {type(value).__name__} has no stored form: use a Table, RecordBatch, Array or Schema"
        )
    batches, schema = _as_batches(value, form)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    writer.out += b"W"
    writer.length(form)
    writer.blob(b"b", memoryview(sink.getvalue()))


def _as_batches(value: Any, form: int) -> tuple[list[Any], Any]:
    import pyarrow as pa

    if form == 0:
        return value.to_batches(), value.schema
    if form == 1:
        return [value], value.schema
    if form == 4:
        return [], value
    chunks = value.chunks if form == 3 else [value]
    schema = pa.schema([("", value.type)])
    return [pa.RecordBatch.from_arrays([chunk], schema=schema) for chunk in chunks], schema


def read_arrow(reader: Reader) -> Any:
    import pyarrow as pa

    form = reader.length()
    data = reader.expect(bytes)
    stream = pa.ipc.open_stream(pa.py_buffer(data))
    table = stream.read_all()
    table.validate(full=True)
    if form == 0:
        return table
    if form == 4:
        return stream.schema
    if form == 1:
        return _only(table.to_batches())
    column = table.column(0)
    return _only(column.chunks) if form == 2 else column


def _only(parts: list[Any]) -> Any:
    if len(parts) != 1:
        raise CorruptState(f"{len(parts)} Arrow batches where one is expected")
    return parts[0]
