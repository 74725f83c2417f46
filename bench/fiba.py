"""FiBA on rows out of order, against the C++ library of its authors, and beside the operator's blocks.

    python bench/fiba.py [--quick] [--reference FOLDER] [--only orders|blocks] [--json FILE]

``--reference`` names the folder ``cpp/src`` of IBM's sliding-window-aggregators; without it there are no
ratios to C++. Seconds are those of the processor. See bench/README.md for what the tables mean.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import Settings, machine

SECTIONS = ("orders", "blocks")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    about = machine()
    print(", ".join(f"{name} {what}" for name, what in about.items()))
    results: dict[str, Any] = {"machine": about, "quick": options.quick}
    for name in options.only or SECTIONS:
        section = importlib.import_module(f"sections.fiba_{name}")
        results[name] = section.measure(Settings(quick=options.quick), options.reference)
        section.show(results[name])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Benchmarks of FiBA.")
    parser.add_argument("--quick", action="store_true", help="fewer rows, half a minute")
    parser.add_argument("--reference", type=Path, metavar="FOLDER", help="cpp/src of the C++ library")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section; may be given again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to a file, too")
    return parser


if __name__ == "__main__":
    main()
