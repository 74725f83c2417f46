"""``make package``: build sdist and wheel, and try the wheel in clean environments; ends with one table.

    python tests/package.py [--only VERSION] [--folder FOLDER]

The wheel is built from the sdist, into ``dist``. For each Python that windrow names and that this machine
has, an environment is made in the folder (``.cache/package``), the wheel is installed with the extra ``cli``
and nothing else, and what a new user does is done there. What fails is in ``<version>.log`` there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
BROKEN = "BROKEN"
MISSING = "no such Python here"

QUERY = """
import sys
import pyarrow as pa
import windrow as wr

table = pa.table({"t": [0, 1, 7, 8, 12], "x": [5.0, 9.0, 4.0, 7.0, 2.0]})
found = wr.events(table, time="t").window(wr.Sliding(10, slide=5)).agg(s=wr.sum("x"), m=wr.median("x"))
assert found.to_pydict()["s"] == [14.0, 25.0, 13.0, 2.0], found
assert wr.swag.DABALite(wr.sum).roll([1.0, 2.0, 3.0], size=2) == [1.0, 3.0, 5.0]
assert "numba" in sys.modules
"""
#: what a type checker says of a program that uses windrow
TYPED = """
import windrow as wr

query: wr.Query = wr.query(time="t", by="k").window(wr.Tumbling("1h")).agg(n=wr.count())
reveal_type(query.explain())
query.explain(dat=None)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("package", description="Build windrow and try the wheel.")
    parser.add_argument("--only", default="", metavar="VERSION", help="try Pythons that begin with this")
    parser.add_argument("--folder", default=str(ROOT / ".cache" / "package"), help="for environments")
    options = parser.parse_args(arguments)
    folder = Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = built()
    found = {v: tried(v, wheel, folder) for v in versions() if v.startswith(options.only)}
    print(table(found), end="")
    return 1 if any(BROKEN in cells.values() for cells in found.values()) else 0


def versions() -> list[str]:
    """The Pythons that the package names.

    >>> versions()[0]
    '3.11'
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", c) for c in project["classifiers"]]
    return [found[1] for found in named if found]


def built() -> Path:
    """The wheel, from the sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], check=True)
    names = sorted(path.name for path in DIST.iterdir())
    print(f"built {', '.join(names)}", flush=True)
    (wheel,) = DIST.glob("*.whl")
    return wheel


def python_of(version: str) -> str | None:
    """A Python of this version: of the PATH, of pyenv or of uv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}")))]
    if shutil.which("uv"):
        found = subprocess.run(["uv", "python", "find", version], capture_output=True, text=True, check=False)
        candidates.append(found.stdout.strip() or "uv has none")
    return next((each for each in candidates if _runs(each, version)), None)


def _runs(python: str, version: str) -> bool:
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.strip() == version


def tried(version: str, wheel: Path, folder: Path) -> dict[str, str]:
    """What works in a clean environment of this Python."""
    python = python_of(version)
    if python is None:
        return dict.fromkeys(STEPS, MISSING)
    print(f"trying Python {version} ...", file=sys.stderr, flush=True)
    home, log = folder / version, folder / f"{version}.log"
    shutil.rmtree(home, ignore_errors=True)
    log.write_text("")
    subprocess.run([python, "-m", "venv", str(home)], check=True)
    return {name: _outcome(step, home, wheel, log) for name, step in STEPS.items()}


def _outcome(step: Callable[[Path, Path, Path], None], home: Path, wheel: Path, log: Path) -> str:
    try:
        step(home, wheel, log)
    except (AssertionError, subprocess.CalledProcessError) as error:
        with log.open("a") as output:
            print(f"{error}", file=output)
        return BROKEN
    return "yes"


def _run(home: Path, log: Path, *command: str) -> str:
    """What a command of the environment prints, outside the clone, with nothing of ours on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"WINDROW_CACHE_DIR": str(home / "kernels"), "PYTHONSAFEPATH": "1"}
    program, *rest = command
    done = subprocess.run(
        [str(home / "bin" / program), *rest], cwd=home, env=environment, capture_output=True, text=True
    )
    with log.open("a") as output:
        print(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}", file=output)
    done.check_returncode()
    return done.stdout


def _install(home: Path, wheel: Path, log: Path) -> None:
    _run(home, log, "python", "-m", "pip", "install", "--quiet", f"{wheel}[cli]")
    _run(home, log, "python", "-m", "pip", "check")


