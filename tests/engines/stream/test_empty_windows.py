"""Windows without rows, for ``empty="include"``: those between a key's first and last row, also where the
first row comes late."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import windrow as wr


def opened(window: Any, lateness: int = 0) -> Any:
    query = wr.query(time="t", by="k", empty="include", allowed_lateness=lateness)
    return query.window(window).agg(n=wr.count()).open()


def pushed(operator: Any, key: str, *times: int) -> list[tuple[int, int]]:
    found = operator.push(pa.table({"t": list(times), "k": [key] * len(times)})).to_pylist()
    return [(row["window_start"], row["n"]) for row in found if row["k"] == key]


def advanced(operator: Any, watermark: int) -> list[tuple[int, int]]:
    return [(row["window_start"], row["n"]) for row in operator.advance(watermark).to_pylist()]


def test_a_key_whose_first_row_comes_late_has_empty_windows_that_have_fired() -> None:
    operator = opened(wr.Tumbling(10), lateness=100)
    pushed(operator, "other", 50)
    operator.advance(40)
    assert pushed(operator, "late", 5, 45) == [(0, 1), (10, 0), (20, 0), (30, 0)]
    assert advanced(operator, 60) == [(50, 1), (40, 1)]


def test_a_first_row_that_comes_late_opens_the_windows_before_the_one_that_was_first() -> None:
    operator = opened(wr.Tumbling(10), lateness=100)
    pushed(operator, "a", 35, 55)
    assert advanced(operator, 60) == [(30, 1), (40, 0), (50, 1)]
    assert pushed(operator, "a", 5) == [(0, 1), (10, 0), (20, 0)]
    assert pushed(operator, "a", 15) == [(10, 1)]
    assert pushed(operator, "a", 75) == []
    assert advanced(operator, 80) == [(60, 0), (70, 1)]


def test_a_row_that_is_late_for_a_window_does_not_make_it_an_empty_one() -> None:
    operator = opened(wr.Sliding(10, slide=5))
    pushed(operator, "other", 50)
    operator.advance(12)
    assert pushed(operator, "late", 8) == []
    assert advanced(operator, 15) == [(5, 1)]


def test_empty_windows_come_out_once() -> None:
    operator = opened(wr.Tumbling(10))
    pushed(operator, "a", 5)
    assert advanced(operator, 40) == [(0, 1)]
    assert pushed(operator, "a", 45) == [(10, 0), (20, 0), (30, 0)]
    assert pushed(operator, "a", 46) == []
    assert advanced(operator, 50) == [(40, 2)]


def test_a_row_that_one_window_took_and_another_did_not_is_the_first_of_the_one_alone() -> None:
    query = wr.query(time="t", watermark=1, empty="include").window(one=wr.Tumbling(1), two=wr.Tumbling(2))
    operator = query.agg(n=wr.count()).open()
    found = operator.push(pa.table({"t": [12]})).to_pylist()
    found += operator.push(pa.table({"t": [10]})).to_pylist()  # late for [10, 11), in time for [10, 12)
    found += operator.finish().to_pylist()
    assert [(r["window"], r["window_start"], r["n"]) for r in found] == [
        ("one", 12, 1),
        ("two", 10, 1),
        ("two", 12, 1),
    ]


def test_a_fixed_window_before_the_epoch_fires_whatever_has_fired_before_it_ends() -> None:
    query = wr.query(time="t", empty="include").window(wr.Fixed(-17, 3)).agg(n=wr.count())
    operator = query.open()
    operator.push(pa.table({"t": [-17]}))
    operator.push(pa.table({"t": [-14]}))
    assert advanced(operator, -15) == []
    assert [(row["window_start"], row["n"]) for row in operator.finish().to_pylist()] == [(-17, 1)]
