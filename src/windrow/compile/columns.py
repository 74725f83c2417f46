"""Lists, numpy arrays and Arrow arrays in; the same kind out.

A batch becomes :class:`Columns`: one contiguous numpy array per input, 8 bytes per value or one for booleans,
and a mask of the rows to skip (None where there is none). float64, int64 and boolean buffers of numpy and
Arrow are used where they lie; other widths are converted. What has no native form (text, objects, mixed
types) stays a list of rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.monoids.base import Monoid

__all__ = [
    "Columns",
    "arrow_array",
    "as_array",
    "inputs_of",
    "native_columns",
    "rows_of",
    "shaped_like",
    "with_empty",
]

_WIDE = {"b": "?", "i": "i8", "u": "i8", "f": "f8"}


@dataclass(frozen=True, slots=True)
class Columns:
    """A batch ready for a kernel."""

    arrays: tuple[np.ndarray[Any, Any], ...]
    nulls: np.ndarray[Any, np.dtype[np.bool_]] | None

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        return tuple([a.dtype for a in self.arrays])

    def __len__(self) -> int:
        return len(self.arrays[0])


def inputs_of(values: Any, monoid: Monoid) -> list[Any]:
    """One sequence an input: ``values`` is a column, a tuple of columns, or rows that are tuples."""
    if isinstance(values, tuple) and len(values) > 0 and all(_is_column(v) for v in values):
        lengths = {len(v) for v in values}
        if len(lengths) > 1:
            raise ValueError(f"the columns have different lengths: {sorted(lengths)}")
        return list(values)
    if isinstance(values, (list, tuple)) and monoid.arity[1] > 1:
        width = next((len(row) for row in values if isinstance(row, tuple)), monoid.arity[0])
        rows = [(None,) * width if row is None else row for row in values]
        if rows and all(isinstance(row, tuple) for row in rows):
            return [list(column) for column in zip(*rows, strict=True)]
    return [values]


def _is_column(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and hasattr(value, "__len__")


def native_columns(values: Any, monoid: Monoid) -> Columns | None:
    """The batch in native form, or None where an input has none."""
    arrays: list[np.ndarray[Any, Any]] = []
    nulls: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    for column in inputs_of(values, monoid):
        converted = as_array(column)
        if converted is None:
            return None
        array, missing = converted
        if monoid.nan == "ignore" and array.dtype.kind == "f":
            is_nan = np.isnan(array)
            missing = is_nan if missing is None else missing | is_nan
        if missing is not None:
            nulls = missing if nulls is None else nulls | missing
        arrays.append(array)
    if nulls is not None and not nulls.any():
        nulls = None
    return Columns(tuple(arrays), nulls)


def as_array(column: Any) -> tuple[np.ndarray[Any, Any], Any] | None:
    """(contiguous array of a wide native type, mask of nulls or None), or None."""
    if isinstance(column, np.ndarray):
        return _wide(column, None)
    if hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__"):
        return _from_arrow(column)
    if isinstance(column, Sequence) and not isinstance(column, (str, bytes)):
        return _from_list(column)
    return None


def _wide(array: np.ndarray[Any, Any], nulls: Any) -> tuple[np.ndarray[Any, Any], Any] | None:
    if array.ndim != 1 or array.dtype.kind not in _WIDE:
        return None
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        return None
    return np.ascontiguousarray(array, dtype=_WIDE[array.dtype.kind]), nulls


def _from_arrow(column: Any) -> tuple[np.ndarray[Any, Any], Any] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    array: Any = column
    if not isinstance(array, (pa.Array, pa.ChunkedArray)):
        array = pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    kind = array.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return None
    nulls = None
    if array.null_count:
        nulls = pc.is_null(array).to_numpy(zero_copy_only=False)
        array = pc.fill_null(array, False if pa.types.is_boolean(kind) else 0)
    return _wide(array.to_numpy(zero_copy_only=False), nulls)


def _from_list(column: Sequence[Any]) -> tuple[np.ndarray[Any, Any], Any] | None:
    import pyarrow as pa

    if len(column) == 0:
        return np.empty(0, "f8"), None
    if not isinstance(column[0], (int, float, bool, np.generic, type(None))):
        return None
    try:
        array = pa.array(column, from_pandas=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None
    return None if pa.types.is_null(array.type) else _from_arrow(array)


def rows_of(values: Any, monoid: Monoid) -> list[tuple[Any, ...]]:
    """The batch as rows of Python objects, for the plain form."""
    return list(zip(*(_objects(column) for column in inputs_of(values, monoid)), strict=True))


def _objects(column: Any) -> list[Any]:
    if isinstance(column, np.ndarray):
        return column.tolist() if column.dtype.kind not in "mM" else list(column)
    if hasattr(column, "to_pylist"):
        return column.to_pylist()
    return list(column)


def shaped_like(values: Any, monoid: Monoid, out: Any = None) -> Callable[[Any, Any], Any]:
    """How results go back to the caller: numpy for numpy, Arrow for Arrow, a list for anything else.

    The function takes results (array or list) and a mask of valid results or None. ``out``, if given, is
    filled."""
    if out is not None:
        return lambda results, valid: _fill(out, _to_numpy(results, valid))
    first = inputs_of(values, monoid)[0]
    if isinstance(first, np.ndarray):
        return _to_numpy
    if hasattr(first, "__arrow_c_array__") or hasattr(first, "__arrow_c_stream__"):
        return _to_arrow
    return _to_list


def _fill(out: Any, results: np.ndarray[Any, Any]) -> Any:
    if results is not out:
        if getattr(out, "shape", None) != results.shape:
            raise ValueError(f"out has shape {getattr(out, 'shape', None)}; the results have {results.shape}")
        out[:] = results
    return out


def with_empty(out: Any, valid: Any, bare: Any, value: Any) -> tuple[Any, Any]:
    """Results and which are valid (None: all), with ``value`` where a window is ``bare`` of values: None is
    null, and a value that the type of the results cannot hold makes a list of Python objects."""
    if not bare.any():
        return out, valid
    if value is None:
        return out, ~bare if valid is None else valid & ~bare
    if _holds(out.dtype, value):
        out[bare] = value
        return out, None if valid is None else valid | bare
    results = _to_list(out, valid)
    return [value if is_bare else r for r, is_bare in zip(results, bare.tolist(), strict=True)], None


def _holds(kind: np.dtype[Any], value: Any) -> bool:
    """Whether a value stays what it is as one of this type."""
    if kind.names is not None or not isinstance(value, (bool, int, float)):
        return False
    try:
        held = kind.type(value)
    except (OverflowError, ValueError):
        return False
    return bool(held == value or (held != held and value != value))


def _to_list(results: Any, valid: Any) -> list[Any]:
    if not isinstance(results, np.ndarray):
        return list(results)
    items = results.tolist()
    if valid is None:
        return items
    return [item if ok else None for item, ok in zip(items, valid.tolist(), strict=True)]


def _to_numpy(results: Any, valid: Any) -> np.ndarray[Any, Any]:
    """Missing floats become NaN as numpy has no null; other missing results make an array of objects."""
    if not isinstance(results, np.ndarray):
        out = np.empty(len(results), dtype=object)
        out[:] = results
        return out
    if valid is None or valid.all():
        return results
    if results.dtype.kind == "f":
        results[~valid] = np.nan
        return results
    return _to_numpy(_to_list(results, valid), None)


def _to_arrow(results: Any, valid: Any) -> Any:
    import pyarrow as pa

    if isinstance(results, np.ndarray) and results.dtype.names is None:
        return pa.array(results, mask=None if valid is None else ~valid)
    if isinstance(results, np.ndarray):
        fields = [pa.array(results[name]) for name in results.dtype.names or ()]
        return pa.StructArray.from_arrays(fields, list(results.dtype.names or ()))
    return arrow_array(results)


def _with_integers(result: Any) -> Any:
    """A result with integers in place of truth values."""
    if isinstance(result, dict):
        return {name: _with_integers(value) for name, value in result.items()}
    return int(result) if isinstance(result, bool) else result


def arrow_array(results: Any, kind: Any = None) -> Any:
    """Python results as an Arrow array; named tuples become structs, truth values among integers integers,
    as in native code."""
    import pyarrow as pa

    plain = [r._asdict() if hasattr(r, "_asdict") else r for r in results]
    try:
        return pa.array(plain, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return pa.array([_with_integers(result) for result in plain], kind)
        raise
    except OverflowError as error:
        if kind is None:
            with contextlib.suppress(OverflowError, pa.ArrowInvalid):
                return pa.array(plain, pa.uint64())
        raise OverflowError(
            "a result does not fit 64 bits, the most an Arrow integer holds: "
            "cast the column to float64 or decimal first"
        ) from error
