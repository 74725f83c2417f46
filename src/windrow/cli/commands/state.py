"""``windrow state``: what a stream keeps, read from its checkpoint."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windrow.cli.commands.reading import conf_of
from windrow.cli.errors import JobError
from windrow.cli.job import Job, Sink, Source
from windrow.cli.job.secrets import Setting
from windrow.cli.job.spark_conf import spark_without_a_job
from windrow.cli.json_text import json_text
from windrow.cli.show.out import say
from windrow.cli.show.progress import human_time

__all__ = ["execute"]


def execute(options: argparse.Namespace) -> int:
    conf, checkpoint = conf_of(options), options.checkpoint
    if "://" not in checkpoint and not (Path(checkpoint) / "state").is_dir():
        raise JobError(
            f"{checkpoint}: this is not the checkpoint of a stream with state, which has a folder 'state': "
            f"name the folder that is checkpoint in [sink] of the job, once the job has run"
        )
    table = _read(checkpoint, conf)
    if options.json:
        from windrow.cli.show.moments import plain_rows

        for row in plain_rows(table):
            print(json_text(row))
        return 0
    from windrow.cli.show.tables import text_table

    say(_summary(table))
    print(text_table(table, options.rows, shutil.get_terminal_size().columns))
    return 0


def _read(checkpoint: str, conf: Sequence[Setting]) -> Any:
    from windrow.cli.execution.spark.failures import guarded
    from windrow.cli.execution.spark.session import open_session

    with open_session(_no_job(conf)) as spark:
        from windrow.spark import inspect_state

        return guarded(inspect_state, checkpoint, spark)


def _no_job(conf: Sequence[Setting]) -> Job:
    """Spark is started for a job; here there is none."""
    from windrow.query import query

    source = Source("noop", None, False, (), ())
    sink = Sink("noop", None, "error", None, "continuously", ())
    spark = spark_without_a_job("windrow state", conf)
    return Job(Path("state.toml"), source, query(time="ts"), sink, spark)


def _summary(table: Any) -> str:
    import pyarrow.compute as pc

    from windrow.cli.show.moments import plain_value

    if not table.num_rows:
        return "the state is empty"
    keys = [
        n for n in table.column_names if n not in ("bucket", "part", "first", "last", "rows", "came_late")
    ]
    count = table.group_by(keys).aggregate([]).num_rows if keys else 1
    first, last = plain_value(pc.min(table.column("first"))), plain_value(pc.max(table.column("last")))
    rows = pc.sum(table.column("rows")).as_py()
    return (
        f"{table.num_rows:,} slices of {count:,} keys, {rows:,} rows folded in, "
        f"from {human_time(first)} to {human_time(last)}\n"
    )
