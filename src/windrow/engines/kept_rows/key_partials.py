"""Neighbouring rows folded by key: one partial for each key that has rows among them.

A whole knows its keys by their values and not by numbers, so that it means the same to every reader, and a
key whose rows are gone is forgotten with them. Wholes of neighbours combine, earlier rows first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.kept_rows.context import arrived
from windrow.engines.kept_rows.row_table import Held
from windrow.partials.added_aggregates import unseen_rows
from windrow.partials.partials import Partials
from windrow.rows.frame import build_frame
from windrow.rows.keys import restored_keys, shared_keys
from windrow.spec import Spec
from windrow.state.checks import require

__all__ = ["KeyPartials", "combined", "distinct_keys", "fused", "numbered"]


@dataclass(frozen=True)
class KeyPartials:
    """The partials of some keys; without key columns there is one, and ``keys`` has no columns."""

    keys: pa.Table
    partials: Partials

    @classmethod
    def of(cls, query: Spec, rows: Held, added_after: Sequence[int] = ()) -> KeyPartials:
        """Rows in order of time, folded; so many rows had come when each aggregate was added."""
        frame = arrived(build_frame(replace(query, order=()), rows.table), rows.arrivals)
        aggregates = [aggregate for _, aggregate in query.aggregates]
        arrivals = rows.arrivals if frame.permutation is None else rows.arrivals[frame.permutation]
        unseen = unseen_rows(arrivals, added_after)
        return cls(frame.key_table(), Partials.of_rows(frame, aggregates, frame.run_starts, unseen))

    def __len__(self) -> int:
        return len(self.partials)

    @property
    def nbytes(self) -> int:
        return int(self.keys.nbytes) + self.partials.nbytes

    @property
    def counts(self) -> Ints:
        """How many rows each key has."""
        return self.partials.rows

    def take(self, places: Ints) -> KeyPartials:
        keys = self.keys.take(pa.array(places)) if self.keys.num_columns else self.keys
        return KeyPartials(keys, self.partials.take(places))

    def state(self) -> dict[str, Any]:
        return {"keys": self.keys if self.keys.num_columns else None, "partials": self.partials.state()}

    @classmethod
    def restored(cls, query: Spec, state: dict[str, Any]) -> KeyPartials:
        aggregates = [aggregate for _, aggregate in query.aggregates]
        keys = pa.table({}) if state["keys"] is None else restored_keys(query.by, state["keys"])
        found = cls(keys, Partials.restored(aggregates, state["partials"], range(len(aggregates))))
        count = keys.num_rows if query.by else 1
        require(bool(query.by) == (state["keys"] is not None), "partials by other keys than the query has")
        found.partials.check_invariants(count)
        return found


def numbered(by: tuple[str, ...], keys: pa.Table, others: Sequence[KeyPartials]) -> list[Ints]:
    """For each whole the numbers of its keys among ``keys``, which are distinct; those that are not among
    them have numbers from ``len(keys)`` on, the same key the same."""
    if not by:
        return [np.zeros(len(other), np.int64) for other in others]
    return shared_keys(by, [keys, *(other.keys for other in others)])[1][1:]


def distinct_keys(by: tuple[str, ...], wholes: Sequence[KeyPartials]) -> tuple[pa.Table, Ints]:
    """The keys of all wholes, each once, and their numbers for each whole, one after the other."""
    if not by:
        return pa.table({}), np.zeros(sum(map(len, wholes)), np.int64)
    keys, numbers = shared_keys(by, [whole.keys for whole in wholes])
    return keys, np.concatenate(numbers)


def combined(by: tuple[str, ...], wholes: Sequence[KeyPartials]) -> KeyPartials:
    """Wholes of neighbours, in order of time, as one."""
    keys, codes = distinct_keys(by, wholes)
    _, partials = fused(codes, [whole.partials for whole in wholes])
    return KeyPartials(keys, partials)


def fused(codes: Ints, parts: Sequence[Partials]) -> tuple[Ints, Partials]:
    """The partials of each key as one, from left to right; keys are sorted."""
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    heads = np.flatnonzero(np.diff(codes, prepend=-1))
    return codes[heads], Partials.concat(parts).take(order).folded(np.append(heads, len(codes)))
