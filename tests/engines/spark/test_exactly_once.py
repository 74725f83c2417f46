"""Kill -9 of the driver, of an executor or of Python workers at random moments: after restarts the output is
that of a run that was never killed, nothing twice, nothing lost. Few kills here; ``make chaos`` does many."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from support import chaos_job
from support.budget import examples
from support.chaos_counts import Tally, counted, how_many
from support.java import JAVA
from support.patient_python import write_program
from support.processes import processes_below
from windrow.testing import assert_same_results

KILLS = how_many("WINDROW_CHAOS_KILLS", 3)
#: enough that a job is still running when its last kill comes
BATCHES = how_many("WINDROW_CHAOS_BATCHES", max(20, examples(40)))
SEED = how_many("WINDROW_CHAOS_SEED", 7)
#: seconds between a micro-batch and a kill, at most: all kills must come before the last micro-batch
PAUSE = min(3.0, 0.075 * BATCHES)
#: who is killed in one run of the job after the other
ROUNDS = (("executor", "driver"), ("worker", "driver"), ("driver",))
#: Spark's own plan has no Python workers
ROUNDS_WITHOUT_WORKERS = (("executor", "driver"), ("driver",))
#: seconds after which the job hangs, however busy the machine is
HANGS = 3_600
START = datetime(2024, 5, 1, tzinfo=UTC)


def rows(batch: int) -> pa.Table:
    """A minute of calls, out of order by less than the watermark stays behind; the last batch is far ahead,
    so that all windows before it come out."""
    rng = np.random.default_rng(batch)
    seconds = batch * 60 + rng.permutation(60)[:40] - rng.integers(0, 50, 40)
    if batch == BATCHES - 1:
        seconds = np.array([batch * 60 + 86_400])
    return pa.table(
        {
            "ts": pa.array([START + timedelta(seconds=int(s)) for s in seconds], pa.timestamp("us", "UTC")),
            "region": pa.array(
                [["north", "south", None][k] for k in rng.integers(0, 3, len(seconds))], pa.string()
            ),
            "len": rng.integers(0, 100, len(seconds)),
        }
    )


def kill(job: subprocess.Popen[bytes], what: str) -> int:
    """Kill -9 everything, JVM and Python, or one executor, or one Python worker; 0 if the job has ended."""
    if job.poll() is not None:
        return 0
    below = processes_below(job.pid)
    signs = {"worker": ("pyspark.daemon", "pyspark.worker"), "executor": ("CoarseGrainedExecutorBackend",)}
    chosen = [pid for pid, command in below if any(sign in command for sign in signs.get(what, ()))]
    assert chosen or what == "driver", f"there is no {what}"
    victims = random.sample(chosen, 1) if chosen else [job.pid, *(pid for pid, _ in below)]
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return 1


def run(folder: Path, victims: Sequence[str]) -> int:
    """Run the job; kill each of the victims a moment after the next micro-batch has come out, and count the
    kills. Without an executor Spark starts another and goes on, and without a Python worker it may."""
    log = (folder / "log").open("ab")
    # an executor is a process of its own only in a cluster
    master = "local-cluster[1,2,1024]" if "executor" in victims else "local[2]"
    command = [sys.executable, chaos_job.__file__, str(folder), master]
    settings = {"PYSPARK_PYTHON": write_program(folder), "JDK_JAVA_OPTIONS": JAVA}
    job = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | settings)
    kills = 0
    try:
        for what in victims:
            await_a_batch(folder, job)
            time.sleep(random.uniform(0, PAUSE))
            kills += kill(job, what)
        job.wait(HANGS)
    finally:
        kill(job, "driver")
        log.close()
    return kills


def await_a_batch(folder: Path, job: subprocess.Popen[bytes]) -> None:
    """Until one more micro-batch has come out, or the job has ended."""
    before, deadline = batches_out(folder), time.monotonic() + HANGS
    while job.poll() is None and batches_out(folder) <= before:
        assert time.monotonic() < deadline, f"nothing came out: see {folder / 'log'}"
        time.sleep(0.05)


def batches_out(folder: Path) -> int:
    return len(list((folder / "output").glob("*")))


def test_output_after_kills_is_that_of_a_run_never_killed(tmp_path: Path) -> None:
    with counted("Stream on Spark, driver, executor or worker killed") as tally:
        check_output_after_kills(tmp_path, tally)


def test_output_of_sparks_own_plan_after_kills_is_that_of_a_run_never_killed(tmp_path: Path) -> None:
    (tmp_path / chaos_job.GROUPED).touch()
    check_output_after_kills(tmp_path, Tally(), ROUNDS_WITHOUT_WORKERS)


def check_output_after_kills(
    tmp_path: Path, tally: Tally, rounds: Sequence[tuple[str, ...]] = ROUNDS
) -> None:
    random.seed(SEED)
    (tmp_path / "input").mkdir()
    batches = [rows(number) for number in range(BATCHES)]
    for number, table in enumerate(batches):
        path = tmp_path / "input" / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    kills = 0
    for victims in itertools.cycle(rounds):
        if kills >= KILLS or (tmp_path / "done").exists():
            break
        kills += run(tmp_path, victims[: KILLS - kills])
        tally.tried = kills
        print(f"{kills} kills ({' and '.join(victims)}), {batches_out(tmp_path)} micro-batches")
    assert kills >= KILLS, "the stream ended before all kills: give it more micro-batches"
    if not (tmp_path / "done").exists():
        run(tmp_path, ())
    assert (tmp_path / "done").exists(), (tmp_path / "log").read_text()[-3000:]
    asked = chaos_job.grouped_query() if (tmp_path / chaos_job.GROUPED).exists() else chaos_job.query()
    everything = asked.run(pa.concat_tables(batches)).to_pylist()
    end = START + timedelta(seconds=(BATCHES - 1) * 60 + 86_400 - 120)
    due = [row for row in everything if row["window_end"] <= end and row["window"] != "five"]
    due += [row for row in everything if row["window"] == "five" and row["window_end"] < end]
    assert_same_results(chaos_job.results(tmp_path), due)
    tally.held = kills  # the output is of all of them together
