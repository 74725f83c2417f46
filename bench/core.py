"""The core's benchmarks: kernels against C++, latency, bulk eviction, start, plain Python, memory.

    python bench/core.py [--quick] [--large] [--only kernels|latency|bulk|start|plain|memory] [--json FILE]

Figures are ratios and times of one run on one machine; see bench/README.md for what each table means.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import Settings, machine, progress

SECTIONS = ("kernels", "latency", "bulk", "start", "plain", "memory")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    settings = Settings(quick=options.quick, large=options.large)
    about = machine()
    print(", ".join(f"{name} {what}" for name, what in about.items()))
    results: dict[str, Any] = {"machine": about, "quick": options.quick}
    begun = time.perf_counter()
    for name in options.only or SECTIONS:
        section = importlib.import_module(f"sections.{name}")
        results[name] = section.measure(settings)
        section.show(results[name])
    progress(f"done in {time.perf_counter() - begun:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Benchmarks of windrow's core.")
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes and fewer repeats, about a minute"
    )
    parser.add_argument(
        "--large", action="store_true", help="also Bloom filters in windows of 2^20: 2 GiB a side"
    )
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section; may be given again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to a file, too")
    return parser


if __name__ == "__main__":
    main()
