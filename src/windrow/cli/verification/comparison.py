"""Results that a job wrote, held against those that its query gives over the same rows in batch.

Of a window that was corrected, the last revision counts. A result that is due after all that were written may
be open still, and need not be there. Late rows that the job kept are left out before: no result holds them.
A result that differs is as it must be all the same if a row of its key was behind the watermark, and the
stream gives it that way where the rows come as they came to the job. Rows, or labels, that are equal in all
columns have as many results as there are of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.errors import JobFailed
from windrow.cli.verification.shape import Shape
from windrow.monoids.equality import magnitude, same
from windrow.result_names import LATE, REJECTED

__all__ = [
    "Difference",
    "Streamed",
    "Verdict",
    "conformed",
    "of_keys",
    "sampled_keys",
    "verdict",
    "without_rows",
]

Key = tuple[Any, ...]
#: floats may differ by this share of their size: sums depend on the order of rows
_SLACK = 1e-9


@dataclass(frozen=True)
class Difference:
    """Results of one window, row or label that are not as they must be: none of them was written, or none
    should have been, or they are others."""

    of: dict[str, Any]
    written: list[dict[str, Any]]
    expected: list[dict[str, Any]]


@dataclass(frozen=True)
class Verdict:
    """What was compared, and what differs."""

    #: what results are of
    what: str
    keys: int
    results: int
    #: results that are not due yet
    still_open: int
    differences: list[Difference]
    #: results that lack late rows, and are else as they must be
    lacking: int = 0


@dataclass(frozen=True)
class Streamed:
    """What a stream gives for rows that come as they came to a job."""

    results: pa.Table
    #: the rows that were behind the watermark
    behind: Sequence[pa.Table]
    #: the column of their times
    time: str


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


def without_rows(table: pa.Table, others: pa.Table, are_text: bool) -> pa.Table:
    """The rows without others, each of which takes one away that has the same values; of times in text,
    milliseconds are compared, since Spark writes no more."""
    if not set(table.column_names) & set(others.column_names):  # text without a header
        names = table.column_names
        others = others.select(range(len(names))).rename_columns(names)
    others = conformed(others, table.schema)
    names = [name for name in table.column_names if name in others.column_names]
    rows, taken = (_rows(_in_milliseconds(each) if are_text else each, names) for each in (table, others))
    left = Counter(taken)
    kept = np.ones(table.num_rows, np.bool_)
    for place, row in enumerate(rows):
        if left[row]:
            left[row] -= 1
            kept[place] = False
    return table.filter(pa.array(kept))


def _in_milliseconds(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            column = table.column(place).cast(pa.timestamp("ms", field.type.tz), safe=False)
            table = table.set_column(place, field.name, column)
    return table


def conformed(written: pa.Table, like: pa.Schema) -> pa.Table:
    """Results with the types that the query gives them: files of text do not keep these."""
    for field in like:
        if field.name in written.column_names:
            place = written.column_names.index(field.name)
            try:
                column = written.column(place).cast(field.type, safe=False)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise JobFailed(
                    f"what was written in column {field.name!r} cannot be compared: {error}"
                ) from error
            written = written.set_column(place, field.name, column)
    return written


def verdict(
    shape: Shape, expected: pa.Table, written: pa.Table, ends: Any, streamed: Callable[[], Streamed | None]
) -> Verdict:
    """Of results of the same keys. ``ends``: the last time at which a result was due that was written, of any
    key. ``streamed`` is asked if there are differences; None: nobody knows how the rows came."""
    wanted = _by_names(expected, shape)
    found = _by_names(_last_revisions(written, shape), shape)
    last = _last_due(shape, found, _plain(ends))
    due = shape.names.index(shape.due)
    still_open = {
        key
        for key in wanted.keys() - found.keys()
        if (end := last(key)) is None or (key[due] is not None and key[due] > end)
    }
    differing = [
        key
        for key in sorted(wanted.keys() | found.keys(), key=repr)
        if key not in still_open and not _are_same(found[key], wanted[key])
    ]
    lacking = _lacking(shape, differing, found, streamed() if differing else None)
    differences = [
        Difference(dict(zip(shape.names, map(_shown, key), strict=True)), found[key], wanted[key])
        for key in differing
        if key not in lacking
    ]
    keys = {_key(shape, each) for each in found if found[each]}
    count = sum(map(len, found.values()))
    waiting = sum(len(wanted[key]) for key in still_open)
    return Verdict(shape.what, len(keys), count, waiting, differences, len(lacking))


def _lacking(
    shape: Shape, differing: Sequence[Key], found: Mapping[Key, Any], streamed: Streamed | None
) -> set[Key]:
    """Those that the stream gives as they were written, and whose key had a late row before they were due."""
    if streamed is None:
        return set()
    given, due = _by_names(_last_revisions(streamed.results, shape), shape), shape.names.index(shape.due)
    earliest: dict[Key, Any] = {}
    by = [name for name in shape.names if name in shape.by]
    for table in streamed.behind:
        for *of, time in _rows(table, [*by, streamed.time]):
            earliest[tuple(of)] = min(time, earliest.get(tuple(of), time))
    return {
        key
        for key in differing
        if (since := earliest.get(_key(shape, key))) is not None
        and key[due] is not None
        and since <= key[due]
        and _are_same(found[key], given[key])
    }


def _last_due(shape: Shape, found: Mapping[Key, Any], ends: Any) -> Callable[[Key], Any]:
    """The time of the last result before which all must be written, for the key of one."""
    if not shape.waits_for_rows:
        return lambda _: ends
    due, last = shape.names.index(shape.due), dict[Key, Any]()
    for each in found:
        of = _key(shape, each)
        last[of] = max(last.get(of, each[due]), each[due])
    return lambda each: last.get(_key(shape, each))


def _key(shape: Shape, each: Key) -> Key:
    return tuple(value for name, value in zip(shape.names, each, strict=True) if name in shape.by)


def _last_revisions(written: pa.Table, shape: Shape) -> pa.Table:
    for name in (LATE, REJECTED):
        if name in written.column_names:
            written = written.filter(pc.is_null(written.column(name)))
    if "is_final" in written.column_names:
        written = written.filter(written.column("is_final"))
    if shape.has_revisions and "revision" in written.column_names:
        written = _newest(written, shape.names)
    if "retracted" in written.column_names:
        written = written.filter(pc.invert(written.column("retracted")))
    return written


def _newest(written: pa.Table, names: Sequence[str]) -> pa.Table:
    revisions = written.column("revision").to_pylist()
    last: dict[Key, int] = {}
    for place, key in enumerate(_rows(written, names)):
        if key not in last or revisions[place] >= revisions[last[key]]:
            last[key] = place
    return written.take(pa.array(sorted(last.values()), pa.int64()))


def _by_names(table: pa.Table, shape: Shape) -> defaultdict[Key, list[dict[str, Any]]]:
    found: defaultdict[Key, list[dict[str, Any]]] = defaultdict(list)
    values = table.select(list(shape.results)).to_pylist()
    for key, each in zip(_rows(table, shape.names), values, strict=True):
        found[key].append(each)
    for each in found.values():
        each.sort(key=repr)
    return found


def _rows(table: pa.Table, names: Sequence[str]) -> Iterator[Key]:
    columns = [[_plain(value) for value in table.column(name).to_pylist()] for name in names]
    return zip(*columns, strict=True) if columns else iter([()] * table.num_rows)


def _plain(value: Any) -> Any:
    """Moments in UTC, whether or not they say so; NaN, which equals itself as a key."""
    if hasattr(value, "tzinfo") and value.tzinfo is not None:
        value = (value - value.utcoffset()).replace(tzinfo=None)
    if isinstance(value, list):
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return tuple((name, _plain(value[name])) for name in sorted(value))
    return "NaN" if isinstance(value, float) and value != value else value


def _shown(value: Any) -> Any:
    return value.isoformat(sep=" ") if hasattr(value, "isoformat") else value


def _are_same(written: Sequence[dict[str, Any]], expected: Sequence[dict[str, Any]]) -> bool:
    return len(written) == len(expected) and all(map(_is_same, written, expected))


def _is_same(written: dict[str, Any], expected: dict[str, Any]) -> bool:
    return all(
        same(_plain(written[name]), _plain(value), _SLACK * magnitude(value))
        for name, value in expected.items()
    )
