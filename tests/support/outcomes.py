"""A plugin of pytest for runs that may be cut short: what has passed is kept, and not run again.

    python -m pytest -p support.outcomes --kept FILE --summary FILE ...

A test is kept under a digest of all that it depends on, so that it runs again once any of it has changed:
windrow, the helpers and settings of tests, transcripts, the pinned versions, and its own file. Tests that
fail are not kept; what they say is added at once to a file beside it (``.failures``). The summary, written
at the end of a run, says of every test function that was chosen whether it has passed with all its
parameters, now or before; a test that is skipped says why it has nothing to test.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

__all__ = ["digest_of", "function_of"]

_ROOT = Path(__file__).resolve().parents[2]
_SHARED = (
    "src/windrow/**/*.py",
    "tests/support/**/*.py",
    "tests/transcripts/**/*",
    "tests/**/conftest.py",
    "tests/engines/spark/[!t]*.py",  # helpers; cases are left out below
    "conftest.py",
    "constraints.txt",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kept", type=Path, required=True, help="what has passed, in this run or before")
    parser.addoption("--summary", type=Path, required=True, help="where the summary is written")


def pytest_configure(config: pytest.Config) -> None:
    kept, summary = config.getoption("--kept"), config.getoption("--summary")
    config.pluginmanager.register(_Outcomes(kept, summary), "the outcomes of tests")


class _Outcomes:
    """Which tests were chosen, and which of them have passed."""

    def __init__(self, kept: Path, summary: Path) -> None:
        self._kept, self._summary = kept, summary
        self._passed = set(kept.read_text().splitlines()) if kept.exists() else set[str]()
        self._chosen: dict[str, str] = {}  # the tests, and what they are kept as
        self._failed: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        self._chosen = {item.nodeid: f"{item.nodeid} {digest_of(item.path)}" for item in items}
        done = [item for item in items if self._chosen[item.nodeid] in self._passed]
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if self._chosen[item.nodeid] not in self._passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
            with self._kept.with_suffix(".failures").open("a") as file:
                file.write(f"{report.nodeid}\n{report.longreprtext}\n\n")
        if report.when == "teardown" and report.nodeid not in self._failed:
            self._passed.add(self._chosen[report.nodeid])
            with self._kept.open("a") as file:
                file.write(f"{self._chosen[report.nodeid]}\n")

    def pytest_sessionfinish(self) -> None:
        missing = {name for name, mark in self._chosen.items() if mark not in self._passed}
        found = _by_function(self._chosen, missing)
        self._summary.write_text(json.dumps(found, indent=1))


def _by_function(chosen: Iterable[str], missing: set[str]) -> dict[str, bool]:
    """
    >>> _by_function(["a/test_b.py::test_c[1]", "a/test_b.py::test_c[2]"], {"a/test_b.py::test_c[2]"})
    {'test_b.py::test_c': False}
    """
    found: dict[str, bool] = {}
    for name in chosen:
        function = function_of(name)
        found[function] = found.get(function, True) and name not in missing
    return found


def function_of(nodeid: str) -> str:
    """The file and the name of a test, without its folder and its parameters.

    >>> function_of("tests/engines/spark/test_sql.py::test_a[x/y::z]")
    'test_sql.py::test_a'
    """
    place = nodeid.partition("[")[0]
    return place.rpartition("/")[2]


@cache
def digest_of(file: Path) -> str:
    """A digest of a test's file and of what all tests depend on."""
    return hashlib.sha256(_shared() + file.read_bytes()).hexdigest()[:16]


@cache
def _shared() -> bytes:
    found = {path for pattern in _SHARED for path in _ROOT.glob(pattern) if path.is_file()}
    digest = hashlib.sha256()
    for path in sorted(path for path in found if not path.stem.endswith("_cases")):
        digest.update(os.fsencode(path.relative_to(_ROOT)) + b"\0" + path.read_bytes())
    return digest.digest()
