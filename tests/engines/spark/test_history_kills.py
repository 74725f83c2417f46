"""Kill -9 while history is folded in batch, while the first micro-batch loads the state that it leads to, and
while the checkpoint is rescaled, from 2 partitions to 8 to 3: nothing is lost, nothing is there twice, and
the old checkpoint is whole. Few kills here; ``make chaos`` does more."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from support import chaos_job
from support.chaos_counts import Tally, counted, how_many
from support.killed_jobs import kill_after, started
from windrow.testing import assert_same_results

#: how often each is killed
KILLS = how_many("WINDROW_CHAOS_HISTORY_KILLS", 1)
START = datetime(2024, 5, 1, tzinfo=UTC)
CUT = chaos_job.HISTORY_UNTIL
#: minutes of history, and in all
PAST, ALL = 30, 34
#: the partitions that the checkpoint is rescaled to, one after the other
PARTITIONS = ("8", "3")
REGIONS = ("north", "south", None, "east", "west", "centre", "islands")


def minute(number: int) -> pa.Table:
    """Rows of a minute, and some that belong to the one before."""
    return rows_at(
        [
            60 * number + (7 * k) % 60 - (20 if k % 5 == 0 and number not in (0, PAST) else 0)
            for k in range(24)
        ]
    )


def rows_at(seconds: list[int]) -> pa.Table:
    times = [START + timedelta(seconds=each) for each in seconds]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "region": pa.array([REGIONS[k % len(REGIONS)] for k in range(len(seconds))], pa.string()),
            "len": pa.array([(each * 31) % 100 for each in seconds], pa.int64()),
        }
    )


def end_of(day: int) -> int:
    """The second of the row that is far ahead, so that all windows before it come out."""
    return 60 * ALL + 86_400 * (day + 1)


def live_rows(day: int) -> list[pa.Table]:
    """What is taken with one number of partitions, a table a micro-batch."""
    first = PAST if day == 0 else end_of(day - 1) // 60 + 1
    return [*(minute(first + k) for k in range(ALL - PAST)), rows_at([end_of(day)])]


HISTORY = [minute(number) for number in range(PAST)]


def write_input(folder: Path, day: int) -> None:
    """The rows of a day, a file a micro-batch; the first has the end of history again."""
    (folder / "input").mkdir(exist_ok=True)
    tables = live_rows(day)
    tables[0] = pa.concat_tables([*HISTORY[-2:], tables[0]])
    for number, table in enumerate(tables, start=100 * day):
        path = folder / "input" / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)


def test_a_stream_that_is_killed_while_it_takes_history_and_is_rescaled(tmp_path: Path) -> None:
    random.seed(how_many("WINDROW_CHAOS_SEED", 7))
    folders = [tmp_path / str(number) for number in range(KILLS)]
    with (
        counted("Stream on Spark, killed while history is folded in batch") as folding,
        counted("Stream on Spark, killed while its first micro-batch loads the state of history") as loading,
    ):
        for folder in folders:
            folder.mkdir()
            (folder / "output").mkdir()
            # with rows that the stream gives as well
            pq.write_table(pa.concat_tables([*HISTORY, minute(PAST)]), folder / "past.parquet")
            check_history(folder, folding, loading)
    with counted("Checkpoint built from history being rescaled, process killed") as tally:
        for folder in folders:
            check_rescaling(folder, tally)


def check_history(folder: Path, folding: Tally, loading: Tally) -> None:
    """A job that is killed twice in its first micro-batch: before there is state, and while it is made."""
    write_input(folder, 0)
    reads, has_read = folder / "reads", folder / "has_read"
    committed = folder / "checkpoint" / "commits" / "0"
    with folding.attempt(), loading.attempt():
        kill_job(folder, "reading history", reads.exists, is_over=has_read.exists)
        assert not committed.exists()
        has_read.unlink(missing_ok=True)
        kill_job(folder, "loading state", has_read.exists, is_over=committed.exists)
        finish_job(folder)
        check_results(folder, 0)


def check_rescaling(folder: Path, tally: Tally) -> None:
    """A job that goes on from a rescaled checkpoint is killed while it makes it, and started again."""
    point = folder / "checkpoint"
    for day, partitions in enumerate(PARTITIONS, start=1):
        write_input(folder, day)
        before = contents(point)
        target = chaos_job.rescaled(folder, point.name, partitions)
        with tally.attempt():
            kill_job(folder, "rescaling", partial(is_begun, target), point.name, partitions)
            assert contents(point) == before
            assert is_begun(target) != (target / "metadata").exists()  # what has its name is whole
            finish_job(folder, point.name, partitions)
            assert contents(point) == before
            check_results(folder, day)
        point = target


def kill_job(
    folder: Path,
    what: str,
    has_begun: Callable[[], bool],
    *words: str,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Start the job, and kill it at some moment after something has begun, and before it is over."""
    seen: list[bool] = []

    def begins() -> bool:
        seen.append(has_begun())
        return seen[-1]

    kill_after(started(folder, chaos_job.__file__, str(folder), "local[2]", *words), what, begins, is_over)
    assert seen[-1], (folder / "log").read_text()[-3000:]


def finish_job(folder: Path, *words: str) -> None:
    job = started(folder, chaos_job.__file__, str(folder), "local[2]", *words)
    assert job.wait(1_800) == 0, (folder / "log").read_text()[-3000:]


def check_results(folder: Path, day: int) -> None:
    """All that was due by the last watermark came out once."""
    rows = [*HISTORY, *(table for each in range(day + 1) for table in live_rows(each))]
    everything = chaos_job.query().run(pa.concat_tables(rows)).to_pylist()
    end = START + timedelta(seconds=end_of(day) - 120)
    due = [row for row in everything if CUT < row["window_end"] <= end and row["window"] != "five"]
    due += [row for row in everything if row["window"] == "five" and CUT <= row["window_end"] < end]
    assert_same_results(chaos_job.results(folder), due)


def is_begun(target: Path) -> bool:
    """Whether there is a part of a checkpoint, which takes its place when it is complete."""
    return any(target.parent.glob(f".{target.name}.*.part"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
