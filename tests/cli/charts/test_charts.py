"""Charts: ticks of counts are whole, all text is inside, and names of any length are shown."""

from __future__ import annotations

import re

import pytest

from windrow.cli.charts.svg import LETTER, WIDTH, Chart, Series, draw

_TEXT = re.compile(r'<text x="([-\d.]+)" y="[-\d.]+" text-anchor="(\w+)">([^<]*)</text>')
LONG = "the_longest_call_of_the_last_twenty_four_hours_" * 5


def ticks(drawn: str, anchor: str) -> list[str]:
    """Those of the x axis are centred, those of the y axis end at it."""
    return [label for _, found, label in _TEXT.findall(drawn) if found == anchor]


def drawn_counts(steps: int, largest: int, kind: str) -> str:
    points = [(float(k), float(k % (largest + 1))) for k in range(steps)]
    return draw(Chart([Series("late", points)], "rows", "micro-batch number", kind=kind), "Late rows")


@pytest.mark.parametrize("kind", ["bar", "line", "dots"])
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 14, 21, 60, 400])
@pytest.mark.parametrize("largest", [0, 1, 2, 3, 9, 33])
def test_ticks_of_counts_are_whole(kind: str, steps: int, largest: int) -> None:
    drawn = drawn_counts(steps, largest, kind)
    for anchor in ("middle", "end"):
        labels = ticks(drawn, anchor)
        assert labels
        assert len(labels) <= 8
        assert all(label.isdigit() for label in labels)
        assert len(set(labels)) == len(labels)


def test_ticks_of_other_numbers_may_be_fractions() -> None:
    drawn = draw(Chart([Series("s", [(0.0, 0.31), (1.0, 0.87)])], "seconds"), "Time")
    assert "0.25" in ticks(drawn, "end")


@pytest.mark.parametrize("steps", [2, 3, 14, 30])
def test_bars_stand_over_their_ticks(steps: int) -> None:
    points = [(float(k), 1.0 + k) for k in range(steps)]
    drawn = draw(Chart([Series("rows", points)], "rows", kind="bar"), "t")
    bars = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn)
    middles = [float(x) + float(width) / 2 for x, width in bars]
    for x, anchor, label in _TEXT.findall(drawn):
        if anchor == "middle":
            assert float(x) == pytest.approx(middles[int(label)], abs=0.2)


@pytest.mark.parametrize("kind", ["bar", "line", "dots"])
@pytest.mark.parametrize("is_time", [False, True])
@pytest.mark.parametrize("scale", [1e-5, 0.3, 1.0, 7_777.0, 86_400.0, 3.3e7])
def test_all_ticks_are_inside(kind: str, is_time: bool, scale: float) -> None:
    for steps in (1, 2, 7, 30):
        points = [(k * scale, (k + 1) * scale) for k in range(steps)]
        for chart in (
            Chart([Series("a", points)], "y", x_is_time=is_time, kind=kind),
            Chart([Series("a", points)], "y", y_is_time=is_time, kind=kind),
        ):
            for x, anchor, label in _TEXT.findall(draw(chart, "t")):
                width = len(label) * LETTER
                left = float(x) - (width if anchor == "end" else width / 2)
                assert left >= -0.1
                assert left + width <= WIDTH + 0.1


def test_long_names_are_not_cut_off() -> None:
    chart = Chart(
        [Series(LONG + "a", [(0.0, 1.0), (1.0, 3.0)]), Series(LONG + "b", [(0.0, 2.0), (1.0, 1.0)])],
        LONG + "y",
        LONG + "x",
        levels=[(3.0, LONG + "level")],
        moments=[(1.0, LONG + "moment")],
    )
    drawn = draw(chart, "t")
    around = re.sub(r"<svg.*?</svg>", "", drawn, flags=re.DOTALL)  # where a browser breaks lines
    for end in ("a", "b", "y", "x", "level", "moment"):
        assert LONG + end in around
        assert drawn.count(f"{LONG}{end}<") == 1
