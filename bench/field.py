"""The field: all benchmarks against other systems in their quick forms, and one page of what they found.

    python bench/field.py [--only nexmark] [--resume] [--assemble] [--docs] [--smoke] [--scotty CHECKOUT]

Each part is a command of its own that writes JSON, and has so many seconds to begin questions in; those that
it does not get to are named on the page. ``--resume`` goes on where a run was stopped: parts that are there
are kept. ``--assemble`` runs none, and makes the page of what is there. In the folder there are then
``field.html``, ``field.json``, and ``field.md`` with all tables; ``--docs`` also writes the tables into
README.md and docs/field.md, and draws README's chart. ``--smoke`` asks little of each part, to see that all
of it runs: its figures say nothing. ``--scotty`` takes a checkout of Scotty's source, to be measured as well.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import runpy
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

from common import progress
from sections.field_page import field_page
from sections.field_tables import all_tables, lacking_lines, nexmark_table, put

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Step:
    """A part: its options, those of a smoke run, and the seconds in which it may begin questions."""

    program: str
    options: str
    smoke: str
    budget: float

    def command(self, is_smoke: bool) -> list[str]:
        return [self.program, *shlex.split(self.smoke if is_smoke else self.options)]


#: what is run, in the order of the page; together they end within a quarter of an hour
PARTS = {
    "rollfun": Step("rollfun.py", "--quick", "--rows 20000", 60),
    "local": Step(
        "local.py", "--quick --only rolling --only callback --only windows", "--quick --only callback", 90
    ),
    "scotty": Step("scotty.py", "--quick", "--rows 60000 --only '1 window, in order'", 150),
    "nexmark": Step("nexmark.py", "--quick", "--events 20000 --only q7", 300),
    "spark": Step(
        "spark_batch.py", "--rows 100000 --only day,rolling,own", "--rows 20000 --only rolling,own", 150
    ),
}


def run(
    names: list[str], parts: Path, is_smoke: bool, more: Mapping[str, list[str]] = MappingProxyType({})
) -> dict[str, str]:
    """Those that failed, with the reason. ``more``: further options of parts."""
    failed = {}
    begun = time.perf_counter()
    for number, name in enumerate(names, 1):
        program, *options = [*PARTS[name].command(is_smoke), *more.get(name, ())]
        so_far = time.perf_counter() - begun
        progress(
            f"part {number} of {len(names)}, after {so_far:.0f} s: bench/{program} {shlex.join(options)}"
        )
        target = parts / f"{name}.json"
        target.unlink(missing_ok=True)
        outcome = ["--json", str(target), "--budget", str(PARTS[name].budget)]
        command = [sys.executable, str(HERE / program), *options, *outcome]
        code = run_logged(command, log := parts / f"{name}.log")
        if code:
            failed[name] = f"exit code {code}, see {log}"
            progress(f"{name} failed: {failed[name]}")
    progress(f"all parts took {time.perf_counter() - begun:.0f} s")
    return failed


def run_logged(command: list[str], log: Path) -> int:
    """The exit code. All that the command prints is in the log, and its lines of progress are shown, too;
    Spark's workers and JVMs have much to say."""
    with log.open("w") as kept:
        running = subprocess.Popen(
            command, cwd=HERE.parent, stdout=kept, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        showing = threading.Thread(target=_show_progress, args=(running.stderr, kept), daemon=True)
        showing.start()
        code = running.wait()
        showing.join(10)  # not for ever: a JVM that outlives the command keeps its end open
    return code


def _show_progress(said: TextIO, kept: TextIO) -> None:
    with contextlib.suppress(ValueError):  # the log is closed
        for line in said:
            kept.write(line)
            if line.startswith("... "):
                progress(line.removeprefix("... ").rstrip())


def found_parts(parts: Path) -> list[dict[str, Any]]:
    """What has been found, in the order of ``PARTS``."""
    files = [parts / f"{name}.json" for name in PARTS]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def complete(found: list[dict[str, Any]]) -> set[str]:
    """The names of parts that came to their end."""
    return {part["name"] for part in found if part["is_complete"]}


def write_docs(found: list[dict[str, Any]], root: Path) -> None:
    """Only a whole run goes into the docs."""
    lacking = [name for name in PARTS if name not in complete(found)]
    if lacking:
        sys.exit(f"--docs: no figures of {', '.join(lacking)} yet: run them with --resume --docs")
    put(root / "README.md", nexmark_table(found))
    put(root / "docs" / "field.md", all_tables(found))
    runpy.run_path(str(root / "docs" / "first_screen.py"), run_name="__main__")  # the chart of README
    for title in lacking_lines(found):
        print(f"docs/field.md has no line for {title} in its short table: there are no figures of it")
    print(f"tables written into {root / 'README.md'} and {root / 'docs' / 'field.md'}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given again")
    parser.add_argument("--resume", action="store_true", help="leave out parts that are there already")
    parser.add_argument("--assemble", action="store_true", help="run nothing, show what is there")
    parser.add_argument("--docs", action="store_true", help="write the tables into README and docs, too")
    parser.add_argument("--smoke", action="store_true", help="see that all of it runs; figures say nothing")
    parser.add_argument("--scotty", type=Path, metavar="CHECKOUT", help="a folder with Scotty's source")
    parser.add_argument("--out", type=Path, help="folder of the results: bench/results/field, or smoke")
    given = parser.parse_args()
    if given.smoke and given.docs:
        parser.error("--docs: figures of --smoke say nothing")
    out = given.out or HERE / "results" / ("smoke" if given.smoke else "field")
    parts = out / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    names = [] if given.assemble else given.only or list(PARTS)
    there = complete(found_parts(parts)) if given.resume else set()
    try:
        more = {"scotty": ["--scotty", str(given.scotty.resolve())]} if given.scotty else {}
        failed = run([name for name in names if name not in there], parts, given.smoke, more)
    except KeyboardInterrupt:
        sys.exit("stopped: --resume goes on with the parts that are not complete")
    found = found_parts(parts)
    if not found:
        sys.exit(f"no parts in {parts}: run one, or leave out --assemble")
    (out / "field.md").write_text(all_tables(found))
    (out / "field.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "field.html").write_text(field_page(found, failed))
    print(all_tables(found))
    print(f"{out / 'field.html'}, with field.json and field.md beside it")
    if given.docs and not failed:
        write_docs(found, HERE.parent)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
