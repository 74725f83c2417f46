"""Rolling with several sizes, any ends and a shift: DuckDB's frames, pandas' closed windows, errors."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import assert_same_results

RANDOM = np.random.default_rng(11)
COUNT = 600
ROWS = pa.table(
    {
        "ts": RANDOM.integers(0, 900, COUNT),
        "key": RANDOM.choice(list("abc"), COUNT),
        "x": RANDOM.integers(0, 1_000, COUNT).astype(float),
        "row": np.arange(COUNT),
    }
)
START = wr.query(time="ts", by="key", order="row")
ENDS = ["left", "right", "both", "neither"]
AGGREGATES = {"total": wr.sum("x"), "n": wr.count(), "top": wr.max("x"), "first": wr.first("x")}


def in_duckdb(frame: str) -> pa.Table:
    window = f"PARTITION BY key ORDER BY ts{', row' if frame.startswith('ROWS') else ''} {frame}"
    calls = "sum(x) OVER w AS total, count(*) OVER w AS n, max(x) OVER w AS top"
    return (
        duckdb.from_arrow(ROWS)
        .query("r", f"SELECT *, {calls} FROM r WINDOW w AS ({window})")
        .to_arrow_table()
    )


def end(offset: int) -> str:
    return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"


SUMS = {name: AGGREGATES[name] for name in ("total", "n", "top")}


@pytest.mark.parametrize("shift", [0, -30, 20, 400])
@pytest.mark.parametrize("closed", ENDS)
def test_frames_by_time_are_those_of_duckdb(closed: Any, shift: int) -> None:
    """Times are whole numbers: an end that is open is a closed one a unit further in."""
    first = shift - 40 + (closed in ("right", "neither"))
    last = shift - (closed in ("left", "neither"))
    found = START.rolling(40, closed=closed, shift=shift).agg(**SUMS).run(ROWS)
    assert_same_results(found, in_duckdb(f"RANGE BETWEEN {end(first)} AND {end(last)}"))


@pytest.mark.parametrize("shift", [0, -3, 2, 500])
@pytest.mark.parametrize("closed", ENDS)
def test_frames_by_rows_are_those_of_duckdb(closed: Any, shift: int) -> None:
    first = shift - 7 + (closed in ("right", "neither"))
    last = shift - (closed in ("left", "neither"))
    found = START.rolling(rows=7, closed=closed, shift=shift).agg(**SUMS).run(ROWS)
    assert_same_results(found, in_duckdb(f"ROWS BETWEEN {end(first)} AND {end(last)}"))


def test_everything_so_far_is_that_of_duckdb() -> None:
    found = START.rolling("all").agg(**SUMS).run(ROWS)
    assert_same_results(found, in_duckdb("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"))


@pytest.mark.parametrize("closed", ENDS)
def test_ends_are_those_of_pandas(closed: Any) -> None:
    frame = pd.DataFrame({"x": np.arange(50.0)})
    frame["ts"] = pd.to_datetime(np.sort(np.random.default_rng(5).choice(200, 50, replace=False)), unit="s")
    found = wr.query(time="ts").rolling("20s", closed=closed).agg(total=wr.sum("x")).run(frame)
    expected = frame.rolling("20s", on="ts", closed=closed, min_periods=1)["x"].sum()
    assert found["total"].tolist() == pytest.approx(expected.tolist(), nan_ok=True)
    found = wr.query(time="ts").rolling(rows=4, closed=closed).agg(total=wr.sum("x")).run(frame)
    expected = frame["x"].rolling(4, closed=closed, min_periods=1).sum()
    assert found["total"].tolist() == pytest.approx(expected.tolist(), nan_ok=True)


@pytest.mark.parametrize("closed", ENDS)
def test_several_sizes_are_each_what_one_size_gives(closed: Any) -> None:
    sizes = [1, 40, 1_000]
    several = START.rolling(*sizes, closed=closed).agg(**AGGREGATES).run(ROWS)
    for size in sizes:
        single = START.rolling(size, closed=closed).agg(**AGGREGATES).run(ROWS)
        for name in AGGREGATES:
            assert several[f"{name}_{size}"].equals(single[name])


def test_plain_rolling_keeps_its_own_kernels() -> None:
    for plain in (
        START.rolling("1h"),
        START.rolling(rows=3),
        START.rolling("1h", shift="0s", closed="right"),
    ):
        assert plain.rolling_over is not None
        assert plain.rolling_over.frames is None


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: START.rolling("1d", rows=3), TypeError, "one of"),
        (lambda: START.rolling(rows=[1, 2], shift="1h"), TypeError, "number of rows"),
        (lambda: START.rolling("1h", shift=1), ValueError, "size '1h' and shift 1"),
        (lambda: START.rolling("1h", closed="none"), ValueError, "'neither'"),
        (lambda: START.rolling("1h", close="left"), TypeError, "did you mean closed=?"),
        (lambda: START.rolling(rows=[0]), ValueError, "at least 1"),
        (lambda: START.rolling(wr.Policy(lambda t, o: True), closed="left"), TypeError, "a policy"),
        (lambda: START.rolling("1h", "2h").agg(x=wr.count(), x_1h=wr.sum("x_1h")), ValueError, "x_1h"),
    ],
)
def test_errors_name_the_input_and_the_remedy(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_a_policy_takes_no_frames() -> None:
    with pytest.raises(TypeError, match="a policy takes neither several sizes"):
        START.rolling(wr.Policy(lambda total, old: False), closed="left")


def test_a_result_with_the_name_of_a_column_is_refused() -> None:
    rows = ROWS.rename_columns(["ts", "key", "x", "n_40"])
    query = wr.query(time="ts").rolling(40, 80).agg(n=wr.count())
    with pytest.raises(ValueError, match="the table has a column 'n_40' already"):
        query.run(rows)


@pytest.mark.parametrize("sizes", [{"rows": [3, 8]}, {"rows": [1]}, {"size": (20, 70)}])
@pytest.mark.parametrize("threads", [1, 2])
def test_several_sizes_are_what_each_is_by_itself(sizes: Any, threads: int) -> None:
    """Bit for bit, also where rows have no time or no value, and where a result needs several values."""
    times = pa.array([None if k % 17 == 0 else int(t) for k, t in enumerate(ROWS["ts"].to_numpy())])
    numbers = np.random.default_rng(3).random(COUNT)
    values = pa.array([None if k % 5 == 0 else v for k, v in enumerate(numbers)])
    rows = pa.table({"ts": times, "key": ROWS["key"], "x": values, "row": ROWS["row"]})
    start = wr.query(time="ts", by="key", order="row", min_count=2)
    named = {"mean": wr.mean("x"), "median": wr.median("x"), "n": wr.count(), "last": wr.last("x")}
    counts, lengths = sizes.get("rows", ()), sizes.get("size", ())
    frames = start.rolling(rows=counts) if counts else start.rolling(*lengths)
    with pytest.warns(wr.RejectedRows):
        found = frames.agg(**named).run(rows, threads=threads)
    for each in counts or lengths:
        plain = start.rolling(rows=each) if counts else start.rolling(each)
        ending = f"_{each}" if len(counts or lengths) > 1 else ""
        with pytest.warns(wr.RejectedRows):
            wanted = plain.agg(**named).run(rows, threads=threads)
        for name in named:
            assert found[f"{name}{ending}"].combine_chunks().equals(wanted[name].combine_chunks())
