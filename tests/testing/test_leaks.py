"""no_leak: it passes where no label sees its future, and fails where one does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import no_leak

RANDOM = np.random.default_rng(7)
COUNT = 80
EVENTS = pa.table(
    {
        "ts": pa.array(RANDOM.integers(0, 60, COUNT), pa.timestamp("s")),
        "user": pa.array(RANDOM.choice(["a", "b", None], COUNT).tolist()).dictionary_encode(),
        "x": RANDOM.normal(size=COUNT),
        "n": pa.array(RANDOM.integers(0, 9, COUNT), mask=RANDOM.random(COUNT) < 0.2),
        "s": RANDOM.choice(list("abc"), COUNT),
        "ok": RANDOM.random(COUNT) < 0.5,
    }
)
LABELS = pa.table(
    {
        "at": pa.array(RANDOM.integers(0, 60_000, 15), pa.timestamp("ms", "UTC")),
        "who": pa.array(RANDOM.choice(["a", "b", "zz", None], 15).tolist(), pa.large_string()),
    }
)
COLUMNS: Any = {"at_time": "at", "at_by": "who"}
ALL = {
    "total": wr.sum("x"), "n": wr.count(), "top": wr.max("n"), "s": wr.concat("s"), "any": wr.any("ok"),
    "first": wr.first("s"), "m": wr.median("n"), "when": wr.max("ts"),
}  # fmt: skip


def start() -> wr.Query:
    return wr.query(time="ts", by="user")


@pytest.mark.parametrize(
    "query",
    [
        start().asof("10s"),
        start().asof("5s", "20s", "all", lag="3s"),
        start().asof("10s", closed="both", lag="1ms"),
        start().asof(rows=[1, 3]),
        start().asof("1mo"),
    ],
    ids=repr,
)
def test_what_sees_no_future_passes(query: wr.Query) -> None:
    no_leak(query.agg(**ALL), EVENTS, LABELS, **COLUMNS)


def test_tables_of_any_kind_pass() -> None:
    no_leak(start().asof("10s").agg(n=wr.count()), EVENTS.to_pandas(), LABELS.to_pandas(), **COLUMNS)


def test_times_finer_than_microseconds_and_texts_that_are_views() -> None:
    events = EVENTS.set_column(0, "ts", EVENTS["ts"].cast(pa.timestamp("ns")))
    events = events.set_column(4, "s", events["s"].cast(pa.string_view()))
    at = pa.array(RANDOM.integers(0, 60 * 10**9, 15), pa.timestamp("ns"))
    labels = LABELS.set_column(0, "at", at)
    no_leak(start().asof("10s").agg(**ALL), events, labels, **COLUMNS)
    with pytest.raises(AssertionError):
        no_leak(start().asof("10s", closed="both").agg(**ALL), events, labels, **COLUMNS)


@pytest.mark.parametrize(
    "options", [{"closed": "right"}, {"closed": "both"}, {"direction": "forward"}], ids=str
)
def test_a_query_that_sees_the_labels_own_time_or_later_fails(options: Any) -> None:
    """Though no event is at the time of a label: one is added there."""
    with pytest.raises(AssertionError, match="sees events that it must not see: n is"):
        no_leak(start().asof("10s", **options).agg(n=wr.count()), EVENTS, LABELS, **COLUMNS)


def broken(change: Any) -> Any:
    """An engine that looks elsewhere than the query says."""
    query = start().asof("10s").agg(total=wr.sum("x"))

    def run(events: Any, labels: Any) -> Any:
        return change(query, events, labels)

    with pytest.raises(AssertionError) as raised:
        no_leak(query, EVENTS, LABELS, **COLUMNS, run=run)
    return raised


def test_an_engine_that_ignores_keys_fails() -> None:
    query = wr.query(time="ts").asof("10s").agg(total=wr.sum("x"))
    broken(lambda _, events, labels: query.run(events, at=labels, at_time="at"))


def test_an_engine_whose_windows_are_too_long_fails() -> None:
    query = start().asof("12s").agg(total=wr.sum("x"))
    broken(lambda _, events, labels: query.run(events, at=labels, **COLUMNS))


def test_an_engine_that_truncates_the_times_of_labels_fails() -> None:
    def run(query: wr.Query, events: Any, labels: Any) -> Any:
        later = pd.DataFrame(labels.to_pandas())
        later["at"] = later["at"].dt.ceil("s")
        return query.run(events, at=later, **COLUMNS)

    broken(run)


def test_an_engine_that_scales_by_all_events_fails_by_their_values_alone() -> None:
    """The rows that a label sees are right, and their values depend on others."""

    def run(query: wr.Query, events: Any, labels: Any) -> Any:
        scaled = events.set_column(2, "x", pa.array(np.asarray(events["x"]) - np.mean(events["x"])))
        return query.run(scaled, at=labels, **COLUMNS)

    broken(run)


def test_nothing_to_check_is_an_error() -> None:
    query = start().asof("10s").agg(n=wr.count())
    for events, labels in ((EVENTS.slice(0, 0), LABELS), (EVENTS, LABELS.slice(0, 0))):
        with pytest.raises(ValueError, match="nothing can be checked"):
            no_leak(query, events, labels, **COLUMNS)
    with pytest.raises(TypeError, match="as-of"):
        no_leak(wr.query(time="ts").rolling("1s").agg(n=wr.count()), EVENTS, LABELS)
