"""``make chaos``: kills, damage, full disks, two writers and forged state, many times; ends with one table.

    python tests/chaos.py [--only TEXT] [--record FILE] [--write-docs]
    python tests/chaos.py --from FILE [--write-docs]

The tests are those of ``make test-all``, with larger numbers. What they count is in ``--record`` (one line of
JSON for each test), which may be of several runs. Ends with an error if a test fails, if anything that was
tried did not hold, or, unless ``--only`` has chosen some, if a scenario was not tried.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.chaos_counts import RECORD, SCENARIOS, read_counts, table

ROOT = Path(__file__).resolve().parents[1]
GUARANTEES = ROOT / "docs" / "guarantees.md"
BEGIN, END = "<!-- chaos: begin -->\n", "<!-- chaos: end -->\n"

#: the tests, and how many times they try
RUNS: dict[str, dict[str, int]] = {
    "tests/engines/stream/persistence/test_operator_kills.py": {"WINDROW_CHAOS_OPERATOR_KILLS": 100},
    "tests/state/test_crashes.py": {"WINDROW_CHAOS_WINDOW_KILLS": 2},
    "tests/state/test_disks.py": {"WINDROW_CHAOS_DAMAGES": 250, "WINDROW_CHAOS_FULL": 30},
    "tests/engines/stream/persistence/test_two_writers.py": {"WINDROW_CHAOS_TAKEOVERS": 100},
    "tests/engines/stream/persistence/test_fenced_commits.py": {"WINDROW_CHAOS_PUT_BACK": 50},
    "tests/engines/stream/test_forged_state.py": {"WINDROW_CHAOS_FORGED": 5_000},
    "tests/engines/spark/test_exactly_once.py": {"WINDROW_CHAOS_KILLS": 20, "WINDROW_CHAOS_BATCHES": 150},
    "tests/engines/spark/test_history_kills.py": {"WINDROW_CHAOS_HISTORY_KILLS": 5},
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.earlier is not None:
        return _finish(Path(options.earlier), list(SCENARIOS), options.write_docs)
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(options.record or Path(scratch) / "counts.jsonl").resolve()
        record.touch()
        chosen = [path for path in RUNS if options.only in path]
        failed = [path for path in chosen if not _run(path, record)]
        needed = list(SCENARIOS) if chosen == list(RUNS) else []
        status = _finish(record, needed, options.write_docs and not failed)
    for path in failed:
        print(f"failed: {path}", file=sys.stderr)
    return 1 if failed else status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("chaos", description="Kill, damage and forge, and count what holds.")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the tests whose path has this in it")
    parser.add_argument("--record", metavar="FILE", help="add what is counted to this file")
    parser.add_argument("--from", dest="earlier", metavar="FILE", help="run nothing: the table of a record")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/guarantees.md")
    return parser


def _run(path: str, record: Path) -> bool:
    """Whether the tests of a file pass."""
    numbers = {name: str(value) for name, value in RUNS[path].items()}
    command = [sys.executable, "-m", "pytest", "-q", path]
    print(" ".join([*(f"{name}={value}" for name, value in numbers.items()), "pytest", path]), flush=True)
    return subprocess.run(command, cwd=ROOT, env=os.environ | numbers | {RECORD: str(record)}).returncode == 0


def _finish(record: Path, needed: Sequence[str], writes_docs: bool) -> int:
    counts = read_counts(record.read_text().splitlines())
    print(f"\n{table(counts)}")
    faults = found_wrong(counts, needed)
    for fault in faults:
        print(fault, file=sys.stderr)
    if writes_docs and not faults:
        GUARANTEES.write_text(with_table(GUARANTEES.read_text(), table(counts)))
    return 1 if faults else 0


def found_wrong(counts: Mapping[str, tuple[int, int]], needed: Sequence[str]) -> list[str]:
    """What keeps a run from being good.

    >>> found_wrong({"Disk full": (3, 2)}, ["Disk full", "RocksDB's log damaged"])
    ['Disk full: 3 tried, 2 held', "RocksDB's log damaged: not tried"]
    """
    broken = [
        f"{name}: {tried} tried, {held} held" for name, (tried, held) in counts.items() if held != tried
    ]
    return broken + [f"{name}: not tried" for name in needed if not counts.get(name, (0, 0))[0]]


def with_table(text: str, rows: str) -> str:
    """A page with a table between the marks.

    >>> with_table(f"a\\n{BEGIN}old\\n{END}b\\n", "new") == f"a\\n{BEGIN}new\\n{END}b\\n"
    True
    """
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{GUARANTEES.name} has no place for the table: put in {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}{rows}\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
