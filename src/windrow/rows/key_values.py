"""The values of keys: 0.0 and -0.0 are one key, and every NaN is the same key.

Arrow tells floats apart by their bits. What stands for such a key is 0.0, and the NaN that everyone writes;
inside lists and structs, too. Rows themselves stay as they are.
Cost: O(keys), for columns that hold floats.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["canonical_array", "canonical_value", "holds_floats"]


def holds_floats(kind: Any) -> bool:
    """Whether values of an Arrow type are floats, or have some inside.

    >>> holds_floats(pa.list_(pa.float32())), holds_floats(pa.struct([("a", pa.int8())]))
    (True, False)
    """
    if pa.types.is_dictionary(kind):
        return holds_floats(kind.value_type)
    if pa.types.is_nested(kind):
        return any(holds_floats(kind.field(k).type) for k in range(kind.num_fields))
    return bool(pa.types.is_floating(kind))


def canonical_array(array: Any) -> Any:
    """The array with the values that stand for keys.

    >>> canonical_array(pa.array([-0.0, 1.5, None])).to_pylist()
    [0.0, 1.5, None]
    """
    kind = array.type
    if not holds_floats(kind):
        return array
    if pa.types.is_nested(kind) or pa.types.is_float16(kind):  # which Arrow does not compare
        return pa.array([canonical_value(value) for value in array.to_pylist()], kind)
    zero, nan = pa.scalar(0.0, kind), pa.scalar(math.nan, kind)
    return pc.if_else(pc.is_nan(array), nan, pc.if_else(pc.equal(array, zero), zero, array))


def canonical_value(value: Any) -> Any:
    """The same of a Python value.

    >>> canonical_value({"a": [-0.0, 2]})
    {'a': [0.0, 2]}
    """
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return {name: canonical_value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(canonical_value(each) for each in value)
    return value
