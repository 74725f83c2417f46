"""Chunks of a few rows, so that short streams go where otherwise only long ones do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from windrow.engines.frames import rolling_part
from windrow.engines.kept_rows import chunk, grouped_rows, reading


@contextmanager
def small_chunks(fewest: int = 2, most: int = 5) -> Iterator[None]:
    """Rows become chunks of so many, whole chunks are always read as partials, and groups are never left."""
    with (
        patch.object(chunk, "FEWEST_ROWS", fewest),
        patch.object(chunk, "MOST_ROWS", most),
        patch.object(reading, "PAYS", 0),
        patch.object(reading, "FEW_ROWS", 0),
        patch.object(rolling_part, "LONG", 1),
        patch.object(rolling_part, "SHORT", 0),
    ):
        yield


@contextmanager
def without_groups() -> Iterator[None]:
    """Rows are stored as they were before there were groups: one log of all keys."""
    with (
        patch.object(grouped_rows, "wanted_groups", lambda *_: 1),
        patch.object(rolling_part, "groups_for", lambda _: 1),
    ):
        yield
