"""The algorithm that ``explain`` names is the one that runs, and gives what counting by hand gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.algorithms import rolling_algorithm, window_algorithm
from windrow.partials import over_ranges

DRIVERS = {
    "Recalc": {"fold_ranges"},
    "FlatFAT": {"tree_ranges"},
    "TwoStacksLite": {"slide_ranges", "roll_runs"},
    "SubtractOnEvict": {"slide_ranges", "roll_runs"},
}


def table(count: int = 300) -> pa.Table:
    rng = np.random.default_rng(count)
    flags = [None if value == 0 else bool(value % 2) for value in rng.integers(0, 6, count)]
    return pa.table(
        {"ts": np.sort(rng.integers(0, 200, count)), "key": rng.integers(0, 3, count), "v": flags}
    )


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The drivers that ran, by name."""
    found: list[str] = []

    find, drive = over_ranges._kernel, over_ranges._Window.drive

    def noting_kernel(form: Any, driver: Any, arguments: Any) -> Any:
        found.append(driver.__name__)
        return find(form, driver, arguments)

    def noting_drive(window: Any, driver: Any, *arguments: Any) -> None:
        found.append(driver.__name__)
        drive(window, driver, *arguments)

    monkeypatch.setattr(over_ranges, "_kernel", noting_kernel)
    monkeypatch.setattr(over_ranges._Window, "drive", noting_drive)
    return found


@pytest.mark.parametrize("aggregate", [wr.count("v"), wr.share("v"), wr.max("v")], ids=repr)
@pytest.mark.parametrize(
    "window", [wr.Sliding(20, slide=3), wr.Tumbling(20), wr.Session(2), wr.Rows(4, slide=2)]
)
def test_explain_names_what_runs_over_a_window(drivers: list[str], aggregate: Any, window: Any) -> None:
    query = wr.query(time="ts", by="key").window(window).agg(x=aggregate)
    query.run(table())
    choice = window_algorithm(aggregate.monoid, window)
    members, before = "rows", ""
    if window.decided_by == "time":
        members, before = "slices", "1 combine per row into its slice; then "
        assert drivers.pop(0) == "fold_cells"
    assert f"x = {aggregate!r}: {before}{choice.name} over {members}: {choice.why}" in query.explain()
    assert len(drivers) == 1
    assert drivers[0] in DRIVERS[choice.name]


@pytest.mark.parametrize("aggregate", [wr.count("v"), wr.share("v"), wr.max("v")], ids=repr)
@pytest.mark.parametrize("over", [{"size": 20}, {"rows": 7}], ids=repr)
def test_explain_names_what_runs_over_rows(drivers: list[str], aggregate: Any, over: Any) -> None:
    query = wr.query(time="ts", by="key").rolling(**over).agg(x=aggregate)
    query.run(table())
    assert query.rolling_over is not None
    choice = rolling_algorithm(aggregate.monoid, query.rolling_over)
    assert f"x = {aggregate!r}: {choice.name} over rows: {choice.why}" in query.explain()
    assert len(drivers) == 1
    assert drivers[0] in DRIVERS[choice.name]


def test_explain_names_what_may_run_over_slices(drivers: list[str]) -> None:
    windows = {"a": wr.Sliding(20, slide=3), "b": wr.Sliding(90, slide=4), "c": wr.Tumbling(7)}
    query = wr.query(time="ts", by="key").window(**windows).agg(x=wr.count("v"))
    query.run(table())
    text = query.explain()
    assert "then SubtractOnEvict over slices: its inverse is exact" in text
    assert "or FlatFAT over slices: windows come in any order" in text
    fold, results = drivers
    assert fold == "fold_cells"
    assert results in DRIVERS["SubtractOnEvict"] | DRIVERS["FlatFAT"]


@pytest.mark.parametrize(
    ("empty", "count", "name"), [("skip", 4, "Recalc"), ("skip", 5, "FlatFAT"), ("emit", 1, "FlatFAT")]
)
def test_explain_names_what_an_operator_runs(drivers: list[str], empty: Any, count: int, name: str) -> None:
    windows = {f"w{k}": wr.Tumbling(10 + k) for k in range(count)}
    query = wr.query(time="ts", by="key", empty=empty).window(**windows).agg(x=wr.max("v"))
    operator = query.open()
    operator.push(table())
    drivers.clear()
    operator.finish()
    assert set(drivers) == DRIVERS[name]
    assert f"    w0: {name} over slices" in query.explain()


def test_counts_by_subtraction_are_those_of_the_rows() -> None:
    rows = table()
    found = wr.query(time="ts", by="key").rolling(20).agg(n=wr.count("v"), part=wr.share("v")).run(rows)
    each = rows.to_pylist()
    for row, result in zip(each, found.to_pylist(), strict=True):
        held = [r["v"] for r in each if r["key"] == row["key"] and row["ts"] - 20 < r["ts"] <= row["ts"]]
        known = [value for value in held if value is not None]
        assert result["n"] == len(known)
        assert result["part"] == (sum(known) / len(known) if known else None)
