"""The field: all benchmarks against other systems in their quick forms, and one page of what they found.

    python bench/field.py [--only nexmark] [--assemble] [--out FOLDER]

Each part is a command of its own that writes JSON; ``--assemble`` makes the page of what is there, so that
parts can also be run one by one, on a machine that is idle for a few minutes only. Parts with the same name
are merged. In the folder there are then ``field.html``, ``field.json``, and ``field.md`` with the tables for
README and docs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from common import progress
from sections.field_page import field_page, markdown

HERE = Path(__file__).parent
#: what is run, in the order of the page
PARTS = {
    "rollfun": ["rollfun.py", "--quick"],
    "local": ["local.py", "--quick", "--only", "rolling", "--only", "callback", "--only", "windows"],
    "scotty": ["scotty.py", "--quick"],
    "nexmark": ["nexmark.py", "--quick"],
    "spark": ["spark_batch.py", "--rows", "100000", "--only", "day,rolling,own"],
}


def run(names: list[str], parts: Path) -> dict[str, str]:
    """Those that failed, with the reason."""
    failed = {}
    for number, name in enumerate(names, 1):
        begun = time.perf_counter()
        progress(f"part {number} of {len(names)}: python bench/{' '.join(PARTS[name])}")
        program, *options = PARTS[name]
        target = parts / f"{name}.json"
        target.unlink(missing_ok=True)
        command = [sys.executable, str(HERE / program), *options, "--json", str(target)]
        ran = subprocess.run(command, cwd=HERE.parent)
        if ran.returncode:
            failed[name] = f"exit code {ran.returncode}"
        progress(f"{name} took {time.perf_counter() - begun:.0f} s")
    return failed


def merged(parts: Path) -> list[dict[str, Any]]:
    """What has been found, in the order of ``PARTS``; files of one part in the order of their names."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(parts.glob("*.json")):
        part = json.loads(file.read_text())
        known = found.setdefault(part["name"], part)
        if known is not part:
            known["figures"] += part["figures"]
            known["about"] |= part["about"]
            known["skipped"] |= part["skipped"]
            known["seconds"] += part["seconds"]
            known["command"] = "bench/" + " ".join(PARTS[part["name"]])
            for title, rows in part["tables"].items():
                known["tables"].setdefault(title, []).extend(rows)
    return sorted(found.values(), key=lambda part: list(PARTS).index(part["name"]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given again")
    parser.add_argument("--assemble", action="store_true", help="run nothing, show what is there")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "field", help="folder of the results")
    given = parser.parse_args()
    parts = given.out / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    failed = {} if given.assemble else run(given.only or list(PARTS), parts)
    found = merged(parts)
    if not found:
        sys.exit(f"no parts in {parts}: run one, or leave out --assemble")
    tables = markdown(found)
    (given.out / "field.md").write_text(tables)
    (given.out / "field.json").write_text(json.dumps(found, indent=1) + "\n")
    (given.out / "field.html").write_text(field_page(found, failed))
    print(tables)
    print(f"{given.out / 'field.html'}, with field.json and field.md beside it")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
