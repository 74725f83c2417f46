"""The rows that an operator holds, where its state is kept: chunks as entries of their own.

A chunk is written once, and deleted when nobody needs it. The header lists the chunks of logs; those of
groups of keys are listed in pages (:mod:`windrow.engines.kept_rows.stored_pages`), which are read
when one of their groups is asked for. The rows that are too few for a chunk are in the header itself.

Cost: a step writes the chunks it has made and their wholes, and the pages that list them, whatever else there
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from windrow.engines.kept_rows.chunk import Chunk, check_facts
from windrow.engines.kept_rows.entries import (
    ChunkEntry,
    Pages,
    RowEntries,
    columns_of,
    joined_columns,
    listed_names,
    page_name,
    readers_of,
    rows_name,
    whole_name,
)
from windrow.engines.kept_rows.grouped_rows import GroupedRows
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.kept_rows.pages import GroupLogs, Page, Totals
from windrow.engines.kept_rows.stored_pages import (
    MOST_LEVELS,
    check_totals,
    leaf_value,
    listed_in_pages,
    listed_pages,
    logs_of,
    pages_value,
)
from windrow.errors import AggregateError
from windrow.state.checks import making_sense, require, whole

__all__ = ["StoredRows", "highest_number", "listed_rows", "walk_pages"]


def highest_number(parts: Iterable[Mapping[str, Any]]) -> int:
    """The highest number among the chunks that a header lists for its parts; -1: there are none."""
    numbers = [listed[0] for part in parts for listed in part.get("chunks", ())]
    return max((int(column.max(initial=-1)) for column in numbers), default=-1)


def listed_rows(chunks: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The names of all entries that a header lists for one part."""
    for listed in chunks:
        yield from listed_names(listed)


def walk_pages(part: Mapping[str, Any], entries: Pages) -> Iterator[str]:
    """The names of all entries that are in the pages of what a header has of a part; reads all pages."""
    values = [part["groups"]["root"]] if "root" in part.get("groups", {}) else []
    while values:
        value = values.pop()
        names = list(listed_in_pages(value))
        entries.expect(dict(zip(names, value["sums"].tolist(), strict=True)))
        yield from names
        if "pages" in value:
            values += map(entries.read_page, names)


