"""Progress on a terminal, as plain lines in a pipe, as JSON for machines."""

from __future__ import annotations

import sys

from windrow.cli.show.lines import JsonLines, PlainLines, Reporter, Silent
from windrow.cli.show.progress import Progress, Totals

__all__ = ["JsonLines", "PlainLines", "Progress", "Reporter", "Silent", "Totals", "reporter_for"]


def reporter_for(as_json: bool, quiet: bool = False) -> Reporter:
    """What suits where the output goes."""
    if as_json:
        return JsonLines()
    if quiet:
        return Silent()
    if sys.stderr.isatty():
        try:
            from windrow.cli.show.live import LiveLine
        except ImportError:  # rich is in the extra "cli"
            return PlainLines()
        return LiveLine()
    return PlainLines()
