"""A comparison as SVG: one bar for each time, all on one scale, grouped by what was worked on.

Names stand beside the drawing, where a browser breaks lines: in it there are only bars and their times.
"""

from __future__ import annotations

from html import escape

from windrow.cli.charts.svg import COLOURS, LETTER, WIDTH, legend
from windrow.cli.show.comparison import Comparison
from windrow.cli.show.progress import human_seconds

__all__ = ["comparison_figure"]

_BAR, _GAP = 18, 6


def comparison_figure(comparison: Comparison) -> str:
    """The figure; an empty text if nothing was compared."""
    if not comparison.longest:
        return ""
    groups = [
        f"<h4>{escape(what)}</h4>{_group(comparison, what, list(times))}"
        for what, times in comparison.seconds
    ]
    names = [(f"c{number % COLOURS}", way) for number, way in enumerate(comparison.ways)]
    return f'<figure class="bars">{"".join(groups)}{legend(names)}</figure>'


def _group(comparison: Comparison, what: str, times: list[float]) -> str:
    longest_label = max(len(human_seconds(time)) for _, all_times in comparison.seconds for time in all_times)
    room = WIDTH - longest_label * LETTER - _GAP
    parts = []
    for number, time in enumerate(times):
        top = number * (_BAR + _GAP)
        width = max(room * time / comparison.longest, 1.0)
        parts.append(
            f'<rect x="0" y="{top}" width="{width:.1f}" height="{_BAR}" class="bar c{number % COLOURS}"/>'
            f'<text x="{width + _GAP:.1f}" y="{top + _BAR - 5}">{human_seconds(time)}</text>'
        )
    height = len(times) * (_BAR + _GAP)
    title = f"{comparison.title}: {what}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
