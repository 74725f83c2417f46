"""What must hold before a version is published: ``make release`` runs this first.

python tests/release.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(root: Path) -> Iterator[str]:
    """What is not ready, one line each."""
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    module = (root / "src" / "windrow" / "__init__.py").read_text()
    if f'__version__ = "{version}"' not in module:
        yield f"pyproject.toml has version {version}, and windrow.__version__ another"
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text(), re.M
    ):
        yield f"CHANGELOG.md has no section '## [{version}] - <date>'"
    if _git(root, "status", "--porcelain"):
        yield "there are uncommitted changes"
    if f"v{version}" not in _git(root, "tag", "--points-at", "HEAD").split():
        yield f"this commit has no tag v{version}"


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def main() -> int:
    found = list(problems(ROOT))
    for problem in found:
        print(f"not ready: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
