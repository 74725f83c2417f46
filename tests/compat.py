"""``make compat``: the cases of ``session_cases.py`` with several versions of PySpark; ends with one table.

    python tests/compat.py [--only TEXT] [--folder FOLDER] [--write-docs]

An environment for each version is made on demand and kept in the folder (``.cache/compat``; about 1 GB each).
The cases run on a session of this machine and on Spark Connect; what fails is in ``<version>.log`` there. The
table says what works, and is not an error where something does not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASES = "tests/engines/spark/session_cases.py"
DOCS = ROOT / "docs" / "spark.md"
BEGIN, END = "<!-- compat: begin -->\n", "<!-- compat: end -->\n"

#: versions of PySpark, and packages that they need in another version than ours
VERSIONS: dict[str, tuple[str, ...]] = {
    "3.5": ("pandas<3",),
    "4.0": ("pandas<3",),
    "4.1": (),
    "4.2": (),
    "4.3": (),
}
#: columns of the table: which cases, on which kind of session
KINDS = {
    "tables": ("master", "not stream"),
    "streams": ("master", "stream"),
    "tables on Spark Connect": ("remote", "not stream"),
    "streams on Spark Connect": ("remote", "stream"),
}
_PACKAGES = ("numba", "numpy", "pandas", "protobuf", "pyarrow", "rich", "tzdata")
_TESTS = ("hypothesis", "pytest", "pyyaml")
_PATH = os.pathsep.join(str(ROOT / folder) for folder in ("src", "experiments/src"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("compat", description="Run windrow with several versions of PySpark.")
    parser.add_argument("--only", default="", metavar="TEXT", help="run versions that begin with this")
    parser.add_argument(
        "--folder", default=str(ROOT / ".cache" / "compat"), help="where environments are kept"
    )
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/spark.md")
    options = parser.parse_args(arguments)
    folder = Path(options.folder).resolve()
    chosen = [version for version in VERSIONS if version.startswith(options.only)]
    found = {version: _results(folder, version) for version in chosen}
    text = table(found)
    print(text, end="")
    if options.write_docs:
        DOCS.write_text(with_table(DOCS.read_text(), text))
    return 0


def table(results: dict[str, list[str]]) -> str:
    """
    >>> print(table({"4.0": ["yes", "no", "yes", "no"]}))
    | PySpark | tables | streams | tables on Spark Connect | streams on Spark Connect |
    |---|---|---|---|---|
    | 4.0 | yes | no | yes | no |
    <BLANKLINE>
    """
    lines = [("PySpark", *KINDS), ("---",) * (len(KINDS) + 1)]
    lines += [(version, *cells) for version, cells in results.items()]
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([rows[0], rows[1].replace(" ", ""), *rows[2:]]) + "\n"


def with_table(page: str, text: str) -> str:
    """A page with this table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{DOCS} has no place for the table: write {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}{text}{END}{after}"


def _results(folder: Path, version: str) -> list[str]:
    python = _environment(folder, version)
    log = folder / f"{version}.log"
    log.unlink(missing_ok=True)
    return [_outcome(python, log, session, cases) for session, cases in KINDS.values()]


def _outcome(python: Path, log: Path, session: str, cases: str) -> str:
    own = {n: v for n, v in os.environ.items() if not n.startswith(("PYSPARK_", "SPARK_"))}
    own |= {
        "WINDROW_SESSION": session,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'experiments' / 'src'}",
    }
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", cases, CASES]
    with log.open("a") as file:
        status = subprocess.run(command, cwd=ROOT, env=own, stdout=file, stderr=file, check=False).returncode
    return "yes" if status == 0 else "no"


def _environment(folder: Path, version: str) -> Path:
    """The Python of a version's environment, which is made if it is not there."""
    home = folder / version
    python, ready = home / "bin" / "python", home / ".ready"
    if ready.exists():
        return python
    print(f"making an environment with PySpark {version} ...", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    others = VERSIONS[version]
    names = {text.partition("<")[0] for text in others}
    pinned = home / "constraints.txt"
    pinned.write_text(
        "".join(line for line in _constraints() if line.partition("==")[0].lower() not in names)
    )
    wanted = [name for name in (*_PACKAGES, *_TESTS) if name not in names]
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(pinned)]
    subprocess.run([*install, f"pyspark[connect]=={version}.*", *wanted, *others], check=True)
    ready.touch()
    return python


def _constraints() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines(keepends=True)
    return [line for line in lines if not line.startswith(("pyspark==", "py4j==", "numpy=="))]


if __name__ == "__main__":
    sys.exit(main())
