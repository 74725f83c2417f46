"""The logs of groups of keys, by number, in pages: what a step does not ask for is not read.

A page has the logs of GROUPS neighbouring groups, or PAGES pages of the level below, of which it knows the
totals: rows, bytes, and the earliest time at which a chunk ends. Which page a group is in follows from its
number, so that the pages are a radix tree; its root is at hand.

Invariant: a page has no child without rows. Pages and what is made of them are values: a change makes the
pages from the root down to it anew, and shares all others.
Cost: a group is found in O(log groups) pages, and so many are new when it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from windrow.arrays import END_OF_TIME
from windrow.engines.kept_rows.chunk import fewest_rows
from windrow.engines.kept_rows.log import RowLog

__all__ = ["GROUPS", "GROUPS_A_CHUNK", "PAGES", "GroupLogs", "Page", "Totals", "most_rows_of_one"]

#: groups of a page of level 0
GROUPS = 8
#: pages of a page of a higher level
PAGES = 32
#: so many groups are made of the rows of a full chunk
GROUPS_A_CHUNK = 4


@dataclass(frozen=True)
class Totals:
    """What is known of logs that are not at hand."""

    rows: int = 0
    nbytes: int = 0
    #: rows as they count for the number of groups: a key of many is not split
    weight: int = 0
    #: the earliest time at which a chunk ends
    earliest: int = END_OF_TIME

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.rows + other.rows,
            self.nbytes + other.nbytes,
            self.weight + other.weight,
            min(self.earliest, other.earliest),
        )


def most_rows_of_one() -> int:
    """So many rows of a group count, at most: a key of more cannot be split."""
    return max(2 * fewest_rows() // GROUPS_A_CHUNK, 1)


def _totals(log: RowLog) -> Totals:
    """Of the log of one group."""
    weight = most_rows_of_one() if log.has_full_chunk else log.needed_rows
    ends = [chunk.last for chunk in log.chunks]
    nbytes = sum(chunk.nbytes for chunk in log.chunks)
    return Totals(log.chunk_rows, nbytes, weight, min(ends, default=END_OF_TIME))


class Page:
    """Logs, or pages of the level below, by number."""

    level: int
    totals: Totals

    def __init__(self, level: int, children: Mapping[int, Page | RowLog]) -> None:
        self.level = level
        self._children: Mapping[int, Page | RowLog] | None = children
        self._load: Callable[[], Mapping[int, Page | RowLog]] | None = None
        found = (child.totals if isinstance(child, Page) else _totals(child) for child in children.values())
        self.totals = reduce(Totals.__add__, found, Totals())

    @classmethod
    def stored(cls, level: int, totals: Totals, load: Callable[[], Mapping[int, Page | RowLog]]) -> Page:
        """A page that is kept elsewhere, and loaded once it is asked for."""
        found = cls.__new__(cls)
        found.level, found.totals = level, totals
        found._children, found._load = None, load
        return found

    @property
    def is_loaded(self) -> bool:
        return self._children is not None

    @property
    def children(self) -> Mapping[int, Page | RowLog]:
        if self._children is None:
            assert self._load is not None
            self._children = self._load()
        return self._children

    def find(self, number: int) -> RowLog | None:
        """The log of a group; None: it has no rows."""
        child = self.children.get(number // _span(self.level))
        return child.find(number) if isinstance(child, Page) else child

    def with_logs(self, changes: Mapping[int, RowLog]) -> Page:
        """With other logs for some groups; those without rows are left out."""
        children, span = dict(self.children), _span(self.level)
        below: dict[int, dict[int, RowLog]] = {}
        for number, log in changes.items():
            below.setdefault(number // span, {})[number] = log
        for place, some in below.items():
            child: Page | RowLog = some[place] if not self.level else self._page(place).with_logs(some)
            if child.totals.rows if isinstance(child, Page) else child.chunks:
                children[place] = child
            else:
                children.pop(place, None)
        return Page(self.level, dict(sorted(children.items())))

    def _page(self, place: int) -> Page:
        found = self.children.get(place)
        return found if isinstance(found, Page) else Page(self.level - 1, {})

    def items(self, ends_by: int = END_OF_TIME) -> Iterator[tuple[int, RowLog]]:
        """Groups and their logs, by number: those that may have a chunk which ends by a time."""
        for number, child in self.children.items():
            if isinstance(child, Page):
                if child.totals.earliest <= ends_by:
                    yield from child.items(ends_by)
            elif any(chunk.last <= ends_by for chunk in child.chunks):
                yield number, child


def _span(level: int) -> int:
    """How many groups a child of a page of this level stands for."""
    return 1 if not level else int(GROUPS * PAGES ** (level - 1))


@dataclass(frozen=True)
class GroupLogs:
    """All groups that have rows.

    >>> logs = GroupLogs().with_logs({})
    >>> bool(logs), logs.find([3, 700])
    (False, {})
    """

    root: Page = field(default_factory=lambda: Page(0, {}))

    def __bool__(self) -> bool:
        return self.totals.rows > 0

    @property
    def totals(self) -> Totals:
        return self.root.totals

    def find(self, numbers: Iterable[int]) -> dict[int, RowLog]:
        """The logs of some groups, those that have rows."""
        most = _span(self.root.level + 1)
        found = {number: self.root.find(number) for number in numbers if number < most}
        return {number: log for number, log in found.items() if log is not None}

    def items(self, ends_by: int = END_OF_TIME) -> Iterator[tuple[int, RowLog]]:
        """See :meth:`Page.items`."""
        return self.root.items(ends_by)

    def with_logs(self, changes: Mapping[int, RowLog]) -> GroupLogs:
        if not changes:
            return self
        root, most = self.root, max(changes)
        while most >= _span(root.level + 1):
            root = Page(root.level + 1, {0: root} if root.totals.rows else {})
        return GroupLogs(root.with_logs(changes))

    def every(self) -> Sequence[RowLog]:
        return [log for _, log in self.items()]
