"""Numbers of buckets that Spark's own hash puts into one partition of a shuffle each: a bucket costs calls,
and several in a partition would gain nothing.

Spark places a row by ``pmod(hash(bucket), partitions)``, where ``hash`` is Murmur3 (x86, 32 bits) of an int
with seed 42. It is computed here, so that a stream can be built without running a job. State is kept under
these numbers: the choice must never change. Cost: 65 hashes per partition, in NumPy.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.arrays import Ints

__all__ = ["even_buckets", "spark_hash"]

_SEED = 42


def even_buckets(partitions: int, wanted: int) -> list[int]:
    """So many numbers, each the smallest that Spark puts into its partition.

    >>> even_buckets(4, 4)
    [0, 2, 6, 12]
    """
    places = spark_hash(np.arange(64 * wanted + 64)) % partitions  # the sign is that of the divisor: pmod
    _, first = np.unique(places, return_index=True)
    return [int(number) for number in np.sort(first)[:wanted]]


def spark_hash(numbers: Ints) -> Ints:
    """What Spark's ``hash`` gives for an int.

    >>> spark_hash(np.array([0, 1, -1])).tolist()
    [933211791, -559580957, -1604776387]
    """
    mixed = _rotated(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    code = _rotated(np.uint32(_SEED) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    code ^= np.uint32(4)  # bytes hashed
    code = (code ^ (code >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    code = (code ^ (code >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (code ^ (code >> np.uint32(16))).view(np.int32).astype(np.int64)


def _rotated(bits: npt.NDArray[np.uint32], by: int) -> npt.NDArray[np.uint32]:
    return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))
