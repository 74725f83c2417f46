"""Pages of the logs of groups of keys, as plain values and back (:mod:`windrow.engines.kept_rows.pages`).

A page of level 0 lists the chunks of its groups, as a header does those of a log; a page above lists the
pages below it and their totals. Each has the checksums of what it lists, so that the header vouches for all
of them: a hash tree (Merkle, 1987). A page that is changed is written under another name.

Invariant: what a page lists is in its range of groups, and has the totals that the page above says.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.engines.kept_rows.chunk import Chunk
from windrow.engines.kept_rows.entries import listed_names, page_name
from windrow.engines.kept_rows.key_counts import KeyCounts
from windrow.engines.kept_rows.log import RowLog, packed_masks, unpacked_masks
from windrow.engines.kept_rows.pages import GROUPS, PAGES, Page, Totals
from windrow.state.checks import check_column, check_numbers, check_sorted, require, whole

__all__ = [
    "MOST_LEVELS",
    "check_totals",
    "leaf_value",
    "listed_in_pages",
    "listed_pages",
    "logs_of",
    "pages_value",
]

#: no one has had more
MOST_LEVELS = 8


# -- out -----------------------------------------------------------------------------------------------------


def leaf_value(logs: Mapping[int, RowLog], listed: list[Any], sums: Any) -> dict[str, Any]:
    """A page of logs whose chunks are listed one after the other."""
    lengths = [len(log.chunks) for log in logs.values()]
    masks = packed_masks([mask for log in logs.values() for mask in log.masks])
    return {
        "groups": np.repeat(np.fromiter(logs, np.int64, len(logs)), lengths),
        "chunks": listed,
        "masks": masks,
        "firsts": {number: log.first for number, log in logs.items() if log.first},
        "counts": {n: log.counts.state() for n, log in logs.items() if log.counts is not None},
        "sums": sums,
    }


def pages_value(pages: Mapping[int, Page], numbers: Sequence[int], sums: Any) -> dict[str, Any]:
    """A page of pages that have these numbers."""
    totals = [page.totals for page in pages.values()]
    return {
        "places": np.fromiter(pages, np.int64, len(pages)),
        "pages": np.array(numbers, np.int64),
        "rows": np.array([each.rows for each in totals], np.int64),
        "bytes": np.array([each.nbytes for each in totals], np.int64),
        "weights": np.array([each.weight for each in totals], np.int64),
        "earliest": np.array([each.earliest for each in totals], np.int64),
        "sums": sums,
    }


# -- in ------------------------------------------------------------------------------------------------------


def listed_in_pages(value: Mapping[str, Any]) -> Iterator[str]:
    """The names of what a page lists."""
    if "pages" in value:
        yield from map(page_name, value["pages"].tolist())
    else:
        yield from listed_names(value["chunks"])


def listed_pages(level: int, place: int, value: Mapping[str, Any]) -> Iterator[tuple[int, int, Totals]]:
    """Place, number and totals of the pages that a page lists, which has this place in its own level."""
    places, numbers, *totals = (value[n] for n in ("places", "pages", "rows", "bytes", "weights", "earliest"))
    for column in (numbers, *totals):
        check_column("what is known of pages", column, len(places))
    check_sorted("pages", places, each_once=True)
    check_numbers("pages", places, place * PAGES, (place + 1) * PAGES - 1)
    check_numbers("numbers of pages", numbers, 0, 2**62)
    for column in totals[:-1]:
        check_numbers("totals of pages", column, 0, 2**62)
    check_numbers("totals of pages", totals[-1], START_OF_TIME, END_OF_TIME)
    columns = (places, numbers, *totals)
    for at, number, *facts in zip(*(column.tolist() for column in columns), strict=True):
        yield at, number, Totals(*facts)


def logs_of(
    place: int, value: Mapping[str, Any], chunks: Sequence[Chunk], by: tuple[str, ...], is_in_order: bool
) -> dict[int, RowLog]:
    """The logs of a page that has these chunks."""
    groups = value["groups"]
    check_column("groups of chunks", groups, len(chunks))
    check_sorted("groups of chunks", groups)
    check_numbers("groups of chunks", groups, place * GROUPS, (place + 1) * GROUPS - 1)
    masks, found = unpacked_masks(value["masks"], chunks), {}
    edges = [*np.flatnonzero(np.diff(groups, prepend=-1)).tolist(), len(groups)]
    for begin, end in itertools.pairwise(edges):
        number = int(groups[begin])
        first = whole("number of the first chunk", value["firsts"].get(number, 0), 0, 2**62)
        log = RowLog(tuple(chunks[begin:end]), first, None, masks[begin:end])
        log.check_invariants(is_in_order)
        counts = value["counts"].get(number)
        known = None if counts is None else KeyCounts.restored(by, counts, log.needed_rows)
        found[number] = RowLog(log.chunks, first, None, log.masks, counts=known)
    return found


def check_totals(page: Page, known: Totals) -> None:
    """A page that was loaded has the totals that the page above says."""
    found = page.totals
    for name in ("rows", "nbytes", "earliest"):
        was, is_now = getattr(known, name), getattr(found, name)
        require(was == is_now, f"a page of groups: {name} are {is_now}, and the page above says {was}")
