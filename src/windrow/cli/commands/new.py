"""``windrow new``: a commented job file and sample data, to start from."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from windrow.cli.commands.sample import JOB, MONOIDS, sample_files
from windrow.cli.errors import JobError
from windrow.cli.show.out import say_line

__all__ = ["execute"]


def execute(options: argparse.Namespace) -> int:
    folder = Path(options.folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise JobError(f"{folder}: this is there already: name a new folder")
    try:
        (folder / "data").mkdir(parents=True)
    except OSError as error:
        raise JobError(f"{folder}: the folder cannot be made: {error.strerror}") from None
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    (folder / "monoids.py").write_text(MONOIDS, encoding="utf-8")
    now = time.time()
    for number, (name, text) in enumerate(sample_files()):
        file = folder / "data" / name
        file.write_text(text, encoding="utf-8")
        os.utime(file, (now - 60 + number,) * 2)  # Spark takes files in the order of their age
    job = folder / "job.toml"
    say_line(f"made {job}, sample data in {folder / 'data'}, your own aggregates in {folder / 'monoids.py'}")
    say_line("next:")
    say_line(f"  windrow check {job}")
    say_line(f"  windrow run {job} --engine local --report report.html")
    say_line(f"  windrow run {job} --report report.html          (on Spark; needs Java 17)")
    return 0
