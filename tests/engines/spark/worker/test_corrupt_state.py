"""State of a stream that was damaged: every change is noticed and named, none gives other numbers."""

from __future__ import annotations

import copy
import functools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.packed_stream import PackedStream
from windrow.errors import StateError

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
MORE = pa.table({"t": [26, 31], "k": ["a", "b"], "v": [5, 6]}, schema=SCHEMA)


def _begun(**windows: Any) -> PackedStream:
    """A stream with windows that are open and that need more than one block."""
    query = wr.query(time="t", by="k", watermark=0).window(**windows).agg(n=wr.count(), v=wr.sum("v"))
    stream = PackedStream(query, SCHEMA)
    for start in (0, 10, 20):
        rows = [[start + k, "ab"[k % 2], k] for k in range(6)]
        stream.batch(pa.Table.from_pylist([dict(zip("tkv", r, strict=True)) for r in rows], SCHEMA), start)
    return stream


WINDOWS: list[dict[str, Any]] = [
    {"w": wr.Sliding(40, slide=5), "s": wr.Session(3)},
    {"w": wr.Tumbling(50), "r": wr.Rows(100)},
]


@functools.cache
def _kept(which: int) -> PackedStream:
    return _begun(**WINDOWS[which])


def begun(which: int) -> PackedStream:
    """A copy, to be damaged."""
    return copy.deepcopy(_kept(which))


@st.composite
def damages(draw: st.DrawFn) -> tuple[int, PackedStream, str]:
    """Which stream, the same with one entry changed in one place or cut short, and which entry."""
    which = draw(st.integers(0, len(WINDOWS) - 1))
    stream = begun(which)
    entries = draw(st.sampled_from([e for e in stream.entries.values() if e.head is not None]))
    name = draw(st.sampled_from(["header", *sorted(entries.blocks)]))
    data = entries.head if name == "header" else entries.blocks[name]
    assert data is not None
    kind = draw(st.sampled_from(["flipped", "cut"]))
    place = draw(st.integers(0, len(data) - 1))
    if kind == "flipped":
        changed = data[:place] + bytes([data[place] ^ draw(st.integers(1, 255))]) + data[place + 1 :]
    else:
        changed = data[:place]
    if name == "header":
        entries.head = changed
    else:
        entries.blocks[name] = changed
    return which, stream, name


@settings(max_examples=examples(150))
@given(damages())
def test_damage_is_an_error_with_a_name_or_does_not_matter(damage: tuple[int, PackedStream, str]) -> None:
    which, stream, name = damage
    try:
        found = stream.batch(MORE, 45)
    except StateError:
        return
    # the entry was not read: what came out is what comes out of the state as it was
    assert name != "header"
    assert found == begun(which).batch(MORE, 45)


def test_a_block_that_is_missing_is_told() -> None:
    stream = begun(0)
    for entries in stream.entries.values():
        entries.blocks.clear()
    with pytest.raises(StateError, match=r"block '.*' .*is missing"):
        stream.batch(MORE, 45)
