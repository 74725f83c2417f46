"""Float keys: 0.0 and -0.0 are one, and so is every NaN, on tables and operators as in every peer."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pytest

import windrow as wr
from support.float_keys import COUNTS, counted, float_rows
from support.small_chunks import small_chunks
from windrow.rows import frame, keys
from windrow.state import MemoryStore, StateError
from windrow.testing import assert_same_results, evaluate

ROWS = float_rows()
WINDOWS = {
    "tumbling": wr.Tumbling("1h"),
    "session": wr.Session("10s"),
    "limited session": wr.Session("10s", max_size="1h"),
    "delta": wr.Delta("v", size=100),
    "policy": wr.Policy(lambda total, old: False),
}


def counts(table: pa.Table, key: str) -> dict[str, int]:
    return counted(table.column(key).to_pylist(), table.column("n").to_pylist())


def by_window(key: str, window: Any) -> Any:
    return wr.query(time="t", by=key).window(window).agg(n=wr.count("t"))


@pytest.mark.parametrize("key", ["k", "s", "l"])
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_zeros_are_one_key_and_every_nan_is_one_key_in_tables(window: Any, key: str) -> None:
    query = by_window(key, window)
    assert counts(query.run(ROWS), key) == COUNTS
    assert_same_results(query.run(ROWS), evaluate(query, ROWS))
    assert counted(*zip(*[(row[key], row["n"]) for row in evaluate(query, ROWS)], strict=True)) == COUNTS


@pytest.mark.parametrize("key", ["k", "s", "l"])
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
@pytest.mark.parametrize("stored", [False, True], ids=["memory", "store"])
def test_zeros_are_one_key_and_every_nan_is_one_key_in_operators(window: Any, key: str, stored: bool) -> None:
    query = by_window(key, window)
    operator = query.open(store=MemoryStore()) if stored else query.open()
    for place in range(ROWS.num_rows):
        operator.push(ROWS.slice(place, 1))
    if not stored:
        operator = query.restore(operator.snapshot())
    assert counts(operator.finish(), key) == COUNTS


@pytest.mark.parametrize("kind", [pa.float32(), pa.float16()], ids=str)
def test_other_floats_are_keys_like_doubles(kind: Any) -> None:
    narrow = ROWS.set_column(1, "k", ROWS.column("k").cast(kind))
    assert counts(by_window("k", wr.Tumbling("1h")).run(narrow), "k") == COUNTS


def test_keys_of_two_columns() -> None:
    found = wr.query(time="t", by=["v", "k"]).window(wr.Tumbling("1h")).agg(n=wr.count())
    same = ROWS.set_column(4, "v", pa.array([7] * ROWS.num_rows))
    assert counts(found.run(same), "k") == COUNTS


@pytest.mark.parametrize("over", [{"size": "1h"}, {"rows": 100}], ids=["time", "rows"])
@pytest.mark.parametrize("key", ["k", "s"])
def test_rolling_has_one_window_for_such_keys_and_gives_rows_back_as_they_came(over: Any, key: str) -> None:
    query = wr.query(time="t", by=key).rolling(**over).agg(n=wr.count())
    stored = wr.query(time="t", by=key).rolling(**over, store=MemoryStore()).agg(n=wr.count())
    tables = [query.run(ROWS), stored.run(ROWS)]
    tables += [rolled(query.open()), rolled(stored.open())]
    with small_chunks():
        tables.append(rolled(query.open()))
    for table in tables:
        assert table.column("n").to_pylist() == [1, 1, 2, 2, 1, 1, 3, 3, 2]
        assert bits(table.column("k")) == bits(ROWS.column("k"))


def rolled(operator: Any) -> pa.Table:
    """The results of an operator whose watermark follows each row."""
    found = []
    for place in range(ROWS.num_rows):
        found.append(operator.push(ROWS.slice(place, 1)))
        found.append(operator.advance(ROWS.column("t")[place].as_py()))
    return pa.concat_tables([*found, operator.finish()], promote_options="permissive")


def bits(column: Any) -> list[int]:
    return np.asarray(column.combine_chunks().fill_null(2.5).to_numpy()).view(np.int64).tolist()


def test_peers_have_the_same_keys() -> None:
    rows = ROWS.select(["k"])
    groups = rows.to_pandas().assign(n=1).groupby("k", dropna=False)["n"].sum()
    assert sorted(groups.tolist()) == [1, 3, 5]  # null is NaN there
    lazy = polars.from_arrow(rows).group_by("k").agg(n=polars.len())
    assert unsigned(counted(lazy["k"].to_list(), lazy["n"].to_list())) == COUNTS
    grouped = duckdb.sql("SELECT k, count(*) FROM rows GROUP BY k").fetchall()
    assert unsigned(counted(*zip(*grouped, strict=True))) == COUNTS


def unsigned(found: dict[str, int]) -> dict[str, int]:
    """Polars and DuckDB give the zero that came first."""
    return {key.removeprefix("-"): count for key, count in found.items()}


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Keys told apart by their bits, as earlier versions did; calling it ends that."""
    for module, name in ((frame, "canonical_array"), (keys, "canonical_array"), (keys, "canonical_value")):
        monkeypatch.setattr(module, name, lambda value: value)
    return monkeypatch.undo


@pytest.mark.parametrize("key", ["k", "s"])
def test_stored_state_that_tells_such_keys_apart_is_refused(as_before: Any, key: str) -> None:
    store = MemoryStore()
    query = by_window(key, wr.Tumbling("1h"))
    operator = query.open(store=store)
    operator.push(ROWS)
    operator.advance(ROWS.column("t")[-1].as_py())
    as_before()
    with pytest.raises(
        StateError, match=f"0.0 and -0.0, or NaN .* as different keys of '{key}'.*start without"
    ):
        query.open(store=store)


def test_snapshots_that_tell_such_keys_apart_are_refused_and_a_lone_minus_zero_is_not(as_before: Any) -> None:
    query = by_window("k", wr.Tumbling("1h"))
    operators = [query.open(), query.open()]
    for operator, rows in zip(operators, (3, 2), strict=True):
        operator.push(ROWS.slice(0, rows))
    both, alone = (operator.snapshot() for operator in operators)
    as_before()
    with pytest.raises(StateError, match="start without it, from the source"):
        query.restore(both)
    restored = query.restore(alone)
    restored.push(ROWS.slice(2))
    assert counts(restored.finish(), "k") == COUNTS
