"""Kill -9 while the first micro-batch takes the state of history, and while a checkpoint is rescaled: nothing
is lost, nothing is there twice, and the old checkpoint is whole. Few kills here; ``make chaos`` does more."""

from __future__ import annotations

import os
import random
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
#: minutes of history, and in all; the last one is far ahead, so that all windows before it come out
PAST, ALL = 30, 34


def minute(number: int) -> pa.Table:
    """Rows of a minute, and some that belong to the one before."""
    seconds = [
        60 * number + (7 * k) % 60 - (20 if k % 5 == 0 and number not in (0, PAST) else 0) for k in range(24)
    ]
    if number == ALL - 1:
        seconds = [60 * number + 86_400]
    times = [START + timedelta(seconds=each) for each in seconds]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "region": pa.array([("north", "south", None)[k % 3] for k in range(len(seconds))], pa.string()),
            "len": pa.array([(number * 31 + k) % 100 for k in range(len(seconds))], pa.int64()),
        }
    )


MINUTES = [minute(number) for number in range(ALL)]


def write_input(folder: Path) -> None:
    """History, and the live rows: a file a micro-batch, of which the first is all of history again."""
    (folder / "input").mkdir()
    (folder / "output").mkdir()
    pq.write_table(pa.concat_tables(MINUTES[: PAST + 1]), folder / "past.parquet")
    live = [pa.concat_tables(MINUTES[PAST - 2 : PAST + 1]), *MINUTES[PAST + 1 :]]
    for number, table in enumerate(live):
        path = folder / "input" / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)


def test_a_stream_that_is_killed_while_it_takes_history_takes_it_once(tmp_path: Path) -> None:
    random.seed(how_many("WINDROW_CHAOS_SEED", 7))
    with counted("Stream on Spark, killed in its first micro-batch after history") as tally:
        for number in range(KILLS):
            folder = tmp_path / str(number)
            folder.mkdir()
            write_input(folder)
            check_history(folder, tally)
    with counted("Checkpoint being rescaled, process killed") as tally:
        check_rescaling(tmp_path / "0", tally)


def check_history(folder: Path, tally: Tally) -> None:
    job = (chaos_job.__file__, str(folder), "local[2]")
    first = folder / "checkpoint" / "offsets" / "0"
    kill_after(started(folder, *job), "the first micro-batch", first.exists)
    assert first.exists(), (folder / "log").read_text()[-3000:]
    with tally.attempt():
        assert started(folder, *job).wait(1_800) == 0, (folder / "log").read_text()[-3000:]
        everything = chaos_job.query().run(pa.concat_tables(MINUTES)).to_pylist()
        end = START + timedelta(seconds=60 * (ALL - 1) + 86_400 - 120)
        due = [row for row in everything if CUT < row["window_end"] <= end and row["window"] != "five"]
        due += [row for row in everything if row["window"] == "five" and CUT <= row["window_end"] < end]
        assert_same_results(chaos_job.results(folder), due)


def check_rescaling(folder: Path, tally: Tally) -> None:
    """Of the checkpoint that is there; each attempt goes to a folder of its own."""
    point = folder / "checkpoint"
    before = contents(point)
    for number in range(KILLS):
        target = folder / f"three{number}"
        words = ("state", "rescale", str(point), "--partitions", "3", "--to", str(target))
        kill_after(started(folder, "-m", "windrow.cli", *words), "rescaling", partial(is_begun, target))
        with tally.attempt():
            assert contents(point) == before
            assert is_begun(target) != (target / "metadata").exists()


def is_begun(target: Path) -> bool:
    """Whether there is a part of a checkpoint, which takes its place when it is complete."""
    return any(target.parent.glob(f".{target.name}.*.part"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
