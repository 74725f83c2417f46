"""``make compat``: windrow with several versions of PySpark, on servers and clusters; ends with one table.

    python tests/compat.py [--only VERSION] [--column PATTERN] [--folder FOLDER] [--write-docs]

An environment for each version is made on demand and kept in the folder (``.cache/compat``; about 1 GB each).
What fails is in ``<version>.log`` there, and is an error. Where a version is too old for something, the test
is that it is refused by name.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "tests/engines/spark"
DOCS = ROOT / "docs" / "spark.md"
BEGIN, END = "<!-- compat: begin -->\n", "<!-- compat: end -->\n"
BROKEN = "BROKEN"

#: versions of PySpark, and packages that they need in another version than ours
VERSIONS: dict[str, tuple[str, ...]] = {
    "3.5": ("pandas<3",),
    "4.0": ("pandas<3",),
    "4.1": (),
    "4.2": (),
    "4.3": (),
}


class Column(NamedTuple):
    """Tests of a file, by how their names begin."""

    file: str
    tests: str = "test_"
    session: str = "master"
    since: str = "3.5"
    refused: str = ""  # the tests for an older Spark, which must be refused by name


_SESSIONS = "session_cases.py"
_STREAMS = r"test_(?!before).*stream"
COLUMNS = {
    "tables": Column(_SESSIONS, r"test_(?!before|sql|.*stream)"),
    "SQL": Column(_SESSIONS, "test_sql", since="4.0", refused="test_before_4_0"),
    "streams": Column(_SESSIONS, _STREAMS, since="4.1", refused="test_before_4_1"),
    "tables on Connect": Column(_SESSIONS, r"test_(?!before|.*stream)", "remote", "4.0"),
    "streams on Connect": Column(_SESSIONS, _STREAMS, "remote", "4.1"),
    "server killed": Column("server_cases.py", since="4.1"),
    "bare cluster": Column("packed_cases.py", since="4.1"),
    "pipelines": Column("pipeline_cases.py", since="4.1"),
}
_PACKAGES = ("numba", "numpy", "pandas", "protobuf", "pyarrow", "rich", "tzdata")
_TESTS = ("hypothesis", "pytest", "pyyaml")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    folder = Path(options.folder).resolve()
    versions = [version for version in VERSIONS if version.startswith(options.only)]
    columns = {name: column for name, column in COLUMNS.items() if re.search(options.column, name)}
    found = {version: results(folder, version, columns) for version in versions}
    text = table(found, list(columns))
    print(text, end="")
    is_whole = len(found) == len(VERSIONS) and len(columns) == len(COLUMNS)
    is_broken = any(BROKEN in cells for cells in found.values())
    if options.write_docs and is_whole and not is_broken:
        DOCS.write_text(with_table(DOCS.read_text(), text))
    return 1 if is_broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("compat", description="Run windrow with several versions of PySpark.")
    parser.add_argument("--only", default="", metavar="VERSION", help="run versions that begin with this")
    parser.add_argument("--column", default="", metavar="PATTERN", help="run columns whose names have it")
    parser.add_argument(
        "--folder", default=str(ROOT / ".cache" / "compat"), help="where environments are kept"
    )
    parser.add_argument("--write-docs", action="store_true", help="put a whole table into docs/spark.md")
    return parser


def table(found: dict[str, list[str]], columns: Sequence[str]) -> str:
    """
    >>> print(table({"4.0": ["yes", "refused"]}, ["tables", "streams"]))
    | PySpark | tables | streams |
    |---|---|---|
    | 4.0 | yes | refused |
    <BLANKLINE>
    """
    lines = [("PySpark", *columns), *((version, *cells) for version, cells in found.items())]
    rows = ["| " + " | ".join(line) + " |\n" for line in lines]
    return "".join([rows[0], "|---" * len(lines[0]) + "|\n", *rows[1:]])


def with_table(page: str, text: str) -> str:
    """A page with this table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{DOCS} has no place for the table: write {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}{text}{END}{after}"


