"""Columns of the table with names that results need: refused, never overwritten."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

#: options and windows that give results columns of these names
ADDED: list[tuple[str, dict[str, Any], Any]] = [
    ("window_start", {}, {"": wr.Tumbling(10)}),
    ("window_end", {}, {"": wr.Rows(3)}),
    ("window", {}, {"ten": wr.Tumbling(10)}),
    ("revision", {"allowed_lateness": 5}, {"": wr.Tumbling(10)}),
    ("is_final", {"emit": "update"}, {"": wr.Tumbling(10)}),
    ("retracted", {"emit": "update"}, {"": wr.Session(10)}),
    ("late", {"late": "emit"}, {"": wr.Tumbling(10)}),
]
IDS = [name for name, _, _ in ADDED]


def with_windows(query: Any, windows: dict[str, Any]) -> Any:
    return query.window(windows[""]) if "" in windows else query.window(**windows)


@pytest.mark.parametrize(("name", "options", "windows"), ADDED, ids=IDS)
def test_a_key_with_the_name_of_a_result_column_is_refused(
    name: str, options: dict[str, Any], windows: Any
) -> None:
    with pytest.raises(ValueError, match=f"column '{name}' has a name that results need .*: rename it"):
        with_windows(wr.query(time="t", by=["k", name], **options), windows)


@pytest.mark.parametrize(("name", "options", "windows"), ADDED, ids=IDS)
def test_an_aggregate_with_the_name_of_a_result_column_is_refused(
    name: str, options: dict[str, Any], windows: Any
) -> None:
    with pytest.raises(ValueError, match=f"duplicate result column '{name}': choose another"):
        with_windows(wr.query(time="t", **options), windows).agg(**{name: wr.count()})


def test_a_key_may_have_a_name_that_these_results_do_not_need() -> None:
    rows = pa.table({"t": [1, 2], "window": ["a", "b"], "revision": [1, 1]})
    found = wr.events(rows, time="t", by=["window", "revision"]).window(wr.Tumbling(10)).agg(n=wr.count())
    assert found.to_pylist() == [
        {"window": "a", "revision": 1, "window_start": 0, "window_end": 10, "n": 1},
        {"window": "b", "revision": 1, "window_start": 0, "window_end": 10, "n": 1},
    ]
    edged = rows.append_column("window_start", pa.array([7, 8]))
    rolled = wr.events(edged, time="t", by="window_start").rolling(5).agg(n=wr.count())
    assert rolled["window_start"].to_pylist() == [7, 8]


@pytest.mark.parametrize("role", ["time", "by", "order"])
def test_columns_that_rolling_gives_back_do_not_have_the_name_of_a_result(role: str) -> None:
    options = {"time": "t", "emit": "update", role: "revision"}
    with pytest.raises(ValueError, match="column 'revision' has a name that results need"):
        wr.query(**options).rolling(rows=5)
    with pytest.raises(ValueError, match="column 'x' already: choose another name for the result"):
        wr.query(**{"time": "t", role: "x"}).rolling(rows=5).agg(x=wr.count())
    with pytest.raises(ValueError, match="column 'v' already: choose another name for the result"):
        wr.query(time="t").rolling(rows=5).agg(v=wr.sum("v"))


@pytest.mark.parametrize(
    ("name", "options"), [("revision", {"emit": "update"}), ("late", {"late": "emit"}), ("n", {})]
)
def test_a_table_with_such_a_column_is_refused_where_all_columns_come_back(
    name: str, options: dict[str, Any]
) -> None:
    query = wr.query(time="t", **options).rolling(5).agg(n=wr.count())
    with pytest.raises(ValueError, match=f"the table has a column '{name}'.*: (rename|choose another)"):
        query.open().push(pa.table({"t": [1], name: [1]}))


def test_a_window_that_brings_a_name_is_not_added() -> None:
    query = wr.query(time="t", by="retracted", allowed_lateness=5).window(ten=wr.Tumbling(10))
    operator = query.agg(n=wr.count()).open()
    with pytest.raises(ValueError, match="column 'retracted' has a name that results need"):
        operator.add_window(visit=wr.Session(5))
    assert [name for name, _ in operator.query.windows] == ["ten"]
