"""Every case of ``tests/cases`` on tables and operators; ``engines/spark`` has Spark's tables and streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.case_tables import ENGINES, PATHS, complete, read_case
from windrow.testing import assert_same_results


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_case(engine: str, path: Path, request: pytest.FixtureRequest) -> None:
    case = read_case(path)
    case.skip_if_lacking(engine)
    found = case.shown(ENGINES[engine](case))
    try:
        assert_same_results(found, case.expected)
    except AssertionError:
        if engine != "one thread" or not request.config.getoption("--complete"):
            raise
        complete(case, found)


def test_each_case_says_what_it_is_about_and_names_engines_that_there_are() -> None:
    for path in PATHS:
        case = read_case(path)
        assert case.transcript.about
        assert case.expected
        assert set(case.lacks) <= {*ENGINES, "table", "stream"}
