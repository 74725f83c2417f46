"""Jobs with ``[asof]`` and ``[at]``, and with ``[rolling]`` over several sizes, other ends or a shift."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import windrow as wr
from support.asof_jobs import ASOF, labels, payments, write_payments
from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.errors import JobError
from windrow.cli.execution.local.files import read_batches
from windrow.cli.job import read_job
from windrow.cli.main import main
from windrow.testing import assert_same_results, no_leak

BY_USER = wr.query(time="ts", by="user")
AGGREGATES: dict[str, Any] = {"spent": wr.sum("amount"), "n": wr.count()}
SIZES = 'size = ["1d", "7d"]\nlag = "1h"\n'
AT = ASOF[ASOF.index("[at]") : ASOF.index("[agg]")]


def results(folder: Path, text: str, *options: str) -> pa.Table:
    write_payments(folder)
    job = write_job(folder, text)
    assert main(["run", str(job), "--engine", "local", "--quiet", *options]) == 0
    return pa.concat_tables(pq.read_table(part) for part in (folder / "results").glob("*.parquet"))


FRAMES = [
    (SIZES, BY_USER.asof("1d", "7d", lag="1h")),
    ('size = "7d"\nclosed = "both"\n', BY_USER.asof("7d", closed="both")),
    ('size = { day = "1d", ever = "all" }\n', BY_USER.asof(day="1d", ever="all")),
    ('direction = "forward"\n[asof.size]\nweek = "7d"\n', BY_USER.asof(week="7d", direction="forward")),
    ('rows = 3\nclosed = "right"\n', BY_USER.asof(rows=3, closed="right")),
    ("rows = [1, 4]\n", BY_USER.asof(rows=[1, 4])),
    ('size = "1mo"\ntimezone = "Europe/Berlin"\n', BY_USER.asof("1mo", timezone="Europe/Berlin")),
]


@pytest.mark.parametrize(("text", "query"), FRAMES)
def test_a_job_gives_what_the_query_gives(tmp_path: Path, text: str, query: wr.Query) -> None:
    found = results(tmp_path, ASOF.replace(SIZES, text))
    with pytest.warns(wr.RejectedRows):
        expected = query.agg(**AGGREGATES).run(payments(), at=labels(), at_time="decided_at", at_by="user_id")
    assert found.column_names == expected.column_names
    assert found.to_pylist() == expected.to_pylist()


def test_no_label_of_a_job_sees_its_future(tmp_path: Path) -> None:
    write_payments(tmp_path)
    job = write_job(tmp_path, ASOF)

    def run(known: pa.Table, asked: pa.Table) -> pa.Table:
        pq.write_table(known, tmp_path / "payments" / "a.parquet")
        (tmp_path / "payments" / "b.parquet").unlink(missing_ok=True)
        pq.write_table(asked, tmp_path / "labels.parquet")
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
        assert main(["run", str(job), "--engine", "local", "--quiet"]) == 0
        return pa.concat_tables(pq.read_table(part) for part in (tmp_path / "results").glob("*.parquet"))

    query = BY_USER.asof("1d", "7d", lag="1h").agg(**AGGREGATES)
    # a job refuses files without rows: each of these labels sees some
    asked = labels().filter(pc.field("user_id") != "eve").slice(10)
    no_leak(query, payments(), asked, at_time="decided_at", at_by="user_id", run=run, most=3)


ROLLING = [
    ('size = ["1d", "7d"]', BY_USER.rolling("1d", "7d")),
    ('size = { day = "1d" }\nclosed = "left"', BY_USER.rolling(day="1d", closed="left")),
    ('size = "1d"\nclosed = "both"\nshift = "-1h"', BY_USER.rolling("1d", closed="both", shift="-1h")),
    ('size = "1mo"\ntimezone = "Europe/Berlin"', BY_USER.rolling("1mo", timezone="Europe/Berlin")),
    ("rows = [2, 5]", BY_USER.rolling(rows=[2, 5])),
    ("rows = 3\nshift = 1", BY_USER.rolling(rows=3, shift=1)),
    ('size = "1d"', BY_USER.rolling("1d")),
]


@pytest.mark.parametrize(("text", "query"), ROLLING)
def test_rolling_jobs_take_sizes_ends_and_shifts(tmp_path: Path, text: str, query: wr.Query) -> None:
    job = ASOF.replace(f"[asof]\n{SIZES}", f"[rolling]\n{text}\n").replace(AT, "")
    expected = query.agg(**AGGREGATES).run(payments())
    assert_same_results(results(tmp_path, job), expected)


def test_the_job_of_the_guide(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "job-windows.md").read_text()
    text = guide.partition("## `[asof]`")[2].partition("```toml\n")[2].partition("```")[0]
    text = text.replace('"reports"', '"labels.parquet"').replace('"train"', '"results"')
    query = BY_USER.asof("1d", "7d").agg(**AGGREGATES)
    with pytest.warns(wr.RejectedRows):
        expected = query.run(payments(), at=labels(), at_time="decided_at", at_by="user_id")
    assert results(tmp_path, text).to_pylist() == expected.to_pylist()


def test_labels_have_the_columns_of_the_query_by_default(tmp_path: Path) -> None:
    job = read_job(write_job(tmp_path, ASOF.replace('time = "decided_at"\nby = "user_id"\n', "")))
    assert job.labels is not None
    assert (job.labels.time, job.labels.by) == ("ts", ("user",))


def test_labels_are_derived_and_left_out_as_rows_are(tmp_path: Path) -> None:
    text = ASOF.replace('by = "user_id"\n', 'by = "who"\nwhere = "who <> \'eve\' and not is_fraud"\n')
    text = text.replace("[agg]", '[at.columns]\nwho = "lower(user_id)"\n\n[agg]')
    found = results(tmp_path, text)
    kept = [row for row in labels().to_pylist() if row["user_id"] != "eve" and not row["is_fraud"]]
    expected = BY_USER.asof("1d", "7d", lag="1h").agg(**AGGREGATES)
    points = pa.Table.from_pylist(kept, labels().schema).append_column(
        "who", pa.array([row["user_id"] for row in kept])
    )
    assert (
        found.to_pylist()
        == expected.run(payments(), at=points, at_time="decided_at", at_by="who").to_pylist()
    )


WRONG = [
    ("an unknown key", "lag = ", "lga = ", ":11: [asof] lga", "did you mean 'lag'?"),
    ("an unknown key of labels", 'by = "user_id"', 'bye = "user_id"', ":17: [at] bye", "did you mean 'by'?"),
    ("an unknown table", "[at]", "[att]", ":13: [att]", "did you mean 'at'?"),
    ("a stream of labels", 'by = "user_id"', "stream = true", ":17: [at] stream", "not known"),
    ("no labels", AT, "", ":9: [asof]", "the table [at] is missing"),
    ("labels alone", "[asof]\n" + SIZES, '[rolling]\nsize = "1d"\n', ":12: [at]", "write [asof]"),
    ("both", "[at]", '[rolling]\nsize = "1d"\n\n[at]', ":9: [asof]", "there is [rolling], too"),
    ("no size", SIZES, "", ":9: [asof]", "give size"),
    ("size and rows", 'lag = "1h"', "rows = 3", ":9: [asof]", "and not both"),
    ("a size", '"7d"]', '"7x"]', ":10: [asof] size", "'7x'"),
    ("a size beyond 64 bits", '"7d"]', '"9223372036854775807d"]', ":10: [asof] size", "64 bits"),
    ("a lag beyond 64 bits", 'lag = "1h"', 'lag = "9223372036854775807d"', ":11: [asof] lag", "64 bits"),
    ("a flag for a size", '"7d"]', "true]", ":10: [asof] size", "not a size"),
    ("no sizes", '["1d", "7d"]', "[]", ":10: [asof] size", "empty"),
    ("the same size", '"7d"]', '"1d"]', ":10: [asof] size", "two sizes are named '1d'"),
    ("a setting as a name", '["1d", "7d"]', '{ rows = "1d" }', ":10: [asof] size", "name of a setting"),
    ("a lag", 'lag = "1h"', 'lag = "-1h"', ":11: [asof] lag", "future"),
    ("ends", 'lag = "1h"', 'closed = "rigth"', ":11: [asof] closed", "did you mean 'right'?"),
    ("a direction", 'lag = "1h"', 'direction = "back"', ":11: [asof] direction", "backward"),
    ("a zone", 'lag = "1h"', 'timezone = "Europe/Berlinn"', ":11: [asof] timezone", "Berlinn"),
    ("no rows", SIZES, "rows = 0\n", ":10: [asof] rows", "1 or more"),
    ("another number of keys", '"user_id"', '["user_id", "b"]', ":17: [at] by", "names 2 columns"),
    ("no path", 'path = "labels.parquet"', "", ":13: [at] path", "say where the parquet files are"),
    ("an endless format", '[at]\nformat = "parquet"', '[at]\nformat = "rate"', ":14: [at] format", "endless"),
    (
        "an unknown column",
        "[agg]",
        '[at.schema]\nuser = "string"\ndecided_at = "timestamp"\n[agg]',
        ":17: [at] by",
        "the labels have no column 'user_id': did you mean",
    ),
    (
        "a result that is a label's column",
        "[agg]",
        '[at.schema]\nuser_id = "string"\ndecided_at = "timestamp"\nn_1d = "long"\n[agg]',
        ":13: [at]",
        "the labels have a column 'n_1d' already",
    ),
    (
        "times that are text",
        "[agg]",
        '[at.schema]\nuser_id = "string"\ndecided_at = "string"\n[agg]',
        ":16: [at] time",
        "is of type string",
    ),
    (
        "code",
        'by = "user_id"',
        "by = \"user_id\"\nwhere = \"reflect('a', 'b')\"",
        ":18: [at] where",
        "can run code",
    ),
    (
        "a misspelt expression",
        'by = "user_id"',
        'by = "user_id"\nwhere = "is_fraud ="',
        ":18: [at] where",
        "is_fraud =",
    ),
]


@pytest.mark.parametrize(("what", "old", "new", "place", "hint"), WRONG, ids=[case[0] for case in WRONG])
def test_errors_name_the_key_and_its_line(
    tmp_path: Path, what: str, old: str, new: str, place: str, hint: str
) -> None:
    assert old in ASOF
    with pytest.raises(JobError) as caught:
        read_job(write_job(tmp_path, ASOF.replace(old, new, 1)))
    assert f"calls.toml{place}" in str(caught.value)
    assert hint in str(caught.value)


STREAM = GOOD[: GOOD.index("[[window]]")], GOOD[GOOD.index("[agg]") :]


OF_LABELS = [
    (f'[asof]\nsize = "7d"\n\n{AT}', ":23: [at] schema", "a stream of files needs [at.schema]"),
    (f'[asof]\nrows = 3\ndirection = "forward"\n\n{AT}', ":22: [asof] direction", "have no end on a stream"),
]


@pytest.mark.parametrize(("table", "place", "hint"), OF_LABELS)
def test_streams_refuse_labels_by_line(tmp_path: Path, table: str, place: str, hint: str) -> None:
    head, tail = STREAM
    with pytest.raises(JobError) as caught:
        read_job(write_job(tmp_path, head + table + tail))
    assert f"calls.toml{place}" in str(caught.value)
    assert hint in str(caught.value)


ON_STREAMS = [
    'size = ["1h", "2h"]\nclosed = "left"',
    'size = { hour = "1h", ever = "all" }\nclosed = "both"\nshift = "30m"',
    "rows = [2, 5]\nshift = 1",
]


@pytest.mark.parametrize("text", ON_STREAMS)
def test_streams_take_sizes_ends_and_shifts(tmp_path: Path, text: str) -> None:
    write_calls(tmp_path)
    job = write_job(tmp_path, f"{STREAM[0]}[rolling]\n{text}\n\n{STREAM[1]}")
    query, rows = read_job(job).query, pa.concat_tables(read_batches(read_job(job).source, 1_000))
    assert main(["run", str(job), "--engine", "local", "--quiet"]) == 0
    (written,) = (tmp_path / "results").glob("part-*.parquet")
    assert_same_results(pq.read_table(written), query.run(rows))
    assert main(["replay", str(job), "--engine", "local", "--speed", "max", "--quiet"]) == 0


def test_labels_of_a_stream_are_one_and_run_on_spark_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, tail = STREAM
    schema = 'decided_at = "timestamp"\nuser_id = "string"\n'
    text = f'{head}[asof]\nsize = "7d"\n\n{AT}[at.schema]\n{schema}\n{tail}'
    job = read_job(write_job(tmp_path, text))
    assert job.labels is not None
    assert job.labels.source.is_stream
    assert main(["run", str(tmp_path / "calls.toml"), "--engine", "local", "--quiet"]) == 2
    assert "as-of windows on streams run on Spark alone" in capsys.readouterr().err


def test_a_policy_takes_no_ends(tmp_path: Path) -> None:
    head, tail = STREAM
    rolling = '[rolling]\nevict_while = "total.n - old.n >= 3"\nclosed = "left"\n\n'
    with pytest.raises(JobError, match=r":22: \[rolling\] closed: a policy"):
        read_job(write_job(tmp_path, head + rolling + tail))


def test_check_explain_and_replay_know_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_payments(tmp_path)
    job = str(write_job(tmp_path, ASOF))
    assert main(["check", job, "--engine", "local"]) == 0
    said = capsys.readouterr().out
    assert "as-of windows, 2 aggregates, parquet and labels of parquet to parquet" in said
    assert "100 rows (of the source) and 41 labels (of [at]) gave 41 results" in said
    assert "note" in said  # the label without a time
    assert main(["explain", job]) == 0
    said = capsys.readouterr().out
    assert "labels: parquet at " in said
    assert "  time: decided_at, by user_id" in said
    assert "1d: [t - 1h - 24h, t - 1h)" in said
    assert main(["replay", job]) == 2
    assert "[asof]: a replay is a stream" in capsys.readouterr().err


def test_labels_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_payments(tmp_path)
    job = str(write_job(tmp_path, ASOF.replace("labels.parquet", "lables.parquet")))
    assert main(["run", job, "--engine", "local"]) == 2
    assert "[at] path: there are no parquet files" in capsys.readouterr().err


def test_the_report_draws_each_size_at_the_labels(tmp_path: Path) -> None:
    results(tmp_path, ASOF, "--report", str(tmp_path / "report.html"))
    text = (tmp_path / "report.html").read_text()
    assert "a result for every label" in text
    for name in ("spent_1d", "spent_7d", "n_1d", "n_7d"):
        assert f"{name} = " in text
    assert ", at each label" in text


def test_secrets_of_labels_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LABELS_WORD", "swordfish")
    text = ASOF.replace("[agg]", '[at.options]\nword = { env = "LABELS_WORD" }\n\n[agg]')
    assert main(["explain", str(write_job(tmp_path, text))]) == 0
    assert "swordfish" not in capsys.readouterr().out