def results(folder: Path, version: str, columns: dict[str, Column]) -> list[str]:
    """The cells of a version. Tests of one file and kind of session run in one process."""
    python, log = _environment(folder, version), folder / f"{version}.log"
    log.unlink(missing_ok=True)
    chosen = {column: chosen_tests(column, version) for column in columns.values()}
    passed: set[tuple[str, str, str]] = set()
    for file, session in dict.fromkeys((column.file, column.session) for column in chosen):
        names = [n for c, names in chosen.items() if (c.file, c.session) == (file, session) for n in names]
        if names:
            passed |= {(file, session, name) for name in _passing(python, log, file, session, names)}
    return [
        _cell(column, version, all((column.file, column.session, name) in passed for name in names))
        for column, names in chosen.items()
    ]


def _cell(column: Column, version: str, passes: bool) -> str:
    if is_before(version, column.since):
        return "not tried" if not column.refused else "refused" if passes else BROKEN
    return "yes" if passes else BROKEN


def chosen_tests(column: Column, version: str) -> list[str]:
    """The names of the tests of a column for this version of Spark.

    >>> chosen_tests(COLUMNS["streams"], "4.0"), chosen_tests(COLUMNS["pipelines"], "4.0")
    (['test_before_4_1_a_stream_is_refused_by_name'], [])
    """
    begins = column.refused if is_before(version, column.since) else column.tests
    names = re.findall(r"^def (test_\w+)", (ROOT / FOLDER / column.file).read_text(), re.MULTILINE)
    return [name for name in names if begins and re.match(begins, name)]


def is_before(version: str, other: str) -> bool:
    """
    >>> is_before("4.3", "4.10")
    True
    """
    left, right = ([int(part) for part in text.split(".")] for text in (version, other))
    return left < right


def _passing(python: Path, log: Path, file: str, session: str, names: Sequence[str]) -> set[str]:
    """Which of these tests pass, with all their parameters."""
    own = {n: v for n, v in os.environ.items() if not n.startswith(("PYSPARK_", "SPARK_"))}
    own |= {
        "WINDROW_SESSION": session,
        "WINDROW_CONSTRAINTS": str(python.parents[1] / "constraints.txt"),
        "PYTHONPATH": os.pathsep.join(str(ROOT / path) for path in ("src", "experiments/src", "tests")),
    }
    report = log.with_name(f"{log.stem}-{file}-{session}.xml")
    report.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    with log.open("a") as output:
        tests = [f"{FOLDER}/{file}::{name}" for name in names]
        subprocess.run([*command, *tests], cwd=ROOT, env=own, stdout=output, stderr=output, check=False)
    if not report.exists():
        return set()
    found = ElementTree.parse(report).iter("testcase")
    faults = [(case.get("name", "").partition("[")[0], len(case)) for case in found]
    return {name for name, _ in faults} - {name for name, count in faults if count}


def _environment(folder: Path, version: str) -> Path:
    """The Python of a version's environment, which is made if it is not there."""
    home = folder / version
    python, ready = home / "bin" / "python", home / ".ready"
    if ready.exists():
        return python
    print(f"making an environment with PySpark {version} ...", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pinned = home / "constraints.txt"
    pinned.write_text("".join(f"{line}\n" for line in constraints(version)))
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(pinned)]
    extra = "" if version == "3.5" else "[connect]"  # before 4.0 the server is not in the package
    subprocess.run([*install, f"pyspark{extra}=={version}.*", *_PACKAGES, *_TESTS], check=True)
    ready.touch()
    return python


def constraints(version: str) -> list[str]:
    """Our pins, but for Spark's and those packages of which a version of Spark needs another one.

    >>> [line for line in constraints("4.0") if line.startswith(("pandas", "pyspark"))]
    ['pandas<3']
    """
    own = {text.partition("<")[0] for text in VERSIONS[version]} | {"pyspark", "py4j", "numpy"}
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    return [pin for pin in pins if pin.partition("==")[0].lower() not in own] + list(VERSIONS[version])


if __name__ == "__main__":
    sys.exit(main())
