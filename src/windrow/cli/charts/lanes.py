"""Lanes below a chart, on its time axis: stretches of time, as windows and slices are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from windrow.cli.show.out import visible

if TYPE_CHECKING:
    from windrow.cli.charts.axes import Axis, LogAxis

__all__ = ["LANE_GAP", "Lane", "Span", "draw_lanes"]

LANE_GAP = 6.0
#: letters beside a lane
_LONGEST_NAME = 14


@dataclass(frozen=True)
class Span:
    """A stretch of a lane: a class of the style, and how much of the height it takes, from where."""

    start: float
    end: float
    look: str
    height: float = 1.0
    top: float = 0.0


@dataclass(frozen=True)
class Lane:
    """What happened when: stretches of time beside a name; ``text`` says what they are."""

    name: str
    spans: Sequence[Span]
    text: str = ""
    height: float = 14.0

    @property
    def label(self) -> str:
        """What there is room for."""
        name = visible(self.name)
        return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def draw_lanes(lanes: Sequence[Lane], axis: Axis | LogAxis, top: float) -> str:
    """Lanes from ``top`` downwards, their names to the left of the axis; what is outside of it is cut off."""
    parts = []
    for lane in lanes:
        middle = top + lane.height / 2 + 4
        parts.append(
            f'<text x="{axis.start - 6:.1f}" y="{middle:.1f}" text-anchor="end">{escape(lane.label)}</text>'
        )
        parts.append(
            f'<rect x="{axis.start:.1f}" y="{top:.1f}" width="{axis.end - axis.start:.1f}" '
            f'height="{lane.height:g}" class="lane"><title>{escape(visible(lane.text))}</title></rect>'
        )
        parts += [drawn for span in lane.spans if (drawn := _draw_span(span, lane, axis, top))]
        if lane.text and not lane.spans:
            x = (axis.start + axis.end) / 2
            parts.append(
                f'<text x="{x:.1f}" y="{middle:.1f}" text-anchor="middle">{escape(visible(lane.text))}</text>'
            )
        top += lane.height + LANE_GAP
    return "".join(parts)


def _draw_span(span: Span, lane: Lane, axis: Axis | LogAxis, top: float) -> str:
    left, right = max(axis.place(span.start), axis.start), min(axis.place(span.end), axis.end)
    if right < axis.start or left > axis.end:
        return ""
    width = right - left - (1.0 if right - left > 3 else 0.0)  # so that neighbours are seen apart
    y, height = top + span.top * lane.height, span.height * lane.height
    return (
        f'<rect x="{left:.1f}" y="{y:.1f}" width="{max(width, 1.0):.1f}" height="{height:.1f}" '
        f'class="{span.look}"/>'
    )
