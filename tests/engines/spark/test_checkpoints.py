"""A query that has changed is refused on its old checkpoint before the stream starts, with what changed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.cli_jobs import GOOD, write_calls, write_job
from support.stream_source import Source
from windrow.cli.main import main
from windrow.errors import ChangedQuery

SCHEMA = "ts long, key string, v double"


def asked(size: int = 10, by: Any = "key", **more: Any) -> Any:
    named = {"hour": wr.Tumbling(size)} | more.pop("windows", {})
    aggregates = {"s": wr.sum("v")} | more.pop("aggregates", {})
    return wr.query(time="ts", by=by, watermark=5, **more).window(**named).agg(**aggregates)


@pytest.fixture(scope="module")
def source(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    """A stream that has run."""
    with Source.in_folder(spark, tmp_path_factory.mktemp("checkpoints"), SCHEMA) as found:
        found.write([pa.table({"ts": [1, 2, 33], "key": ["a", "b", "a"], "v": [1.0, 2.0, 3.0]})])
        found.run(asked().run)
        yield found


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (asked(20), r"'hour' was Tumbling\(10\), is Tumbling\(20\)"),
        (asked(by=None), "by was .*key"),
        (asked(min_count=3), "min_count was 0, is 3"),
        (asked(aggregates={"s": wr.max("v")}), r"aggregate 's' was sum\(.*, is max\("),
        (wr.query(time="ts", by="key", watermark=5).rolling(10).agg(s=wr.sum("v")), "rolling was None, is"),
    ],
    ids=["window", "by", "setting", "aggregate", "rolling"],
)
def test_a_changed_query_is_refused_before_the_stream_starts(source: Source, changed: Any, said: str) -> None:
    with pytest.raises(ChangedQuery, match=said):
        wr.spark.check_checkpoint(changed, source.checkpoint)


def test_the_same_query_and_one_with_more_go_on(source: Source) -> None:
    wr.spark.check_checkpoint(asked(), source.checkpoint)
    more = asked(windows={"day": wr.Sliding(20, slide=10)}, aggregates={"n": wr.count()}, allowed_lateness=3)
    wr.spark.check_checkpoint(more, source.checkpoint, source.spark)


def test_another_number_of_partitions_is_refused_before_the_stream_starts(source: Source) -> None:
    source.spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        with pytest.raises(ChangedQuery, match=r"spark.sql.shuffle.partitions, was 2, is 3"):
            wr.spark.check_checkpoint(asked(), source.checkpoint)
    finally:
        source.spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_a_checkpoint_that_is_not_there_or_empty_is_fine(spark: Any, tmp_path: Path) -> None:
    wr.spark.check_checkpoint(asked(), str(tmp_path), spark)
    wr.spark.check_checkpoint(asked(), str(tmp_path / "none"), spark)


def test_a_stream_that_has_completed_nothing_is_fine(source: Source, tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    nothing = source.spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input"))
    writer = asked().run(nothing).writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    writer.trigger(availableNow=True).start().awaitTermination()
    wr.spark.check_checkpoint(asked(), str(tmp_path / "c"))


@pytest.mark.parametrize("state", [True, False], ids=["with state", "without"])
def test_a_checkpoint_of_something_else_is_said_to_be(source: Source, tmp_path: Path, state: bool) -> None:
    rows = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    writer = (rows.groupBy("key").count() if state else rows).writeStream.format("noop")
    writer = writer.outputMode("complete" if state else "append").option("checkpointLocation", str(tmp_path))
    writer.trigger(availableNow=True).start().awaitTermination()
    said = "is not of a windrow query: it holds " + (
        "state of stateStoreSave" if state else "a stream without"
    )
    with pytest.raises(ValueError, match=said):
        wr.spark.check_checkpoint(asked(), str(tmp_path))
    with pytest.raises(ValueError, match=said):
        wr.spark.inspect_state(str(tmp_path))


def failure_of(capsys: pytest.CaptureFixture[str], beginning: str) -> str:
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith(beginning)]
    return line


def test_run_refuses_a_changed_job_at_its_start(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    assert main(["run", str(write_job(tmp_path)), "--quiet"]) == 0
    changed = write_job(tmp_path, GOOD.replace('slide = "5m"', 'slide = "6m"'))
    capsys.readouterr()
    assert main(["run", str(changed), "--quiet"]) == 2
    line = failure_of(capsys, "error:")
    assert "calls.toml: [sink] checkpoint" in line
    assert "window 'hour' was Sliding('1h', slide='5m'), is Sliding('1h', slide='6m')" in line
    assert line.endswith("To start afresh, name another checkpoint and another path")
    assert main(["check", str(changed)]) == 2
    assert "window 'hour' was Sliding('1h', slide='5m')" in failure_of(capsys, "error:")
    assert main(["check", str(write_job(tmp_path))]) == 0
    assert "ok    checkpoint: the job goes on from it" in capsys.readouterr().out


MONOIDS = """
import windrow as wr

class Overdrawn(Exception):
    pass

def combine(a, b):
    raise Overdrawn("no more than one call")

odd = wr.monoid(name="odd", lift=lambda v: v, combine=combine, identity=0, commutative=True, compile=False,
                result_type="int64")
"""


def test_what_a_users_combine_raises_in_a_worker_is_the_line_that_run_prints(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    write_calls(tmp_path)
    (tmp_path / "own.py").write_text(MONOIDS)
    job = write_job(tmp_path, GOOD.replace('"max(len)"', '"odd(len)"'))
    assert main(["run", str(job), "--quiet", "--monoids", str(tmp_path / "own.py")]) == 1
    line = failure_of(capsys, "failed:")
    assert line.startswith("failed: aggregate 'odd' raised Overdrawn at the rows from 2024-05-01")
    assert "of key " in line
    assert ": no more than one call (the whole error: " in line
    log = Path(line.rpartition("(the whole error: ")[2].removesuffix(")"))
    assert "Traceback (most recent call last)" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
