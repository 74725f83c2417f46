"""A stream on Spark that is stopped and goes on with a query that has changed; and one on another checkpoint
that takes over from it, with windows and aggregates that history fills."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from support.killed_jobs import kill_after, started
from support.stream_source import Source
from windrow.cli.main import main
from windrow.testing import assert_same_results

SCHEMA = "ts long, key string, v long, s string"
ROWS = 40


def batch(place: int) -> pa.Table:
    """Ten units of time, the last rows out of order, or late."""
    numbers = range(place * ROWS, (place + 1) * ROWS)
    return pa.table(
        {
            "ts": [place * 10 + k // 4 - (6 if k % 9 == 8 and place else 0) for k in range(ROWS)],
            "key": [f"key {number % 3}" for number in numbers],
            "v": [number % 17 for number in numbers],
            "s": [f"<{number}>" for number in numbers],
        }
    )


BATCHES = [batch(place) for place in range(8)]
BEFORE = (
    wr.query(time="ts", by="key", watermark=3, allowed_lateness=2)
    .window(slide=wr.Sliding(20, slide=5), visit=wr.Session(2), five=wr.Rows(5))
    .agg(n=wr.count(), total=wr.sum("v"), text=wr.concat("s"))
)
AFTER = (
    wr.query(time="ts", by="key", watermark=6, allowed_lateness=4)
    .window(slide=wr.Sliding(20, slide=5), five=wr.Rows(5))
    .agg(n=wr.count(), text=wr.concat("s"))
)


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def steps(operator: Any, batches: list[pa.Table]) -> list[Any]:
    """What an operator gives for micro-batches, and the one without rows that Spark ends with."""
    tables = [operator.push(table) for table in [*batches, BATCHES[0].slice(0, 0)]]
    return [row for table in tables for row in table.to_pylist()]


def test_a_stream_goes_on_with_other_waits_and_with_less(source: Source) -> None:
    operator = BEFORE.open(lateness="spark")
    source.write(BATCHES[:3])
    assert_same_results(source.run(BEFORE.run)[0], steps(operator, BATCHES[:3]))
    source.write(BATCHES[3:6])
    wr.spark.check_checkpoint(AFTER, source.checkpoint, source.spark)
    after = AFTER.restore(operator.snapshot(), lateness="spark")
    assert_same_results(source.run(AFTER.run)[0], steps(after, BATCHES[3:6]))
    assert wr.spark.check_state(source.checkpoint, source.spark).buckets == 2


WEEK = """\
[source]
format = "parquet"
path = "input"
stream = true
options = { maxFilesPerTrigger = 1 }
schema = { ts = "long", key = "string", v = "long", s = "string" }
[events]
time = "ts"
by = "key"
watermark = 3
[[window]]
name = "slide"
kind = "sliding"
size = 20
slide = 5
[agg]
n = "count()"
[sink]
format = "parquet"
path = "old-results"
checkpoint = "old"
trigger = "available_now"
[spark]
master = "local[2]"
conf = { "spark.sql.shuffle.partitions" = 2 }
"""
#: the same with more
MORE = WEEK.replace('n = "count()"', 'n = "count()"\ntext = "concat(s)"').replace(
    "[agg]",
    """\
[[window]]
name = "long"
kind = "sliding"
size = 60
slide = 5
[[window]]
name = "visit"
kind = "session"
gap = 2
[agg]""",
)
HISTORY = '[history]\nformat = "parquet"\npath = "past.parquet"\ntakes_over = "old"\n'
GROWN = (
    wr.query(time="ts", by="key", watermark=3)
    .window(slide=wr.Sliding(20, slide=5), long=wr.Sliding(60, slide=5), visit=wr.Session(2))
    .agg(n=wr.count(), text=wr.concat("s"))
)


def test_a_job_takes_over_from_its_old_checkpoint_with_what_was_added_filled(
    source: Source, capfd: Any
) -> None:
    folder, job = source.folder, source.folder / "job.toml"
    source.write(BATCHES[:5])
    job.write_text(WEEK)
    assert main(["run", str(job), "--quiet"]) == 0
    old = str(folder / "old")
    cut = wr.spark.watermark_of_state(old, source.spark)
    assert cut == 46
    job.write_text(MORE)
    assert main(["check", str(job)]) == 0
    assert f"long, visit, text were added since {old} was begun" in (said := "".join(capfd.readouterr()))
    assert f'takes_over = "{old}" in [history]' in said
    pq.write_table(pa.concat_tables(BATCHES[:6]), folder / "past.parquet")
    job.write_text(MORE + HISTORY)
    assert main(["run", str(job)]) == 2
    assert "name another checkpoint in [sink]" in "".join(capfd.readouterr())

    job.write_text(MORE.replace('"old', '"new') + HISTORY)
    begun = folder / "new" / "offsets" / "0"
    killed = started(folder, "-m", "windrow.cli", "run", str(job), "--quiet")
    kill_after(killed, "the first micro-batch", begun.exists)
    assert begun.exists(), (folder / "log").read_text()[-3000:]
    assert main(["run", str(job), "--quiet"]) == 0
    shutil.rmtree(old)  # a stream that has taken over needs the one before no more
    source.write(BATCHES[5:])
    assert main(["run", str(job), "--quiet"]) == 0
    assert wr.spark.watermark_of_state(str(folder / "new"), source.spark) == 76
    check_takeover(source, cut)


def check_takeover(source: Source, cut: int) -> None:
    """All that is due came out once: by the cut of the old stream, and after it of the new one."""
    old, new = (source.spark.read.parquet(str(source.folder / f"{name}-results")) for name in ("old", "new"))
    due = [row for row in GROWN.run(pa.concat_tables(BATCHES)).to_pylist() if row["window_end"] <= 76]
    assert_same_results(
        [row.asDict() for row in old.collect()],
        [
            {name: value for name, value in row.items() if name != "text"}
            for row in due
            if row["window_end"] <= cut and row["window"] == "slide"
        ],
    )
    assert_same_results(
        [row.asDict() for row in new.collect()], [row for row in due if row["window_end"] > cut]
    )


def test_what_cannot_take_over(source: Source) -> None:
    with pytest.raises(ValueError, match="cannot take over from itself"):
        wr.spark.find_cut("old", "old/", source.spark)
    with pytest.raises(ValueError, match="has no watermark yet"):
        wr.spark.find_cut(f"{source.folder}/old", f"{source.folder}/new", source.spark)
