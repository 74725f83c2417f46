"""``windrow bench`` where the experiments are not installed, as from the wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Python as it is where no path leads to the experiments; further arguments are paths to put first.
WITHOUT_EXPERIMENTS = """
import sys
from pathlib import Path

sys.path[:] = [path for path in sys.path if not Path(path, "windrow_experiments").exists()]
sys.path[:0] = sys.argv[2:]
from windrow.cli.main import main

sys.exit(main(sys.argv[1].split()))
"""


def run(command: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", WITHOUT_EXPERIMENTS, command, *map(str, paths)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["bench", "bench all --quick", "bench --from papers.json"])
def test_without_experiments_one_line_says_how_to_get_them(command: str) -> None:
    done = run(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the experiments of the papers are not installed: "
        "clone windrow's repository and run 'make papers' there\n"
    )


def test_what_is_left_of_a_removed_package_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "windrow_experiments" / "__pycache__").mkdir(parents=True)
    done = run("bench", tmp_path)
    assert done.returncode == 2
    assert "clone windrow's repository" in done.stderr


def test_experiments_that_miss_a_package_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for the file with the whole error
    package = tmp_path / "windrow_experiments"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "command.py").write_text("import no_such_package\n")
    done = run("bench", tmp_path)
    assert done.returncode == 1
    assert "No module named 'no_such_package'" in done.stderr
    assert "clone" not in done.stderr


def test_the_other_commands_need_no_experiments() -> None:
    assert run("--version").returncode == 0
    assert "EXPERIMENT" in run("bench --help").stdout
