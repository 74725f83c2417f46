"""Delta Lake and Apache Iceberg as sinks, a part of ``make compat``: each with the newest PySpark that it has
a release for; ends with a table.

    PYTHONPATH=tests:examples/kafka python tests/table_formats.py [--only delta] [--folder FOLDER]

Environments are those of ``compat.py``; jars are fetched by coordinates, into ``.cache/tables``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from kafka_jars import NotFetched, fetched, joined_paths

import compat

ROOT = Path(__file__).resolve().parents[1]
CASES = "tests/engines/spark/table_cases.py"


class Release(NamedTuple):
    """A release of a table format, and the PySpark that it is for."""

    format: str
    name: str
    coordinate: str
    spark: str


RELEASES = (
    Release("delta", "Delta Lake 4.4.0", "io.delta:delta-spark_4.2_2.13:4.4.0", "4.2"),
    Release("iceberg", "Iceberg 1.12.0", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", "4.1"),
)


def main() -> int:
    parser = argparse.ArgumentParser("table_formats", description="Run jobs into Delta Lake and Iceberg.")
    parser.add_argument("--only", default="", metavar="FORMAT", help="run formats that begin with this")
    parser.add_argument("--spark", metavar="VERSION", help="with another PySpark than that of the release")
    parser.add_argument("--folder", default=str(ROOT / ".cache" / "compat"), help="where environments are")
    options = parser.parse_args()
    lines, is_broken = [], False
    for release in RELEASES:
        if release.format.startswith(options.only):
            release = release._replace(spark=options.spark or release.spark)
            passes = _passes(Path(options.folder).resolve(), release)
            is_broken |= not passes
            lines.append(f"| {release.name} | {release.spark} | {'yes' if passes else compat.BROKEN} |")
    print("| format | PySpark | each result once, after kills |", "|---|---|---|", *lines, sep="\n")
    return 1 if is_broken else 0


def _passes(folder: Path, release: Release) -> bool:
    python = compat._environment(folder, release.spark)
    jars = ROOT / ".cache" / "tables"
    try:
        paths = joined_paths(fetched(jars, release.format, [(release.coordinate, True)]))
    except NotFetched as error:
        print(f"{release.name}: {error}", file=sys.stderr)
        return False
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    own |= {
        "WINDROW_TABLES": release.format,
        "WINDROW_JARS": paths,
        "PYTHONPATH": os.pathsep.join(str(ROOT / path) for path in ("src", "tests")),
    }
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", CASES]
    with (folder / f"{release.format}.log").open("w") as log:
        return not subprocess.run(command, cwd=ROOT, env=own, stdout=log, stderr=log).returncode


if __name__ == "__main__":
    sys.exit(main())
