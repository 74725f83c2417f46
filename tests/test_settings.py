"""The settings of all tests hold for doctests too, whichever files are chosen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "chosen",
    ["src/windrow/duration_text.py", "experiments/src/windrow_experiments/__init__.py", "docs/glossary.md"],
)
def test_a_profile_of_examples_is_known_where_only_doctests_are_chosen(chosen: str) -> None:
    assert (ROOT / chosen).exists()
    options = ["--hypothesis-profile=fast", "-p", "no:cacheprovider", "--collect-only", "-q"]
    command = [sys.executable, "-m", "pytest", *options, chosen]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "not registered" not in done.stdout + done.stderr
    assert done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), done.stderr
