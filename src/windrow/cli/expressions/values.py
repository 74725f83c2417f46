"""A part of an expression whose type is known, and that gives an Arrow array for rows.

Rows for which nothing is asked are not computed, as in Spark: a branch is evaluated only for the rows that
take it, an operand only where those before it are not null. So ``case when b <> 0 then a / b end`` divides
nothing by zero. A part that is read more than once (a derived column, the operand of ``between``) is
``shared``: computed once per row of a batch, whichever rows its readers ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.expressions.errors import ValueRefused
from windrow.cli.expressions.tree import Constant
from windrow.cli.expressions.types import STRING, constant_type

__all__ = [
    "Rows",
    "Typed",
    "constant_of",
    "converted",
    "evaluated_where",
    "left_out",
    "merged",
    "shared",
    "strict",
]

_Numbers = np.ndarray[Any, Any]


class Rows:
    """The rows of a batch, or some of them by number. Values of shared parts are kept with the batch."""

    def __init__(self, batch: pa.RecordBatch, numbers: _Numbers | None = None) -> None:
        self.batch = batch
        self.numbers = numbers
        self.num_rows: int = batch.num_rows if numbers is None else len(numbers)
        #: by part: values, and where in them each row is; None: every row is at its own place
        self._kept: dict[object, tuple[pa.Array, _Numbers | None]] = {}

    def some(self, numbers: _Numbers) -> Rows:
        found = Rows(self.batch, numbers if self.numbers is None else self.numbers[numbers])
        found._kept = self._kept
        return found

    def column(self, name: str) -> pa.Array:
        return self._own(self.batch.column(name))

    def _own(self, array: pa.Array) -> pa.Array:
        return array if self.numbers is None else array.take(pa.array(self.numbers))

    def values(self, part: object, typed: Typed) -> pa.Array:
        """Values of a shared part, computed only for rows that have none yet."""
        if self.numbers is None and part not in self._kept:
            self._kept[part] = typed.values(self), None
        values, places = self._kept.get(part) or (pa.nulls(0, typed.kind), np.full(self.batch.num_rows, -1))
        if places is None:
            return self._own(values)
        numbers = np.arange(self.num_rows) if self.numbers is None else self.numbers
        missing = numbers[places[numbers] < 0]
        if len(missing):
            one = Rows(self.batch, missing)
            one._kept = self._kept
            values = pa.concat_arrays([values, typed.values(one)])
            places[missing] = np.arange(len(values) - len(missing), len(values))
            self._kept[part] = values, places
        return values.take(pa.array(places[numbers]))


@dataclass(frozen=True)
class Typed:
    """``may_fail``: whether a value in a row may stop the job. ``inside``: of a value that is made by a
    conversion of another, what a further conversion makes of that other (see ``converted``)."""

    kind: pa.DataType
    values: Callable[[Rows], pa.Array]
    may_fail: bool = False
    constant: Constant | None = None
    inside: Callable[[Conversion], Typed] | None = None
    #: whether Spark leaves out that conversion in every plan
    is_left_out: bool = False
    #: whether it is computed from a column in every plan, so that Spark cannot know it beforehand
    is_of_column: bool = False


Conversion = Callable[[Typed], Typed]


def constant_of(constant: Constant) -> Typed:
    kind = constant_type(constant)
    scalar = pa.scalar(constant.value, kind)
    return Typed(kind, lambda rows: pa.repeat(scalar, rows.num_rows), constant=constant)


def shared(typed: Typed, is_left_out: bool = False) -> Typed:
    """The same values, computed once for each row of a batch. ``is_left_out``: whether Spark computes them
    at each place, so that it leaves out conversions there."""
    part, inside = object(), typed.inside
    return replace(
        typed,
        values=lambda rows: rows.values(part, typed),
        constant=None,
        inside=None if inside is None else cache(lambda conversion: shared(inside(conversion))),
        is_left_out=typed.is_left_out and is_left_out,
    )


def converted(typed: Typed, conversion: Conversion) -> Typed:
    """A conversion as Spark's optimizer leaves it: a whole number that becomes a float and then a double is
    never a float, a text in upper and then in lower case is never in upper case. Whether Spark does so
    through columns and conditions depends on its plan: where that changes a value, it is refused."""
    if typed.inside is None:
        return conversion(typed)
    if typed.is_left_out:
        return typed.inside(conversion)
    value = shared(typed)
    kept = conversion(value)
    found = strict(kept.kind, _agreed, kept, typed.inside(conversion), fails=True)
    if kept.inside is None:
        return found
    return replace(found, inside=lambda further: converted(value, further), is_left_out=kept.is_left_out)


def _agreed(kept: pa.Array, direct: pa.Array) -> pa.Array:
    """Where both are the same to the bit."""
    one, other = (array if array.type == STRING else array.view(pa.int64()) for array in (kept, direct))
    at = pc.index(pc.not_equal(one, other), True).as_py()
    if at >= 0:
        raise ValueRefused(
            f"{kept[at].as_py()!r} or {direct[at].as_py()!r}, depending on how Spark plans the query: "
            "known to Spark alone"
        )
    return kept


def strict(kind: pa.DataType, work: Callable[..., pa.Array], *arguments: Typed, fails: bool = False) -> Typed:
    """A function of arrays whose result is null where an argument is. Arguments are evaluated in order, each
    only where those before are not null."""

    def values(rows: Rows) -> pa.Array:
        arrays: list[pa.Array] = []
        for argument in arguments:
            present = _all_valid(arrays) if argument.may_fail else None
            arrays.append(
                argument.values(rows) if present is None else evaluated_where(argument, rows, present)
            )
        return work(*arrays)

    is_of_column = any(argument.is_of_column for argument in arguments)
    fails = fails or any(argument.may_fail for argument in arguments)
    return Typed(kind, values, fails, is_of_column=is_of_column)


def left_out(typed: Typed, conversion: Conversion) -> Typed:
    """A conversion that a further one may leave out."""
    original = shared(typed, True)
    return replace(
        conversion(original), inside=lambda further: further(original), is_left_out=typed.is_of_column
    )


def _all_valid(arrays: Sequence[pa.Array]) -> _Numbers | None:
    """Where all are valid; None: everywhere."""
    with_nulls = [array for array in arrays if array.null_count]
    if not with_nulls:
        return None
    return np.logical_and.reduce([np.asarray(array.is_valid()) for array in with_nulls])


def evaluated_where(typed: Typed, rows: Rows, chosen: _Numbers) -> pa.Array:
    """Values of the chosen rows, null elsewhere."""
    if chosen.all():
        return typed.values(rows)
    return merged(typed.kind, rows, [(np.flatnonzero(chosen), typed)])


def merged(kind: pa.DataType, rows: Rows, pieces: Sequence[tuple[_Numbers, Typed]]) -> pa.Array:
    """One array from values for disjoint sets of rows, given by their numbers; null for all others."""
    parts, places = [pa.nulls(0, kind)], []
    for numbers, typed in pieces:
        if len(numbers):
            parts.append(typed.values(rows.some(numbers)))
            places.append(numbers)
    source = np.full(rows.num_rows, -1, dtype=np.int64)
    if places:
        where = np.concatenate(places)
        source[where] = np.arange(len(where))
    return pa.concat_arrays(parts).take(pa.array(source, mask=source < 0))
