"""The command of a benchmark of the field: its options, and its questions, asked while there is time."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

from common import progress
from sections.alternating import TURNS, Part

__all__ = ["add_outcome", "ask", "field_parser"]


def field_parser(description: str | None, quick: str, questions: Sequence[str]) -> argparse.ArgumentParser:
    """``quick``: what that is less of."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--turns", type=int, default=TURNS, help="how often each side runs")
    parser.add_argument("--only", action="append", choices=questions, help="may be given again")
    add_outcome(parser)
    return parser


def add_outcome(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", metavar="FILE", help="write the figures down, too")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="begin no question later, and name those left out"
    )


def ask(part: Part, questions: Mapping[str, Callable[[], object]], given: argparse.Namespace) -> None:
    """Those that were chosen, one after the other; what was found is written down after each, since all of
    them take minutes."""
    chosen = [name for name in questions if not given.only or name in given.only]
    for number, name in enumerate(chosen, 1):
        if given.budget is not None and part.so_far() > given.budget:
            part.skipped[name] = f"the {given.budget:.0f} s for all questions were over"
            progress(f"{name} is left out: {part.skipped[name]}")
        else:
            progress(f"{name}: {number} of {len(chosen)}")
            questions[name]()
        part.is_complete = number == len(chosen)
        part.write(given.json)
