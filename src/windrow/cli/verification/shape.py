"""What results of a query are told apart by, and when they are due: windows, one result per row, or one per
label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.cli.job import Labels
from windrow.spec import Spec
from windrow.windows.relative import RelativeFrame, RowFrame

__all__ = ["Shape", "shape_of"]


@dataclass(frozen=True)
class Shape:
    """Of results: what they are called, the columns of their key, the columns that tell one from another,
    the one that says when it is due, and the columns that are compared."""

    what: str
    by: tuple[str, ...]
    names: tuple[str, ...]
    due: str
    results: tuple[str, ...]
    #: whether a result waits for the next rows of its key, whenever they come
    waits_for_rows: bool = False
    #: whether results come again, corrected
    has_revisions: bool = False


def shape_of(query: Spec, labels: Labels | None, columns: Sequence[str]) -> Shape:
    """``columns``: those of the rows, or of the labels, that have a result each."""
    results, frames = tuple(query.result_names), query.frames
    if query.windows:
        named = ("window",) if query.names_windows else ()
        names = (*query.by, *named, "window_start", "window_end")
        return Shape("windows", query.by, names, "window_end", results, has_revisions=True)
    waits = frames is not None and any(_waits_for_rows(frame) for _, frame in frames.named)
    if labels is not None:
        return Shape("labels", labels.by, tuple(columns), labels.time, results, waits)
    return Shape("rows", query.by, tuple(columns), query.time, results, waits)


def _waits_for_rows(frame: RelativeFrame) -> bool:
    return frame.stop > 1 if isinstance(frame, RowFrame) else frame.upper is None
