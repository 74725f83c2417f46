"""Windows that a job wrote, held against those that its query gives over the same rows in batch.

Of a window that was corrected, the last revision counts. A window that ends after all that were written may
be open still, and need not be there. Late rows that the job kept are left out before: no window holds them.
A row that was late for some of its windows only is in no sink, and the windows that lack it differ.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.errors import JobFailed
from windrow.monoids.equality import magnitude, same
from windrow.query import Query
from windrow.result_names import LATE, REJECTED

__all__ = ["Difference", "Verdict", "conformed", "of_keys", "sampled_keys", "verdict", "without_rows"]

Key = tuple[Any, ...]
#: floats may differ by this share of their size: sums depend on the order of rows
_SLACK = 1e-9


@dataclass(frozen=True)
class Difference:
    """A window that is not as it must be; None: it was not written, or should not have been."""

    window: dict[str, Any]
    written: dict[str, Any] | None
    expected: dict[str, Any] | None


@dataclass(frozen=True)
class Verdict:
    """What was compared, and what differs."""

    keys: int
    windows: int
    #: windows that are not due yet
    still_open: int
    differences: list[Difference]


def sampled_keys(written: pa.Table, by: Sequence[str], count: int) -> pa.Table | None:
    """So many of the keys that have results, always the same ones; None: there are no keys."""
    if not by:
        return None
    keys = written.select(list(by)).group_by(list(by)).aggregate([])
    digests = [hashlib.blake2b(repr(row).encode()).digest() for row in keys.to_pylist()]
    chosen = sorted(range(keys.num_rows), key=digests.__getitem__)[:count]
    return keys.take(pa.array(chosen, pa.int64()))


def of_keys(table: pa.Table, keys: pa.Table | None) -> pa.Table:
    """The rows of these keys; null is a key."""
    if keys is None:
        return table
    wanted = set(_rows(keys, keys.column_names))
    kept = [key in wanted for key in _rows(table, keys.column_names)]
    return table.filter(pa.array(kept, pa.bool_()))


def without_rows(table: pa.Table, others: pa.Table) -> pa.Table:
    """The rows without others, each of which takes one away that has the same values."""
    names = [name for name in table.column_names if name in others.column_names]
    left = Counter(_rows(others, names))
    kept = np.ones(table.num_rows, np.bool_)
    for place, row in enumerate(_rows(table, names)):
        if left[row]:
            left[row] -= 1
            kept[place] = False
    return table.filter(pa.array(kept))


def conformed(written: pa.Table, like: pa.Schema) -> pa.Table:
    """Results with the types that the query gives them: files of text do not keep these."""
    for field in like:
        if field.name in written.column_names:
            place = written.column_names.index(field.name)
            try:
                column = written.column(place).cast(field.type, safe=False)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise JobFailed(
                    f"the results in column {field.name!r} cannot be compared: {error}"
                ) from error
            written = written.set_column(place, field.name, column)
    return written


def verdict(query: Query, rows: pa.Table, written: pa.Table, ends: Any) -> Verdict:
    """Of rows and results of the same keys. ``ends``: the largest end of a window that was written."""
    names = [*query.by, *(["window"] if query.names_windows else []), "window_start", "window_end"]
    expected = _by_window(query.run(rows), names, query.result_names)
    found = _by_window(_last_revisions(written, names), names, query.result_names)
    last = _plain(ends)
    still_open = [key for key in expected if key not in found and (last is None or key[-1] > last)]
    differences = [
        Difference(dict(zip(names, map(_shown, key), strict=True)), found.get(key), expected.get(key))
        for key in sorted(expected.keys() | found.keys(), key=repr)
        if key not in still_open and not _is_same(found.get(key), expected.get(key))
    ]
    keys = len({key[: len(query.by)] for key in found})
    return Verdict(keys, len(found), len(still_open), differences)


def _last_revisions(written: pa.Table, names: Sequence[str]) -> pa.Table:
    for name in (LATE, REJECTED):
        if name in written.column_names:
            written = written.filter(pc.is_null(written.column(name)))
    if "is_final" in written.column_names:
        written = written.filter(written.column("is_final"))
    if "revision" not in written.column_names:
        return written
    revisions = written.column("revision").to_pylist()
    last: dict[Key, int] = {}
    for place, key in enumerate(_rows(written, names)):
        if key not in last or revisions[place] >= revisions[last[key]]:
            last[key] = place
    written = written.take(pa.array(sorted(last.values()), pa.int64()))
    if "retracted" in written.column_names:
        written = written.filter(pc.invert(written.column("retracted")))
    return written


def _by_window(table: pa.Table, names: Sequence[str], results: Sequence[str]) -> dict[Key, dict[str, Any]]:
    values = table.select(list(results)).to_pylist()
    return dict(zip(_rows(table, names), values, strict=True))


def _rows(table: pa.Table, names: Sequence[str]) -> Iterator[Key]:
    columns = [[_plain(value) for value in table.column(name).to_pylist()] for name in names]
    return zip(*columns, strict=True) if columns else iter([()] * table.num_rows)


def _plain(value: Any) -> Any:
    """Moments in UTC, whether or not they say so; NaN, which equals itself as a key."""
    if hasattr(value, "tzinfo") and value.tzinfo is not None:
        value = (value - value.utcoffset()).replace(tzinfo=None)
    if isinstance(value, list):
        return tuple(map(_plain, value))
    return "NaN" if isinstance(value, float) and value != value else value


def _shown(value: Any) -> Any:
    return value.isoformat(sep=" ") if hasattr(value, "isoformat") else value


def _is_same(written: dict[str, Any] | None, expected: dict[str, Any] | None) -> bool:
    if written is None or expected is None:
        return False
    return all(
        same(_plain(written[name]), _plain(value), _SLACK * magnitude(value))
        for name, value in expected.items()
    )
