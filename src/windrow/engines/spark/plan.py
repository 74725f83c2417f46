"""Which plan a query with windows takes, and why.

*Slices*: each task folds its rows into partials by (key, slice); only partials are shuffled. It needs
aggregates whose partials may be combined in any order and have a native form or are kept values, and windows
whose slices do not depend on the rows of other tasks. *Ordered*: rows are shuffled, sorted by key and time,
and taken in order; it serves everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.compile.native import NativeMonoid, native
from windrow.monoids.base import Aggregate
from windrow.partials.inputs import native_inputs
from windrow.partials.partials import needs_order
from windrow.partials.picked import picked_input, timed
from windrow.partials.value_aggregates import family_of
from windrow.rows.columns import plain_type
from windrow.spec import Spec

__all__ = ["Plan", "kept_type", "native_form", "plan_of", "smallest_gap"]


@dataclass(frozen=True)
class Plan:
    """A choice and its reason, in words."""

    slices: bool
    reason: str


def plan_of(query: Spec, schema: pa.Schema) -> Plan:
    """The plan for windows over columns of this schema."""
    for name, window in query.windows:
        if not window.is_sliced:
            return Plan(False, f"{name or repr(window)} is decided by the rows of a key in their order")
    for name, aggregate in query.aggregates:
        reason = _needs_rows(query, aggregate, schema)
        if reason:
            return Plan(False, f"{name} = {aggregate!r} {reason}")
    return Plan(True, "partials of all aggregates may be combined in any order")


def _needs_rows(query: Spec, aggregate: Aggregate, schema: pa.Schema) -> str:
    """Why an aggregate cannot do with partials that come in any order; empty: it can."""
    if not aggregate.inputs:
        return ""
    if needs_order(aggregate, schema):
        return "depends on the order of rows"
    if not aggregate.monoid.commutative and (query.order or smallest_gap(query) is not None):
        return "picks a row, and the order of rows of equal time counts"
    if native_form(aggregate, schema) is None and kept_type(aggregate, schema) is None:
        return "has no native form, so that its partials would not be smaller than rows"
    return ""


def smallest_gap(query: Spec) -> int | None:
    """Of several sessions only the smallest gap cuts."""
    gaps = [session.gap_us for session in query.sessions if session.is_sliced]
    return min(gaps, default=None)


def kept_type(aggregate: Aggregate, schema: pa.Schema) -> Any:
    """The Arrow type of the values that the aggregate keeps of a slice; None: it keeps none."""
    if not aggregate.inputs:
        return None
    kind = plain_type(schema.field(aggregate.inputs[0]).type)
    family = family_of(aggregate.monoid, kind)
    return None if family is None else family.kept(aggregate.monoid, pa.nulls(0, kind)).type


def native_form(aggregate: Aggregate, schema: pa.Schema) -> NativeMonoid | None:
    """The native form of the aggregate's partials by slice, or None."""
    monoid = aggregate.monoid
    if not monoid.compiles_for or monoid.wide is not None:
        return None
    kinds = [plain_type(schema.field(name).type) for name in aggregate.inputs]
    columns = native_inputs(monoid, [pa.nulls(0, kind) for kind in kinds])
    if columns is None:
        return None
    dtypes: tuple[Any, ...] = columns.dtypes
    if picked_input(monoid) is None:
        return native(monoid, dtypes)
    import numpy as np

    return native(timed(monoid), (*dtypes, np.dtype(np.int64)))
