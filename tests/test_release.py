"""A version is published only from a tagged, clean commit whose changelog names it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from release import problems

ROOT = Path(__file__).parents[1]


def _git(root: Path, *arguments: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *author, *arguments], cwd=root, capture_output=True, check=True)


def _repository(root: Path, changelog: str, version: str = "0.2.0") -> Path:
    (root / "src" / "windrow").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    (root / "src" / "windrow" / "__init__.py").write_text(f'__version__ = "{version}"\n')
    (root / "CHANGELOG.md").write_text(changelog)
    _git(root, "init", "--quiet")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", "all")
    return root


def test_a_tagged_commit_with_its_changelog_is_ready(tmp_path: Path) -> None:
    root = _repository(tmp_path, "## [Unreleased]\n\n## [0.2.0] - 2026-11-20\n")
    assert list(problems(root)) == ["this commit has no tag v0.2.0"]
    _git(root, "tag", "v0.2.0")
    assert list(problems(root)) == []


def test_everything_that_is_not_ready_is_named(tmp_path: Path) -> None:
    root = _repository(tmp_path, "## [Unreleased]\n", version="0.1.0")
    (root / "more.txt").write_text("")
    assert list(problems(root)) == [
        "pyproject.toml has version 0.2.0, and windrow.__version__ another",
        "CHANGELOG.md has no section '## [0.2.0] - <date>'",
        "there are uncommitted changes",
        "this commit has no tag v0.2.0",
    ]


def test_the_workflow_checks_and_tries_what_it_publishes() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    commands = [step.get("run") for step in jobs["build"]["steps"]]
    assert commands.index(".venv/bin/python tests/release.py") < commands.index("make package")
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
