"""State with a right checksum whose content lies: a named error or results, never a crash, never memory of
others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.budget import examples
from support.chaos_counts import counted, how_many
from windrow.compile.cache_folder import cache_folder
from windrow.errors import CorruptState
from windrow.state.codec import pack, unpack

TESTS = Path(__file__).parents[2]
CASES = how_many("WINDROW_CHAOS_FORGED", examples(600))
_AT_ONCE = 300
#: the share of each kind of state, see forged_state.py
KINDS = {"operators": 0.4, "windows": 0.4, "streams": 0.2}


def _runs() -> list[tuple[str, int, int]]:
    """Kind, first case and number of cases of each process."""
    counts = {kind: max(1, int(share * CASES)) for kind, share in KINDS.items()}
    return [
        (kind, first, min(_AT_ONCE, count - first))
        for kind, count in counts.items()
        for first in range(0, count, _AT_ONCE)
    ]


@pytest.mark.parametrize(("kind", "first", "count"), _runs())
def test_forged_state_is_refused_by_name_or_gives_results_of_the_right_form(
    kind: str, first: int, count: int
) -> None:
    command = [sys.executable, str(TESTS / "support" / "forged_state.py"), kind, str(first), str(count)]
    folder = cache_folder()
    # kernels that check bounds are others than those that do not, and are kept apart from them
    extra = {"NUMBA_BOUNDSCHECK": "1", "WINDROW_CACHE_DIR": "" if folder is None else str(folder / "checked")}
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    found = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | extra | {"PYTHONPATH": path}, check=False
    )
    lines = found.stdout.splitlines()
    faults = [line for line in lines if line.startswith("FAULT")]
    with counted("Forged state with a right checksum") as tally:
        tried = sum(line.startswith("case ") for line in lines)
        tally.add(tried, sum(line.startswith(("accepted", "refused")) for line in lines))
    told = "\n".join([*faults, found.stdout[-3000:], found.stderr[-3000:]])
    assert found.returncode == 0, f"the process ended with {found.returncode}:\n{told}"
    assert "refused" in found.stdout
    assert "accepted" in found.stdout


def _stored() -> tuple[Any, dict[str, Any]]:
    query = (
        wr.query(time="t", by="k", allowed_lateness=50, watermark=2)
        .window(w=wr.Tumbling(10))
        .agg(v=wr.sum("v"))
    )
    operator = query.open()
    operator.push(pa.table({"t": [1, 5, 13, 17, 30], "k": ["a", "b", "a", "b", "a"], "v": [1, 2, 3, 4, 5]}))
    return query, unpack("operator", operator.snapshot())


def _lied(path: list[Any], change: Any) -> None:
    query, stored = _stored()
    place = stored["state"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = change(place[path[-1]])
    query.restore(pack("operator", stored))


def _first(blocks: dict[int, Any]) -> Any:
    return next(iter(blocks.values()))


def _beyond(column: Any) -> Any:
    found = column.copy()
    found[0] = 1 << 40
    return found


LIES: dict[str, tuple[list[Any], Any, str]] = {
    "a watermark that is text": (["watermark"], lambda _: "x", "watermark"),
    "keys that are there twice": (["keys"], lambda keys: keys.take(pa.array([0, 0])), "twice"),
    "blocks of no length": (["time", "span"], lambda _: 0, "length of blocks"),
    "a ledger with keys that there are not": (["time", "ledger", 1], _beyond, "keys of the ledger"),
    "a ledger that is cut short": (["time", "ledger", 2], lambda column: column[:-1], "starts of the ledger"),
    "a ledger out of order": (["time", "ledger", 2], lambda column: column[::-1].copy(), "the ledger"),
    "a negative revision": (["time", "ledger", 4], lambda column: column - 1, "revisions"),
    "a count below zero": (["counts", "rows_in"], lambda _: -1, "rows_in"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_corrupt_state_that_says_what_is_wrong(lie: str) -> None:
    path, change, message = LIES[lie]
    with pytest.raises(CorruptState, match=message):
        _lied(path, change)


SLICES: dict[str, tuple[Any, str]] = {
    "keys that there are not": (lambda s: s["columns"].__setitem__(0, _beyond(s["columns"][0])), "keys of"),
    "fewer ends than keys": (lambda s: s["columns"].__setitem__(3, s["columns"][3][:-1]), "no sense|ends of"),
    "fewer partials than slices": (
        lambda s: s["partials"]["columns"][0].__setitem__("members", [np.zeros(1, np.int64)]),
        "partials of sum",
    ),
    "partials of another type": (
        lambda s: s["partials"]["columns"][0].update(
            members=[m.astype("f4") for m in s["partials"]["columns"][0]["members"]]
        ),
        "float32",
    ),
    "columns of order that the query does not have": (
        lambda s: s.__setitem__("order", [pa.nulls(len(s["columns"][0]))]),
        "order of slices: 1 columns where 0 are expected",
    ),
    "no rows": (lambda s: s["partials"].update(rows=s["partials"]["rows"] * 0), "rows of slices"),
}


@pytest.mark.parametrize("lie", SLICES)
def test_slices_that_lie_are_corrupt_state(lie: str) -> None:
    change, message = SLICES[lie]
    query, stored = _stored()
    change(_first(stored["state"]["time"]["blocks"]))
    with pytest.raises(CorruptState, match=message):
        query.restore(pack("operator", stored))


@pytest.mark.parametrize("over", ["windows", "rolling"])
def test_rows_that_were_taken_beyond_the_watermark_are_corrupt_state(over: str) -> None:
    """A row at 29 is not late; rows were said to be taken up to 30."""
    events = wr.query(time="t", watermark=2)
    query = (events.window(w=wr.Rows(2)) if over == "windows" else events.rolling(5)).agg(n=wr.count())
    operator = query.open()
    operator.push(pa.table({"t": [1, 5, 30]}))
    stored = unpack("operator", operator.snapshot())
    (rows,) = stored["state"]["ordered"].values()
    assert (rows["passed"], stored["state"]["watermark"]) == (28, 28)
    rows["passed"] = 30
    with pytest.raises(CorruptState, match="rows were taken up to 30, and are due up to"):
        query.restore(pack("operator", stored)).push(pa.table({"t": [29]}))
