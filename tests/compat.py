"""``make compat``: windrow with several versions of PySpark, on servers and clusters; ends with one table.

    python tests/compat.py [--only VERSION] [--column PATTERN] [--folder FOLDER] [--again] [--write-docs]

An environment for each version is made on demand and kept in the folder (``.cache/compat``; about 1 GB each).
So is what has passed, until windrow or the test changes: a run that was cut short goes on where it was.
What fails is in ``<version>.log`` there, and is an error. Where a version is too old for something, the test
is that it is refused by name.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from support.scopes import OWN_SESSION

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "tests/engines/spark"
DOCS = ROOT / "docs" / "spark-deployment.md"
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
    """Tests by patterns of their files, and by how their names begin."""

    tests: Mapping[str, str]
    session: str = "master"
    since: str = "3.5"
    until: str = "99"  # the last Spark for which what is tested has a release
    refused: Mapping[str, str] = {}  # the tests for an older Spark, which must be refused by name


_SESSIONS = "session_cases.py"
#: random queries, and all transcripts
_SAME_RESULTS = {"test_random.py": "test_", "test_transcripts.py": "test_"}
_TABLES = {_SESSIONS: r"test_(?!before|sql|.*stream)"} | _SAME_RESULTS
_STREAMS = {_SESSIONS: r"test_(?!before).*stream", "test_streaming.py": "test_"}
COLUMNS = {
    "tables": Column(_TABLES),
    "SQL": Column({_SESSIONS: "test_sql"}, since="4.0", refused={_SESSIONS: "test_before_4_0"}),
    "streams": Column(_STREAMS, since="4.1", refused={_SESSIONS: "test_before_4_1"}),
    "tables on Connect": Column(_TABLES | {_SESSIONS: r"test_(?!before|.*stream)"}, "remote", "4.0"),
    "streams on Connect": Column(_STREAMS, "remote", "4.1"),
    "all tests on Connect": Column({"test_*.py": "test_"}, "remote", "4.3"),
    "server killed": Column({"server_cases.py": "test_"}, since="4.1"),
    "bare cluster": Column({"packed_cases.py": "test_"}, since="4.1"),
    "pipelines": Column({"pipeline_cases.py": "test_"}, since="4.1"),
    "Delta Lake": Column({"table_cases.py": "test_delta"}, since="4.1", until="4.2"),
    "Iceberg": Column({"table_cases.py": "test_iceberg"}, since="4.1", until="4.1"),
}
#: those that start processes of their own, and no session
_OWN_PROCESSES = ("packed_cases.py", "pipeline_cases.py", "server_cases.py", "table_cases.py")
_PACKAGES = ("numba", "numpy", "pandas", "protobuf", "pyarrow", "rich", "tzdata")
_TESTS = (
    "duckdb",
    "hypothesis",
    "polars",
    "prometheus-client",
    "pytest",
    "pyyaml",
    "starlette",
    "uvicorn",
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    folder = Path(options.folder).resolve()
    versions = [version for version in VERSIONS if version.startswith(options.only)]
    columns = {name: column for name, column in COLUMNS.items() if re.search(options.column, name)}
    for version in versions if options.again else ():
        for kept in folder.glob(f"{version}-*.kept"):
            kept.unlink()
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
    parser.add_argument("--again", action="store_true", help="run what has passed before, too")
    parser.add_argument(
        "--write-docs", action="store_true", help="put a whole table into docs/spark-deployment.md"
    )
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
    """The cells of a version. Tests that share a session run in one process."""
    python, log = _environment(folder, version), folder / f"{version}.log"
    log.unlink(missing_ok=True)
    chosen = {name: chosen_tests(column, version) for name, column in columns.items()}
    together: dict[tuple[str, str], dict[str, None]] = {}
    for name, tests in chosen.items():
        for test in tests:
            file = test.partition("::")[0]
            process = (columns[name].session, file if file in _OWN_PROCESSES else "session")
            together.setdefault(process, {})[test] = None
    passed = {
        (session, test)
        for (session, process), tests in together.items()
        for test in _passing(python, log, session, process, list(tests))
    }
    return [
        _cell(column, version, all((column.session, test) in passed for test in chosen[name]))
        for name, column in columns.items()
    ]


def _cell(column: Column, version: str, passes: bool) -> str:
    if is_before(version, column.since):
        return "not tried" if not column.refused else "refused" if passes else BROKEN
    if is_before(column.until, version):
        return "no release"
    return "yes" if passes else BROKEN


def chosen_tests(column: Column, version: str) -> list[str]:
    """The tests of a column for this version of Spark, but for those that start sessions of their own.

    >>> chosen_tests(COLUMNS["streams"], "4.0"), chosen_tests(COLUMNS["pipelines"], "4.0")
    (['session_cases.py::test_before_4_1_a_stream_is_refused_by_name'], [])
    >>> len(chosen_tests(COLUMNS["Iceberg"], "4.1")), chosen_tests(COLUMNS["Iceberg"], "4.2")
    (2, [])
    """
    if is_before(column.until, version):
        return []
    patterns = column.refused if is_before(version, column.since) else column.tests
    found = []
    for pattern, begins in patterns.items():
        for path in sorted((ROOT / FOLDER).glob(pattern)):
            names = re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
            if path.name not in OWN_SESSION:
                found += [f"{path.name}::{name}" for name in names if re.match(begins, name)]
    return found


def is_before(version: str, other: str) -> bool:
    """
    >>> is_before("4.3", "4.10")
    True
    """
    left, right = ([int(part) for part in text.split(".")] for text in (version, other))
    return left < right


def _passing(python: Path, log: Path, session: str, process: str, tests: Sequence[str]) -> set[str]:
    """Which of these tests pass, with all their parameters."""
    print(f"PySpark {log.stem}, {session}: {process}, {len(tests)} tests", file=sys.stderr, flush=True)
    own = {n: v for n, v in os.environ.items() if not n.startswith(("PYSPARK_", "SPARK_"))}
    own |= {
        "WINDROW_SESSION": session,
        "WINDROW_CONSTRAINTS": str(python.parents[1] / "constraints.txt"),
        "PYTHONPATH": os.pathsep.join(str(ROOT / path) for path in ("src", "experiments/src", "tests")),
    }
    summary = log.with_name(f"{log.stem}-{session}-{process}.json")
    summary.unlink(missing_ok=True)
    kept = log.with_name(f"{log.stem}-{session}.kept")
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "support.outcomes"]
    command += [f"--kept={kept}", f"--summary={summary}", *(f"{FOLDER}/{test}" for test in tests)]
    with log.open("a") as output:
        subprocess.run(command, cwd=ROOT, env=own, stdout=output, stderr=output, check=False)
    found: dict[str, bool] = json.loads(summary.read_text()) if summary.exists() else {}
    return {test for test, has_passed in found.items() if has_passed}


def _environment(folder: Path, version: str) -> Path:
    """The Python of a version's environment, which is made if it is not there."""
    home = folder / version
    python, ready = home / "bin" / "python", home / ".ready"
    extra = "" if version == "3.5" else "[connect]"  # before 4.0 the server is not in the package
    packages = [f"pyspark{extra}=={version}.*", *_PACKAGES, *_TESTS]
    if ready.exists() and ready.read_text() == "\n".join(packages):
        return python
    print(f"making an environment with PySpark {version} ...", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pinned = home / "constraints.txt"
    pinned.write_text("".join(f"{line}\n" for line in constraints(version)))
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(pinned)]
    subprocess.run([*install, *packages], check=True)
    ready.write_text("\n".join(packages))
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
