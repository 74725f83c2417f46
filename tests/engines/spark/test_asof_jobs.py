"""Jobs with as-of windows, and with rolling over several sizes, on Spark: the results of the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from support.asof_jobs import ASOF, labels, payments, write_payments
from support.cli_jobs import write_job
from windrow.cli.main import main
from windrow.testing import assert_same_results

PAYMENTS = '\n[source.schema]\nts = "timestamp"\nuser = "string"\namount = "long"\n'
REPORTS = '\n[at.schema]\nuser_id = "string"\ndecided_at = "timestamp"\nis_fraud = "boolean"\n'
BY_USER = wr.query(time="ts", by="user")
AGGREGATES: dict[str, Any] = {"spent": wr.sum("amount"), "n": wr.count()}


def results(folder: Path, text: str, schema: pa.Schema) -> pa.Table:
    """What a job writes; Spark writes times in a form of its own, which Arrow reads without their zone."""
    write_payments(folder)
    assert main(["run", str(write_job(folder, text)), "--quiet"]) == 0
    parts = [pq.read_table(part) for part in sorted((folder / "results").glob("part-*.parquet"))]
    return pa.concat_tables(part for part in parts if part.num_rows).cast(schema)


def test_a_job_of_labels_gives_what_the_query_gives(spark: Any, tmp_path: Path) -> None:
    text = ASOF.replace('by = "user_id"\n', 'by = "who"\nwhere = "not is_fraud"\n')
    text = text.replace("[agg]", '[at.columns]\nwho = "lower(user_id)"\n\n[agg]')
    points = labels().append_column("who", labels().column("user_id"))
    points = points.filter(pa.array([not flag for flag in points.column("is_fraud").to_pylist()]))
    query = BY_USER.asof("1d", "7d", lag="1h").agg(**AGGREGATES)
    expected = query.run(payments(), at=points, at_time="decided_at", at_by="who")
    assert_same_results(results(tmp_path, text, expected.schema), expected)


@pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")
def test_a_job_of_streams_gives_what_tables_give(spark: Any, tmp_path: Path) -> None:
    """No row is late, and events go on beyond the last label."""
    (tmp_path / "asked").mkdir()
    pq.write_table(labels(), tmp_path / "asked" / "0.parquet")
    text = ASOF.replace('path = "payments"\n', f'path = "payments"\nstream = true\n{PAYMENTS}')
    text = text.replace('by = ["user"]', 'by = ["user"]\nwatermark = "1h"')
    text = text.replace('by = "user_id"\n', f'by = "user_id"\n{REPORTS}').replace("labels.parquet", "asked")
    text = text.replace("[spark]", 'checkpoint = "checkpoint"\ntrigger = "available_now"\n\n[spark]')
    query = BY_USER.asof("1d", "7d", lag="1h").agg(**AGGREGATES)
    expected = query.run(payments(), at=labels(), at_time="decided_at", at_by="user_id")
    assert_same_results(results(tmp_path, text, expected.schema), expected)


def test_a_rolling_job_of_several_sizes(spark: Any, tmp_path: Path) -> None:
    head, tail = ASOF[: ASOF.index("[asof]")], ASOF[ASOF.index("[agg]") :]
    rolling = '[rolling]\nsize = { day = "1d", week = "7d" }\nclosed = "left"\nshift = "-1h"\n\n'
    expected = (
        BY_USER.rolling(day="1d", week="7d", closed="left", shift="-1h").agg(**AGGREGATES).run(payments())
    )
    assert_same_results(results(tmp_path, head + rolling + tail, expected.schema), expected)


@pytest.mark.parametrize(("table", "count"), [("[at]\n", 0), ("[source]\n", 41)])
def test_jobs_of_which_where_leaves_no_label_or_no_event(
    spark: Any, tmp_path: Path, table: str, count: int
) -> None:
    write_payments(tmp_path)
    text = ASOF.replace(table, f'{table}where = "1 > 2"\n')
    for engine in ("spark", "local"):
        job = write_job(tmp_path, text.replace('"results"', f'"{engine}"'))
        assert main(["run", str(job), "--engine", engine, "--quiet"]) == 0
        found = [pq.read_table(part) for part in (tmp_path / engine).glob("*.parquet")]
        assert sum(part.num_rows for part in found) == count


def test_explain_shows_what_runs_on_spark(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_payments(tmp_path)
    assert main(["explain", str(write_job(tmp_path, ASOF)), "--spark"]) == 0
    said = capsys.readouterr().out.split("on Spark:")[1]
    assert "as-of windows: a result per label" in said
    assert "spent = sum('amount')" in said
