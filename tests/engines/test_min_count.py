"""``min_count``: a result over fewer values is null. An aggregate has its own, or that of ``.rolling(...)``,
or that of the query, on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.engine_checks import check_engines
from support.oracle_checks import check
from windrow.cli.job.read import read_job
from windrow.errors import ChangedQuery
from windrow.spec_text import aggregate_of
from windrow.testing import assert_same_results, evaluate

ROWS = pa.table(
    {
        "t": [1, 2, 3, 5, 11, 12, 30],
        "v": pa.array([1.0, None, 3.0, 5.0, 7.0, None, 9.0]),
        "ok": [True, True, False, True, False, True, None],
    }
)


def test_rolling_takes_a_min_count() -> None:
    for over in ({"size": 4}, {"rows": 3}, {"policy": lambda total, old: total.n > 3}):
        check(wr.query(time="t").rolling(**over, min_count=2).agg(m=wr.mean("v"), n=wr.count()), ROWS)
    check(wr.query(time="t", min_count=5).rolling(4, 8, min_count=2, closed="left").agg(m=wr.mean("v")), ROWS)
    with pytest.raises(ValueError, match="min_count=-1: give a whole number, 0 or more"):
        wr.query(time="t").rolling("1h", min_count=-1)


def test_min_count_of_aggregates_on_tables_and_operators() -> None:
    check_engines(
        ROWS,
        mean=wr.mean("v", min_count=2),
        first=wr.first("v", min_count=2),
        found=wr.collect("v", min_count=2),
        about=wr.approx_distinct("v", min_count=2),
        n=wr.count(min_count=3),
        flagged=wr.sum("v", where="ok", min_count=2),
        both=wr.together(total=wr.sum, n=wr.count)("v", min_count=2),
        strict=wr.sum("v", nulls="propagate", min_count=2),
    )


def test_min_count_of_aggregates_as_of_labels_and_in_a_store_of_rolling_windows() -> None:
    aggregates: dict[str, Any] = {
        "m": wr.mean("v", min_count=2),
        "n": wr.count(min_count=2),
        "all": wr.count(),
    }
    labels = pa.table({"t": [0, 3, 6, 31]})
    query = wr.query(time="t").asof(5, "all").agg(**aggregates)
    operator = query.open()
    operator.push(ROWS)
    for found in (query.run(ROWS, at=labels), operator.at(labels)):
        assert_same_results(found, evaluate(query, ROWS, at=labels))
    stored = wr.query(time="t").rolling(4, store=wr.state.MemoryStore()).agg(**aggregates)
    assert_same_results(stored.run(ROWS), evaluate(wr.query(time="t").rolling(4).agg(**aggregates), ROWS))


def test_min_count_is_written_and_read_again() -> None:
    query = wr.query(time="t", min_count=2).rolling(rows=3)
    query = query.agg(a=wr.mean("v"), b=wr.mean("v", min_count=0), c=wr.count(where="ok", min_count=4))
    assert repr(query) == (
        "wr.query(time='t', min_count=2).rolling(rows=3)"
        ".agg(a=mean('v'), b=mean('v', min_count=0), c=count(where='ok', min_count=4))"
    )
    assert aggregate_of("mean(v, min_count=3)") == wr.mean("v", min_count=3)
    with pytest.raises(ValueError, match=r"min_count=1\.5: give a whole number, 0 or more"):
        wr.mean("v", min_count=1.5)
    with pytest.raises(TypeError, match=r"mean\('v', min_count=3\): min_count= is for queries"):
        wr.swag.DABA(wr.mean("v", min_count=3))


def test_a_snapshot_of_another_min_count_is_refused() -> None:
    tens = wr.query(time="t").window(wr.Tumbling(10))
    snapshot = tens.agg(m=wr.mean("v", min_count=3)).open().snapshot()
    tens.agg(m=wr.mean("v", min_count=3)).restore(snapshot)
    with pytest.raises(ChangedQuery, match=r"aggregate 'm' was mean\(v\), min_count=3, is mean\(v\)"):
        tens.agg(m=wr.mean("v")).restore(snapshot)


def test_min_count_in_a_job_file(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        '[source]\nformat = "parquet"\npath = "in"\n[events]\ntime = "t"\n'
        "[rolling]\nrows = 3\nmin_count = 2\n"
        '[agg]\nm = "mean(v)"\nn = "count(min_count=3)"\n[sink]\nformat = "parquet"\npath = "out"\n'
    )
    asked = read_job(job).query
    assert repr(asked) == (
        "wr.query(time='t', min_count=2).rolling(rows=3).agg(m=mean('v'), n=count(min_count=3))"
    )
