"""Every test is in a tier: nothing that looks like a test is collected by none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.tiers import REST, SLOW, is_listed

ROOT = Path(__file__).parents[1]
TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
#: files of tests that other tests and ``make compat`` run in processes of their own
CASES = re.compile(r"_cases\.py$")


@pytest.mark.parametrize("places", [REST, SLOW], ids=["rest", "slow"])
def test_what_can_wait_exists(places: dict[str, str]) -> None:
    for place in places:
        path, _, name = place.partition("::")
        assert (ROOT / path).exists(), f"{path} is listed, and does not exist"
        assert not name or f"def {name}(" in (ROOT / path).read_text()


@pytest.mark.parametrize("folder", ["tests", "experiments", "bench", "examples", "src"])
def test_files_with_tests_are_collected(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if TEST.search(path.read_text()) and not CASES.search(path.name):
            assert path.name.startswith("test_"), f"{path.relative_to(ROOT)} has tests, and no tier runs them"


def test_cases_are_run_by_name() -> None:
    runners = "".join(
        (ROOT / "tests" / name).read_text() for name in ("compat.py", "engines/spark/test_connect.py")
    )
    for path in (ROOT / "tests").rglob("*_cases.py"):
        assert path.name in runners, f"{path.name} has tests, and no tier runs them"


def test_kills_and_clusters_can_wait() -> None:
    assert is_listed("tests/engines/spark/test_kafka.py::test_verify[local]", REST)
    assert is_listed("experiments/tests/test_mta.py::test_any", REST)
    assert not is_listed("tests/engines/spark/test_streaming.py::test_windows", REST)
    assert not is_listed("tests/engines/stream/persistence/test_operator_kills.py::test_any", REST)
