"""``where``, derived columns, Kafka's values in job files: read, checked, explained, run without Spark."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from support.derived_jobs import AVRO, CHAINED, DERIVED, avro_job, guide_job, kafka_job, write_guide_rows
from windrow.cli.commands.sample import JOB
from windrow.cli.derived import computed_columns
from windrow.cli.errors import JobError
from windrow.cli.execution.spark.progress import step_of
from windrow.cli.job import KAFKA_COLUMNS, read_job
from windrow.cli.main import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_calls(tmp_path)
    return tmp_path


def results(folder: Path) -> list[dict[str, Any]]:
    (part,) = folder.glob("part-*.parquet")
    rows: list[dict[str, Any]] = pq.read_table(part).to_pylist()
    return rows


#: what Spark needs to read Kafka
KAFKA = ["--conf", "spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"]


def with_where(text: str, where: str) -> str:
    return text.replace("stream = true\n", f"stream = true\nwhere = {json.dumps(where)}\n", 1)


def with_column(text: str, name: str, expression: str) -> str:
    return text.replace("[events]\n", f"[source.columns]\n{name} = {json.dumps(expression)}\n\n[events]\n", 1)


# -- runs ----------------------------------------------------------------------------------------------------


def test_rows_left_out_are_counted_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["run", str(write_job(folder, DERIVED)), "--engine", "local", "--batch-rows", "60", "--json"])
        == 0
    )
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    steps = [event for event in events if event["event"] == "progress"]
    assert [step["rows"] + step["filtered"] for step in steps] == [121, 0]  # and one without data
    end = events[-1]
    assert end["rows"] + end["filtered"] == 121
    assert 0 < end["filtered"] < 121
    found = results(folder / "results")
    assert {row["region"] for row in found} == {"NORTH"}
    assert "c3" not in {row["who"] for row in found}
    assert max(row["mean"] for row in found) < 101 / 60


def test_a_finite_table_whose_rows_are_all_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = with_where(GOOD, "len < 0").replace("stream = true", "stream = false")
    text = text.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")
    assert main(["run", str(write_job(folder, text)), "--engine", "local"]) == 0
    assert "done: 0 rows" in (said := capsys.readouterr().err)
    assert "121 filtered" in said
    assert results(folder / "results") == []


def test_the_job_of_the_guide_runs(tmp_path: Path) -> None:
    write_guide_rows(tmp_path)
    assert main(["run", str(write_job(tmp_path, guide_job())), "--engine", "local", "--quiet"]) == 0
    found = results(tmp_path / "results")
    assert {row["region"] for row in found} == {"NORTH", "SOUTH"}
    assert {(row["length"], row["longest"]) for row in found} == {("short", 12), ("long", 75), ("long", 600)}


def test_a_value_without_a_result_names_the_expression(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = with_column(GOOD, "len", "1 / (len - 37)")
    assert main(["run", str(write_job(folder, text)), "--engine", "local", "--quiet"]) == 1
    assert "[source.columns] len = '1 / (len - 37)': division by zero" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            with_where(GOOD, "caller rlike 'c.*'"),
            "[source] where: rlike at character 8 is known to Spark alone",
        ),
        (
            with_column(GOOD, "len", "hash(len)"),
            "[source.columns] len: the function 'hash' is known to Spark alone",
        ),
        (
            with_where(GOOD, "len > 3") + '\n[spark.conf]\n"spark.sql.ansi.enabled" = false\n',
            "[spark.conf] spark.sql.ansi.enabled = 'false' changes what expressions mean",
        ),
        (
            with_where(GOOD, "len > 3") + '\n[spark.conf]\n"spark.sql.session.timeZone" = "Europe/Berlin"\n',
            "spark.sql.session.timeZone",
        ),
    ],
)
def test_the_local_engine_refuses_what_it_would_not_do_as_spark(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    assert main(["run", str(write_job(folder, text)), "--engine", "local", "--quiet"]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert "run this job on Spark" in message
    assert not list(folder.glob("results/*"))


def test_a_column_that_only_spark_knows_and_nothing_reads_is_no_obstacle(folder: Path) -> None:
    text = with_column(GOOD, "extra", "hash(len)")
    assert main(["run", str(write_job(folder, text)), "--engine", "local", "--quiet"]) == 0


def test_types_that_are_guessed_are_not_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = with_where(GOOD, "len > 3").replace("stream = true", "stream = false")
    text = text.replace('checkpoint = "checkpoint"\ntrigger = "available_now"\n', "")
    begin, end = text.index("[source.schema]"), text.index("[events]")
    file = write_job(folder, text[:begin] + text[end:])
    assert main(["run", str(file), "--engine", "local", "--quiet"]) == 2
    assert "where and columns need it on the local engine" in capsys.readouterr().err


def test_a_replay_applies_the_same_expressions(folder: Path) -> None:
    text = with_where(GOOD, "caller <> 'c3'").replace('ts = "timestamp"', 'at = "string"')
    text = with_column(text, "ts", "to_timestamp(at)")
    text = text.replace("header = true", "header = true\nmaxFilesPerTrigger = 1")  # as a replay at full speed
    for file in (folder / "data").glob("*.csv"):
        file.write_text(file.read_text().replace("ts,", "at,"))
    job = write_job(folder, text)
    assert main(["run", str(job), "--engine", "local", "--quiet"]) == 0
    out = folder / "replayed"
    assert (
        main(["replay", str(job), "--engine", "local", "--speed", "max", "--quiet", "--out", str(out)]) == 0
    )
    assert results(out) == results(folder / "results")
    assert "c3" not in {row["who"] for row in results(out)}


# -- files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (with_where(GOOD, "len >"), ":5: [source] where: 'len >': this ends too early"),
        (with_where(GOOD, "lne > 3"), "the source has no column 'lne': did you mean 'len'?"),
        (with_where(GOOD, "len + 1"), "[source] where: 'len + 1': this is bigint: it must be true or false"),
        (with_where(GOOD, ""), "[source] where: this is empty"),
        (
            with_column(GOOD, "twice", "lenn * 2"),
            "[source.columns] twice: 'lenn * 2': the source has no column 'lenn'",
        ),
        (with_column(GOOD, "nothing", "null"), "null has no type"),
        (
            with_column(GOOD, "a", "b").replace('a = "b"', 'a = "b"\nb = "len"'),
            "the source has no column 'b'",
        ),
        (with_column(GOOD, "a", "len").replace('a = "len"', 'a = "len"\nA = "len"'), "this is 'a' again"),
        (with_column(GOOD, "a", "len").replace('a = "len"', "a = 3"), "3 is a whole number: give text"),
        (GOOD.replace("max(len)", "max(lenn)"), "the source has no column 'lenn'"),
        (
            GOOD.replace("[events]", '[source.value]\nformat = "json"\n\n[events]', 1),
            "[source] value: this is for kafka, whose values are bytes: 'csv' has columns",
        ),
        (kafka_job().replace('"json"', '"protobuf"', 1), "[source.value] format: 'protobuf' is not known"),
        (kafka_job().replace('"json"', '"avro"', 1), "[source.value] schema: this key is missing"),
        (avro_job("none.avsc"), "none.avsc cannot be read: No such file or directory"),
        (avro_job("{ not JSON"), "this is not a schema of Avro, which is JSON"),
        (avro_job('{"type": "string"}'), "give the schema of a record"),
        (avro_job(AVRO.replace('"len"', '"length"')), "has no field 'len'"),
        (avro_job(AVRO.replace(', "logicalType": "timestamp-micros"', "")), "take it for seconds"),
        (
            kafka_job().replace('format = "json"', "format = 'json'\nschema = 'call.avsc'", 1),
            "[source.value] schema: this is for avro",
        ),
        (kafka_job().replace('ts = "timestamp"', 'kafka_key = "string"', 1), "a column of Kafka's own"),
        (kafka_job().replace("kafka_topic", "kafka_topc"), "did you mean 'kafka_topic'?"),
    ],
)
def test_wrong_files_are_refused_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(JobError) as caught:
        read_job(write_job(tmp_path, text))
    assert said in str(caught.value)


def test_the_schema_of_avro_values_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "call.avsc").write_text(AVRO)
    for text in (avro_job("call.avsc"), avro_job(AVRO)):
        source = read_job(write_job(tmp_path, text)).source
        assert source.value is not None
        assert source.value.schema == AVRO
        assert [name for name, _ in source.read_columns[:3]] == ["ts", "region", "len"]


def test_derived_columns_count_as_columns_of_the_source(tmp_path: Path) -> None:
    job = read_job(write_job(tmp_path, DERIVED))
    assert [name for name, _ in job.source.columns] == ["region", "minutes", "unused"]
    assert [name for name, _ in computed_columns(job)] == ["region", "minutes"]
    late = read_job(write_job(tmp_path, DERIVED.replace("[[window]]", 'late = "emit"\n\n[[window]]', 1)))
    assert len(computed_columns(late)) == 3


def test_what_only_spark_reads_keeps_every_column(tmp_path: Path) -> None:
    text = with_column(GOOD, "a", "len + 1").replace('a = "len + 1"', 'a = "len + 1"\nlen = "hash(a)"')
    assert [name for name, _ in computed_columns(read_job(write_job(tmp_path, text)))] == ["a", "len"]


def test_the_options_of_a_new_job_can_be_uncommented(tmp_path: Path) -> None:
    text = JOB.replace("# where", "where").replace("# [source.columns]", "[source.columns]")
    text = text.replace('# minutes = "', 'minutes = "').replace('# region = "', 'region = "')
    job = read_job(write_job(tmp_path, text))
    assert job.source.where == "len > 0"
    assert job.source.columns == (("minutes", "len / 60"), ("region", "upper(region)"))


# -- check and explain ---------------------------------------------------------------------------------------


def test_check_tries_the_expressions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(write_job(folder, DERIVED)), "--engine", "local"]) == 0
    said = capsys.readouterr().out
    assert "ok    expressions: 3 derived columns; 34 of 60 rows stay" in said
    assert "ok    dry run: 34 rows (of the source)" in said


def test_a_chain_of_derived_columns_takes_no_longer_with_each_of_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_job(folder, CHAINED)
    start = time.perf_counter()
    assert main(["check", str(file)]) == 0
    assert "ok    expressions: 31 derived columns; 34 of 60 rows stay" in capsys.readouterr().out
    assert main(["explain", str(file)]) == 0
    assert "  derived: c30 = " in capsys.readouterr().out
    assert main(["run", str(file), "--engine", "local", "--quiet"]) == 0
    assert time.perf_counter() - start < 30  # it took hours
    plain = with_column(with_where(GOOD, "c30 between 1 and 4"), "c30", "len % 7")
    plain = plain.replace('n = "count()"', 'n = "count()"\nchained = "sum(c30)"').replace(
        '"results"', '"plain"'
    )
    assert main(["run", str(write_job(folder, plain, "plain.toml")), "--engine", "local", "--quiet"]) == 0
    assert results(folder / "results") == results(folder / "plain")


def test_check_refuses_a_plan_that_is_too_large_for_spark(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = "len"
    for _ in range(20):
        deep = f"case {deep} when 3 then 1 when 4 then 3 else 4 end"
    file = write_job(folder, with_column(GOOD, "len", deep))
    assert main(["check", str(file)]) == 2
    said = capsys.readouterr().err
    assert "[source.columns] len: 'case case case" in said
    assert "more than 10,000 names, literals and operators, since Spark repeats the operands of case" in said
    assert main(["check", str(file), "--engine", "local"]) == 0


def test_check_passes_what_only_spark_knows_with_a_note(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_job(folder, with_where(with_column(GOOD, "len", "hash(len)"), "caller rlike 'c.*'"))
    assert main(["check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "note  [source.columns] len: the function 'hash' is known to Spark alone" in said
    assert "note  [source] where: rlike" in said
    assert "skip  dry run: column 'len' can be computed on Spark alone" in said
    assert main(["check", str(write_job(folder, with_where(GOOD, "caller rlike 'c.*'"), "where.toml"))]) == 0
    assert "skip  where: it was not applied to these rows" in capsys.readouterr().out
    assert main(["check", str(file), "--engine", "local"]) == 2
    assert "[source.columns] len: the function 'hash'" in capsys.readouterr().err


def test_check_finds_columns_that_parquet_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"ts": [1, 2], "len": [3, 4]}), tmp_path / "data" / "a.parquet")
    text = (
        '[source]\nformat = "parquet"\npath = "data"\nwhere = "lenn > 3"\n[events]\ntime = "ts"\n'
        '[[window]]\nkind = "tumbling"\nsize = 10\n[agg]\nn = "count()"\n[sink]\nformat = "noop"\n'
    )
    assert main(["check", str(write_job(tmp_path, text))]) == 2
    assert "[source] where: 'lenn > 3': the source has no column 'lenn'" in capsys.readouterr().err
    assert main(["check", str(write_job(tmp_path, text.replace("lenn", "len")))]) == 0
    assert "1 of 2 rows stay" in capsys.readouterr().out


def test_check_and_explain_know_the_columns_of_kafkas_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_job(tmp_path, kafka_job())
    assert main(["check", str(file), *KAFKA]) == 0
    said = capsys.readouterr().out
    assert "ok    expressions: 0 derived columns; 8 of 8 rows stay" in said
    assert "8 rows (made up from the schema)" in said
    assert main(["explain", str(file)]) == 0
    said = capsys.readouterr().out
    assert "  from values: json; beside them kafka_key, kafka_topic, kafka_partition" in said
    assert "  where: kafka_topic <> 'calls-test'" in said
    assert main(["check", str(file), "--engine", "local"]) == 2
    assert len(KAFKA_COLUMNS) == 5


def test_rows_made_up_from_a_schema_may_not_suit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = with_column(kafka_job(), "len", "cast(region as int)")
    assert main(["check", str(write_job(tmp_path, text)), *KAFKA]) == 0
    assert (
        "skip  dry run: rows made up from the schema do not suit [source.columns] len"
        in capsys.readouterr().out
    )


def test_explain_says_what_is_made_of_the_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(write_job(folder, DERIVED))]) == 0
    said = capsys.readouterr().out
    assert "  derived: minutes = len / 60\n" in said
    assert "  derived: unused = len / (len - len) (not computed: nothing reads it)\n" in said
    assert "  where: caller <> 'c3' and region = 'NORTH'\n" in said


def test_rows_in_of_a_micro_batch_whose_rows_are_all_left_out_are_none() -> None:
    progress = {"batchId": 1, "numInputRows": 60, "observedMetrics": {"windrow": {"rows_in": 0}}}
    assert step_of(progress, 1.0).rows == 0
    assert step_of({"batchId": 1, "numInputRows": 60}, 1.0).rows == 60