def _extras(home: Path, wheel: Path, log: Path) -> None:
    """Every extra can be had with all others; nothing is installed."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = ",".join(name for name in extras if name != "dev")
    _run(home, log, "python", "-m", "pip", "install", "--quiet", "--dry-run", f"{wheel}[{wanted}]")


def _version(home: Path, wheel: Path, log: Path) -> None:
    said = _run(home, log, "windrow", "--version").strip()
    assert said == f"windrow {wheel.name.split('-')[1]}", said


def _docs(home: Path, wheel: Path, log: Path) -> None:
    """The pages that messages name are in the environment, and so are all that README links to."""
    folder = home / "share" / "doc" / "windrow"
    with tarfile.open(next(DIST.glob("*.tar.gz"))) as sdist:
        kept = {name.partition("/")[2] for name in sdist.getnames()}
    for link in links(folder / "README.md"):
        assert link in kept, f"README links to {link}, which is not in the sdist"
        assert not link.startswith("docs/") or (folder / link).exists(), f"{folder / link} is missing"
    assert (folder / "CHANGELOG.md").exists()


def links(page: Path) -> list[str]:
    """The files that a page links to."""
    return re.findall(r"\]\(([^)\s#:]+)", page.read_text(encoding="utf-8"))


def _query(home: Path, wheel: Path, log: Path) -> None:
    _run(home, log, "python", "-W", "error", "-c", QUERY)


def _job(home: Path, wheel: Path, log: Path) -> None:
    shutil.rmtree(home / "calls", ignore_errors=True)
    _run(home, log, "windrow", "new", "calls")
    _run(home, log, "windrow", "check", "calls/job.toml", "--engine", "local")
    _run(home, log, "windrow", "run", "calls/job.toml", "--engine", "local", "--quiet")
    _run(home, log, "windrow", "schema")


def _demo(home: Path, wheel: Path, log: Path) -> None:
    """What README says to run first, with Python, Arrow and the command line alone."""
    said = _run(home, log, "windrow", "demo", "--calls", "5000")
    assert "The picture, for a browser: windrow-demo/report.html" in said, said
    assert "<svg" in (home / "windrow-demo" / "report.html").read_text()


def _types(home: Path, wheel: Path, log: Path) -> None:
    """Annotations are there for a checker, and tell right from wrong."""
    (home / "typed.py").write_text(TYPED)
    checker = [sys.executable, "-m", "mypy", "--python-executable", str(home / "bin" / "python")]
    own = ["--config-file", os.devnull, "--cache-dir", str(home / ".mypy"), "--ignore-missing-imports"]
    done = subprocess.run([*checker, *own, "typed.py"], cwd=home, capture_output=True, text=True, check=False)
    with log.open("a") as output:
        print(done.stdout, done.stderr, file=output)
    assert 'Revealed type is "str"' in done.stdout.replace("builtins.", ""), done.stdout
    assert 'typed.py:6: error: Unexpected keyword argument "dat"' in done.stdout, done.stdout
    assert "windrow/" not in done.stdout, done.stdout


def _complete(home: Path, wheel: Path, log: Path) -> None:
    """All that is installed is annotated, and right by the rules of the clone; what other packages would say
    that are not installed here is not known."""
    rules = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--ignore-missing-imports",
        "--no-warn-unused-ignores",
    ]
    place = ["--python-executable", str(home / "bin" / "python"), "--python-version", home.name]
    command = [
        sys.executable,
        "-m",
        "mypy",
        *rules,
        *place,
        "--cache-dir",
        str(home / ".mypy"),
        "-p",
        "windrow",
    ]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    with log.open("a") as output:
        print(done.stdout, done.stderr, file=output)
    done.check_returncode()


#: columns of the table: what is done, in this order
STEPS: dict[str, Callable[[Path, Path, Path], None]] = {
    "pip install": _install,
    "windrow --version": _version,
    "docs": _docs,
    "a query": _query,
    "a job": _job,
    "windrow demo": _demo,
    "mypy": _types,
    "mypy of all of it": _complete,
    "extras": _extras,
}


def table(found: dict[str, dict[str, str]]) -> str:
    """
    >>> print(table({"3.11": {"a query": "yes", "a job": "yes"}}))
    | Python | a query | a job |
    |---|---|---|
    | 3.11 | yes | yes |
    <BLANKLINE>
    """
    columns = list(next(iter(found.values()))) if found else []
    lines = [("Python", *columns), *((version, *cells.values()) for version, cells in found.items())]
    rows = ["| " + " | ".join(line) + " |\n" for line in lines]
    return "".join([rows[0], "|---" * len(lines[0]) + "|\n", *rows[1:]])


if __name__ == "__main__":
    sys.exit(main())
