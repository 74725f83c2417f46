"""Results on their way out: windows and their aggregates become one Arrow table of a stable schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.result_names import extra_columns
from windrow.rows.keys import Keys
from windrow.rows.times import TimeAxis
from windrow.slicing.fired import Piece
from windrow.spec import Spec

__all__ = ["piece_table"]


def piece_table(query: Spec, names: pa.Array, keys: Keys, axis: TimeAxis, piece: Piece) -> pa.Table:
    """Results in the order of windows, then keys, then time; ``names`` of windows by their numbers."""
    if not piece.found.is_sorted():
        piece = piece.take(piece.found.order())
    found = piece.found
    columns: dict[str, Any] = dict(keys.columns(found.keys))
    if query.names_windows:
        columns["window"] = _window_names(names, found.windows)
    columns |= axis.edges(found.starts, found.ends)
    for k, (name, _) in enumerate(query.aggregates):
        columns[name] = pa.nulls(len(found)) if piece.results is None else piece.results[k]
    extras = extra_columns(query)
    if extras:
        revisions = np.zeros(len(found), np.int64) if piece.revisions is None else piece.revisions
        values = {
            "revision": pa.array(revisions, pa.int64()),
            "retracted": pa.array(np.full(len(found), piece.results is None)),
            "is_final": pa.array(np.full(len(found), piece.is_final)),
        }
        columns |= {name: values[name] for name in extras}
    return pa.table(columns)


def _window_names(names: pa.Array, windows: Ints) -> pa.Array:
    """The names of windows by their numbers, which rise: mostly there is one."""
    if windows[0] == windows[-1]:
        return pa.repeat(names[int(windows[0])], len(windows))
    return names.take(pa.array(windows))
