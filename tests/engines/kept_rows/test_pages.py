"""The logs of groups in pages: what a dict would give, and no page is loaded that is not asked for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.engines.kept_rows.chunk import Chunk
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.pages import GROUPS, PAGES, GroupLogs, Page
from windrow.engines.kept_rows.row_table import Held


def log_of(*times: int) -> RowLog:
    """A log of one chunk with rows of these times; without times, one without rows."""
    if not times:
        return RowLog()
    rows = Held.of(pa.table({"t": times}), "t", np.arange(len(times)))
    return RowLog((Chunk(rows),), masks=(None,))


@pytest.mark.parametrize("most", [GROUPS, 5 * GROUPS, 3 * GROUPS * PAGES, GROUPS * PAGES * PAGES + 1])
def test_pages_are_as_a_dict(most: int) -> None:
    chance, logs = np.random.default_rng(most), GroupLogs()
    expected: dict[int, RowLog] = {}
    for _ in range(40):
        numbers = chance.integers(0, most, 5).tolist()
        changes = {
            n: log_of() if chance.random() < 0.3 else log_of(int(chance.integers(100))) for n in numbers
        }
        logs = logs.with_logs(changes)
        expected = {n: log for n, log in {**expected, **changes}.items() if log.chunks}
        assert dict(logs.items()) == expected
        asked = [*numbers, most + 1, 10**9]
        assert logs.find(asked) == {n: expected[n] for n in asked if n in expected}
        assert logs.totals.rows == len(expected)
        assert logs.totals.earliest == min(log.chunks[0].last for log in expected.values())
        bound = int(chance.integers(100))
        ended = {n for n, log in expected.items() if log.chunks[0].last <= bound}
        assert {n for n, _ in logs.items(ends_by=bound)} == ended


def test_pages_that_are_not_asked_for_are_not_loaded() -> None:
    loaded: list[int] = []

    def stored(place: int) -> Page:
        number = place * GROUPS
        page = Page(0, {number: log_of(number)})

        def load() -> dict[int, Page | RowLog]:
            loaded.append(place)
            return dict(page.children)

        return Page.stored(0, page.totals, load)

    logs = GroupLogs(Page(1, {place: stored(place) for place in range(PAGES)}))
    assert logs.totals.rows == PAGES
    assert len(logs.find([3 * GROUPS, 3 * GROUPS + 1])) == 1
    changed = logs.with_logs({7 * GROUPS: log_of(1_000)})
    assert loaded == [3, 7]
    assert [n for n, _ in changed.items(ends_by=GROUPS)] == [0, GROUPS]
    assert loaded == [3, 7, 0, 1]
