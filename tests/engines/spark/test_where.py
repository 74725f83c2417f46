"""``where=`` on Spark: batches that Spark folds or that Python folds, rolling results, SQL, jobs, streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.test_derived_jobs import on_both
from engines.spark.test_streaming import BATCHES, SCHEMA, expected, query
from support.cli_jobs import write_calls
from support.stream_source import Source
from support.where_jobs import SOME
from windrow.errors import UnknownColumn
from windrow.testing import assert_same_results

FLAGS = [[True, False, None][k % 3] for k in range(60)]
PARTS = [
    b.append_column("some", pa.array(FLAGS)).append_column(
        "gap", pa.array([None if k % 4 == 0 else k for k in range(60)])
    )
    for b in BATCHES
]
ROWS = pa.concat_tables(PARTS)

#: what Spark's own expressions compute
FOLDED = {
    "n": wr.count(where="some"),
    "known": wr.count("gap", where="some"),
    "total": wr.sum("len", where="some"),
    "mean": wr.mean("gap", where="done"),
    "top": wr.max("gap", where="some"),
    "all": wr.sum("len"),
    "rows": wr.count(),
}


def own() -> dict[str, Any]:
    """A user's aggregates; made in a function, so that they travel to workers by value."""
    spread = wr.monoid(
        name="spread",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda a: a[1] - a[0],
        identity=(float("inf"), float("-inf")),
        commutative=True,
    )
    texts = wr.monoid(
        name="texts", lift=str, combine=lambda a, b: a + b, identity="", result_type="string", compile=False
    )
    return {"spread": spread("gap", where="some"), "texts": texts("seq", where="some")}


ANY = FOLDED | {
    "mid": wr.median("gap", where="some"),
    "who": wr.arg_max("gap", value="caller", where="some"),
    "strict": wr.sum("gap", nulls="propagate", where="done"),
    "both": wr.median("gap", nulls="propagate", where="done"),
}
ORDERED = ANY | {"callers": wr.collect("caller", where="some")} | own()


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, f"{SCHEMA}, some boolean, gap long") as found:
        yield found


@pytest.mark.parametrize("least", [0, 3])
def test_windows_that_spark_folds_and_finishes(spark: Any, least: int) -> None:
    for window in (wr.Tumbling("10m"), wr.Sliding("10m", slide="5m")):
        q = wr.query(time="ts", by="region", min_count=least).window(window).agg(**FOLDED)
        frame = spark.createDataFrame(ROWS)
        assert "Spark groups rows by key and slice itself" in q.explain(frame)
        assert_same_results(q.run(frame).toArrow(), q.run(ROWS))


@pytest.mark.parametrize("aggregates", [ANY, ORDERED], ids=["by slices", "in order"])
def test_windows_that_python_folds(spark: Any, aggregates: dict[str, Any]) -> None:
    windows = {"slide": wr.Sliding("10m", slide="5m"), "visit": wr.Session("40s")}
    q = wr.query(time="ts", by="region", order="seq").window(**windows).agg(**aggregates)
    assert_same_results(q.run(spark.createDataFrame(ROWS)).toArrow(), q.run(ROWS))
    unordered = wr.query(time="ts", by="region").window(wr.Tumbling("10m"))
    unordered = unordered.agg(**{k: a for k, a in ANY.items() if k != "who"})
    assert_same_results(unordered.run(spark.createDataFrame(ROWS)).toArrow(), unordered.run(ROWS))


def test_rolling_results(spark: Any) -> None:
    start = wr.query(time="ts", by="region", order="seq", min_count=1)
    policy = wr.Policy(lambda total, old: total.n - old.n >= 3)
    for q in (start.rolling("5m"), start.rolling(rows=5), start.rolling(policy)):
        q = q.agg(**{f"r_{name}": a for name, a in ORDERED.items()}, n=wr.count(where="some"))
        assert_same_results(q.run(spark.createDataFrame(ROWS)).toArrow(), q.run(ROWS))


def test_columns_that_are_not_flags_are_refused_before_a_job_starts(spark: Any) -> None:
    frame = spark.createDataFrame(ROWS)
    for start in (wr.query(time="ts").rolling(rows=3), wr.query(time="ts").window(wr.Tumbling("1h"))):
        with pytest.raises(TypeError, match="where='len': column 'len' is of type int64: give a boolean"):
            start.agg(x=wr.sum("gap", where="len")).run(frame)
        with pytest.raises(UnknownColumn, match="no column 'soem': did you mean 'some'"):
            start.agg(x=wr.count(where="soem")).run(frame)


def test_windows_of_a_stream_and_its_state(source: Source) -> None:
    q = query().window(slide=wr.Sliding("10m", slide="4m"), visit=wr.Session("40s")).agg(**ORDERED)
    source.write(PARTS)
    found, _ = source.run(q.run)
    assert_same_results(found, expected(q, PARTS)[0])


def test_a_stream_does_not_go_on_with_another_where(source: Source) -> None:
    start = query().window(wr.Tumbling("10m"))
    source.write(PARTS[:2])
    source.run(start.agg(n=wr.count(where="some")).run)
    source.write(PARTS[2:])
    with pytest.raises(Exception, match=r"was count\(where='some'\), is count\(where='done'\)"):
        source.run(start.agg(n=wr.count(where="done")).run)


def test_sql(spark: Any) -> None:
    wr.register(spark)
    spark.createDataFrame(ROWS).createOrReplaceTempView("some_calls")
    call = "SELECT * FROM windrow_rolling(TABLE(some_calls) PARTITION BY region ORDER BY ts, time => 'ts', "
    found = spark.sql(f"{call} size => '5m', n => 'count(where=some)', total => 'sum(len, where=some)')")
    q = wr.query(time="ts", by="region").rolling("5m")
    q = q.agg(n=wr.count(where="some"), total=wr.sum("len", where="some"))
    assert_same_results(found.toArrow(), q.run(ROWS))
    with pytest.raises(Exception, match="where='len': column 'len' is of type int64"):
        spark.sql(f"{call} rows => 3, n => 'count(where=len)')")


def test_a_job_gives_the_same_on_both_engines(spark: Any, tmp_path: Path) -> None:
    write_calls(tmp_path)
    found, local = on_both(tmp_path, SOME)
    assert found.num_rows > 5
    assert_same_results(found, local)