@dataclass
class StoredRows:
    """Which chunks and pages are stored. ``keeps``: chunks keep what they load; otherwise they let go of
    their rows once these are safe."""

    entries: RowEntries
    keeps: bool
    #: the number of the next chunk or page; none is used again
    following: int = 0
    _stored: dict[Chunk, ChunkEntry] = field(default_factory=dict[Chunk, ChunkEntry])
    _saved: dict[Chunk, ChunkEntry] = field(default_factory=dict[Chunk, ChunkEntry])
    #: the numbers of pages, as far as pages above them are loaded
    _pages: dict[Page, int] = field(default_factory=dict[Page, int])
    _saved_pages: dict[Page, int] = field(default_factory=dict[Page, int])

    @property
    def names(self) -> set[str]:
        """All entries of stored chunks and pages, as far as they are known of."""
        found = {name for entry in self._stored.values() for name in entry.names()}
        return found | set(map(page_name, self._pages.values()))

    def load_pages(self) -> None:
        """Load all pages: then all entries are known of."""
        known: list[Page] = []
        while len(known) < len(self._pages):
            known = list(self._pages)
            for page in known:
                _ = page.children

    # -- in --------------------------------------------------------------------------------------------------

    def load(self, part: OrderedRows, state: dict[str, Any], is_same: bool) -> None:
        """Restore a part from what a header has of it. If aggregates or columns have changed (not
        ``is_same``) its chunks are written anew, since their wholes, or rows, are of the others."""
        found = [
            list(self._listed(part, k, listed, is_same)) for k, listed in enumerate(state.get("chunks", ()))
        ]
        groups = state.get("groups")
        if groups is not None and "root" in groups:
            level = whole("level of pages", groups["level"], 0, MOST_LEVELS)
            root = Page(level, self._children(part, level, 0, groups["root"], is_same))
            state = state | {"groups": {"count": groups["count"], "logs": GroupLogs(root)}}
        part.restore(state, *found)

    def _listed(self, part: OrderedRows, k: int, listed: Sequence[Any], is_same: bool) -> Iterator[Chunk]:
        readers = readers_of(part, waits=k == 1)
        check_facts(*listed[1:])
        for number, *facts, levels in zip(*(column.tolist() for column in listed), strict=True):
            entry = ChunkEntry(self.entries, readers, number, levels)
            chunk = Chunk.stored((*facts, levels), entry.load, entry.load_whole, self.keeps)
            self._stored[chunk] = entry
            if not is_same:
                chunk = Chunk.stored((*facts, 0), entry.load, entry.load_whole, self.keeps)
            yield chunk

    def _children(
        self, part: OrderedRows, level: int, place: int, value: dict[str, Any], is_same: bool
    ) -> Mapping[int, Page | RowLog]:
        """What a page has, which has this place in its level."""
        names = list(listed_in_pages(value))
        self.entries.expect(dict(zip(names, value["sums"].tolist(), strict=True)))
        if not level:
            chunks = list(self._listed(part, 0, value["chunks"], is_same))
            self._check_number(highest_number([{"chunks": [value["chunks"]]}]))
            return logs_of(place, value, chunks, part.by, part.is_in_order)
        found: dict[int, Page | RowLog] = {}
        for at, number, totals in listed_pages(level, place, value):
            self._check_number(number)
            page = Page.stored(level - 1, totals, partial(self._loaded, part, level - 1, at, number, totals))
            self._pages[page] = number
            if not is_same:
                page = Page(level - 1, self._loaded(part, level - 1, at, number, totals, is_same))
            found[at] = page
        return found

    def _check_number(self, number: int) -> None:
        found = f"number of the next chunk: {self.following}, and {number} is taken"
        require(number < self.following, found)

    def _loaded(
        self, part: OrderedRows, level: int, place: int, number: int, totals: Totals, is_same: bool = True
    ) -> Mapping[int, Page | RowLog]:
        name = page_name(number)
        value = self.entries.read_page(name)
        with making_sense(f"page {name}"):
            children = self._children(part, level, place, value, is_same)
            check_totals(Page(level, children), totals)
        return children

    # -- out -------------------------------------------------------------------------------------------------

    def save(self, parts: Mapping[int, OrderedRows]) -> dict[int, dict[str, Any]]:
        """Write chunks and pages that are new, delete those that are gone; what the header has of each
        part."""
        self._saved, self._saved_pages = {}, {}
        found: dict[int, dict[str, Any]] = {}
        for number, part in parts.items():
            log = part.recent
            waiting = [self._kept(part, chunk, None, 0) for chunk in part.waiting.chunks]
            listed = [self._columns(part, log), columns_of(part.waiting.chunks, waiting)]
            found[number] = {"chunks": listed} | self._groups(part)
        for chunk, entry in self._stored.items():
            levels = self._saved[chunk].levels if chunk in self._saved else -1
            for name in entry.names(levels):
                self.entries.delete(name)
        for page, number in self._pages.items():
            if page not in self._saved_pages:
                self.entries.delete(page_name(number))
        return found

    def _columns(self, part: OrderedRows, log: RowLog) -> list[Any]:
        """The list of the chunks of a log, which are written if they are new."""
        numbers = range(log.first, log.end)
        kept = [
            self._kept(part, chunk, log, number) for number, chunk in zip(numbers, log.chunks, strict=True)
        ]
        return columns_of(log.chunks, kept)

    def _groups(self, part: OrderedRows) -> dict[str, Any]:
        if not isinstance(part, GroupedRows) or not part.groups.logs:
            return {}
        root = part.groups.logs.root
        value = {"count": part.groups.count, "level": root.level, "root": self._value(part, root)}
        return {"groups": value}

    def _value(self, part: OrderedRows, page: Page) -> dict[str, Any]:
        """A page as plain values; what it lists is written if it is new."""
        if page.level:
            pages = {at: child for at, child in page.children.items() if isinstance(child, Page)}
            numbers = [self._kept_page(part, child) for child in pages.values()]
            return pages_value(pages, numbers, self.entries.sums_of(list(map(page_name, numbers))))
        logs = {number: log for number, log in page.children.items() if isinstance(log, RowLog)}
        columns = [self._columns(part, log) for log in logs.values()]
        listed = joined_columns(columns)
        return leaf_value(logs, listed, self.entries.sums_of(list(listed_names(listed))))

    def _kept_page(self, part: OrderedRows, page: Page) -> int:
        number = self._pages.get(page)
        if number is None:
            value = self._value(part, page)
            number, self.following = self.following, self.following + 1
            self.entries.write_page(page_name(number), value)
        else:
            self._keep_below(page)
        self._saved_pages[page] = number
        return number

    def _keep_below(self, page: Page) -> None:
        """What a page lists that has not changed stays, as far as it is known of."""
        if not page.is_loaded:
            return
        for child in page.children.values():
            if isinstance(child, Page):
                self._saved_pages[child] = self._pages[child]
                self._keep_below(child)
            else:
                self._saved |= {chunk: self._stored[chunk] for chunk in child.chunks}

    def _kept(self, part: OrderedRows, chunk: Chunk, log: RowLog | None, number: int) -> ChunkEntry:
        """A chunk where it is, with the wholes that its log can still use; a new one is written."""
        known = self._stored.get(chunk)
        usable = 0 if log is None or not part.folds else part.levels(log, number)
        if known is None:
            known = self._put(part, chunk, log, number, usable)
        self._saved[chunk] = known.with_levels(min(known.levels, usable))
        return self._saved[chunk]

    def _put(self, part: OrderedRows, chunk: Chunk, log: RowLog | None, at: int, usable: int) -> ChunkEntry:
        number, self.following = self.following, self.following + 1
        self.entries.write(rows_name(number), chunk.rows)
        levels = 0
        try:
            for level in range(usable):
                assert log is not None
                self.entries.write(whole_name(number, level), part.whole(log, at, level))
                levels += 1
        except (AggregateError, TypeError):
            pass  # what does not combine is asked of the rows, and raises where it is needed
        return ChunkEntry(self.entries, readers_of(part, waits=log is None), number, levels)

    def settle(self) -> None:
        """What was saved is safe."""
        self._stored, self._pages = self._saved, self._saved_pages
        for chunk, entry in self._stored.items():
            chunk.levels = entry.levels
            if not self.keeps:  # also where it was read from an entry that this one replaces
                chunk.release(entry.load, entry.load_whole, self.keeps)
