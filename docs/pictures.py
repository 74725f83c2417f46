"""The timelines of docs/windows.md: which rows each kind of window holds, asked of the window classes.

``python docs/pictures.py`` writes docs/pictures/*.svg. A test compares the files with what is made here, and
what is drawn here with what a query gives, so that a picture cannot be wrong.

A dot is a row, a bar a window, a dot in a bar a row that the window holds. Dashed bars are windows that give
no result. Colours are of medium brightness, so that they can be read on white and on black.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import windrow as wr
from windrow.windows import TimeWindow, Window, to_us

FOLDER = Path(__file__).parent / "pictures"

#: the table of docs/windows.md
NAMES = "abcdefgh"
COLUMNS: dict[str, list[Any]] = {
    "t": [1, 4, 8, 12, 14, 31, 33, 38],
    "row": [*NAMES],
    "km": [0.5, 3.0, 9.0, 11.0, 14.0, 20.5, 26.0, 38.0],
    "done": [False, False, True, False, None, False, True, False],
    "late": [True, True, False, True, True, True, None, True],
    "load": [2, 3, 5, 1, 4, 8, 2, 6],
}
#: calls around the night in which Berlin's clocks went forward, UTC
BERLIN = {
    "t": [to_us(f"2024-{when}Z") for when in ("03-30T02:00", "03-30T22:30", "03-31T00:30", "03-31T22:00")],
    "row": [*"abcd"],
}

WIDTH, LEFT, RIGHT = 640, 20, 620
AXIS, LANE, BAR = 52, 30, 22
GREY, BLUE, AMBER = "#6e7f91", "#3f7fd0", "#b9770e"


@dataclass(frozen=True)
class Bar:
    """A window as it is drawn: where it begins and ends, and the numbers of its rows."""

    start: float
    end: float
    rows: tuple[int, ...]
    #: "[start, end)"; "[first row, last row]", for windows that data decide; or "(start, end]", for rolling
    kind: str = "[)"
    #: why no query gives a result for it
    missing: str = ""


@dataclass(frozen=True)
class Picture:
    """A timeline with its windows."""

    name: str
    title: str
    window: Window | None
    bars: list[Bar]
    low: float
    high: float
    ticks: list[float]
    columns: dict[str, list[Any]]
    axis: str = "t"
    tick_text: Callable[[float], str] = "{:g}".format
    bar_text: Callable[[Bar], str] = lambda bar: bar.missing
    marked: tuple[int, ...] = ()
    #: a lane for each bar, even where two would have room in one
    is_one_a_lane: bool = False
    labels: list[str] | None = None


# -- which rows: asked of the window classes -----------------------------------------------------------------


def time_bars(window: TimeWindow, times: list[int], empty_until: int | None = None) -> list[Bar]:
    """Windows that time decides; with ``empty_until`` also those without a row, up to that time."""
    held: dict[tuple[int, int], list[int]] = {}
    for number, time in enumerate(times):
        for span in window.assign(time):
            held.setdefault(span, []).append(number)
    bars = [Bar(*span, tuple(rows)) for span, rows in held.items()]
    if empty_until is not None:
        every = window.windows_ending_in(times[0], empty_until)
        bars += [Bar(*span, (), missing="no rows") for span in every if span not in held]
    return sorted(bars, key=lambda bar: (bar.end, bar.start))


def session_bars(window: wr.Session, times: list[int]) -> list[Bar]:
    spans = window.merge(times)
    return [Bar(*span, tuple(i for i, t in enumerate(times) if span[0] <= t < span[1])) for span in spans]


def row_bars(window: wr.Rows, times: list[int]) -> list[Bar]:
    """Complete windows, and the first that the end of the table cuts off."""
    count = len(times)
    spans = list(window.windows_ending_in(0, count))
    cut_off = (span for span in window.assign(count - 1) if span[1] > count)
    complete = [_of_rows(range(*span), times) for span in spans]
    return complete + [_of_rows(range(span[0], count), times, "not complete") for span in list(cut_off)[:1]]


def punctuation_bars(window: wr.Punctuation, times: list[int], flags: list[bool | None]) -> list[Bar]:
    spans = list(window.split(flags))
    rest = range(spans[-1][1], len(times))
    return [*(_of_rows(range(*span), times) for span in spans), _of_rows(rest, times, "open")]


def threshold_bars(window: wr.Threshold, times: list[int], flags: list[bool | None]) -> list[Bar]:
    """Runs that have ended, and the one that the end of the table cuts off."""
    spans = list(window.split(flags))
    rest = [row for row in range(spans[-1][1], len(times)) if flags[row]]
    return [*(_of_rows(range(*span), times) for span in spans), _of_rows(rest, times, "open")]


def delta_bars(window: wr.Delta, values: list[float]) -> list[Bar]:
    numbers = sorted({k for value in values for k in window.assign(value)})
    held = [tuple(i for i, value in enumerate(values) if k in window.assign(value)) for k in numbers]
    return [Bar(*window.bounds(k), rows) for k, rows in zip(numbers, held, strict=True)]


def policy_bars(window: wr.Policy, times: list[int], loads: list[int]) -> list[Bar]:
    """What the policy leaves after each row, by the algorithm that tries one prefix after the other."""
    rows = wr.swag.Recalc(wr.together(load=wr.sum, n=wr.count))
    bars = []
    for number, load in enumerate(loads):
        rows.insert(load)
        rows.evict_while(window.fn)
        bars.append(_of_rows(range(number + 1 - len(rows), number + 1), times))
    return bars


def rolling_bars(size: int, times: list[int]) -> list[Bar]:
    """(t - size, t] for each row; the counts come from ``roll_time``."""
    counts = wr.swag.TwoStacksLite(wr.count).roll_time(times, times, size)
    return [
        Bar(time - size, time, tuple(range(number + 1 - count, number + 1)), kind="(]")
        for number, (time, count) in enumerate(zip(times, counts, strict=True))
    ]


def _of_rows(rows: Iterable[int], times: list[int], missing: str = "") -> Bar:
    held = tuple(rows)
    return Bar(times[held[0]], times[held[-1]], held, "[]", missing)


# -- the pictures --------------------------------------------------------------------------------------------


def heavy(total: Any, old: Any) -> bool:
    """Keep the fewest rows that weigh ten or more."""
    return bool(total.load - old.load >= 10)


def pictures() -> list[Picture]:
    times, row_sets = COLUMNS["t"], COLUMNS
    tumbling, sliding = wr.Tumbling(10), wr.Sliding(10, slide=4)
    cumulative, fixed = wr.Cumulative(20, step=5), wr.Fixed(5, 10)
    session, short = wr.Session(gap=5), wr.Session(gap=5, max_size=10)
    rows, punctuation, threshold = wr.Rows(3, slide=2), wr.Punctuation("done"), wr.Threshold("late")
    delta, policy = wr.Delta("km", size=10), wr.Policy(heavy)
    flags = tuple(i for i, flag in enumerate(row_sets["done"]) if flag)
    ending = tuple(i for i, flag in enumerate(row_sets["late"]) if not flag)
    drawn: list[tuple[str, Window | None, list[Bar]]] = [
        ("tumbling", tumbling, time_bars(tumbling, times, empty_until=40)),
        ("sliding", sliding, time_bars(sliding, times)),
        ("session", session, session_bars(session, times)),
        ("session_max_size", short, session_bars(short, times)),
        ("cumulative", cumulative, time_bars(cumulative, times, empty_until=40)),
        ("fixed", fixed, time_bars(fixed, times)),
        ("rows", rows, row_bars(rows, times)),
        ("punctuation", punctuation, punctuation_bars(punctuation, times, row_sets["done"])),
        ("threshold", threshold, threshold_bars(threshold, times, row_sets["late"])),
        ("policy", policy, policy_bars(policy, times, row_sets["load"])),
        ("rolling", None, rolling_bars(10, times)),
    ]
    found = []
    for name, window, bars in drawn:
        low = min(0.0, *(bar.start for bar in bars))
        high = max(40.0, *(bar.end for bar in bars))
        title = "rolling(10)" if window is None else repr(window)
        found.append(Picture(name, title, window, bars, low, high, _tens(low, high), COLUMNS))
    weights = [f"{name} {load}" for name, load in zip(NAMES, COLUMNS["load"], strict=True)]
    extra = {
        "punctuation": {"marked": flags},
        "threshold": {"marked": ending},
        "policy": {"is_one_a_lane": True, "labels": weights},
        "rolling": {"is_one_a_lane": True},
    }
    found = [replace(picture, **extra.get(picture.name, {})) for picture in found]
    bars = delta_bars(delta, row_sets["km"])
    found.append(Picture("delta", repr(delta), delta, bars, 0, 40, _tens(0, 40), COLUMNS, axis="km"))
    found.append(_berlin())
    return found


def _berlin() -> Picture:
    window = wr.Tumbling("1d", timezone="Europe/Berlin")
    low, high = to_us("2024-03-29T22:00Z"), to_us("2024-04-01T23:00Z")
    hour = 3_600_000_000
    return Picture(
        name="berlin",
        title=repr(window),
        window=window,
        bars=time_bars(window, BERLIN["t"]),
        low=low,
        high=high,
        ticks=[float(t) for t in range(to_us("2024-03-30"), high, 12 * hour)],
        columns=BERLIN,
        axis="UTC",
        tick_text=lambda t: f"{datetime(1970, 1, 1) + timedelta(microseconds=t):%d %b %H:%M}",
        bar_text=lambda bar: f"{(bar.end - bar.start) / hour:g} h",
    )


def _tens(low: float, high: float) -> list[float]:
    first = int(-(-low // 10))
    return [10.0 * k for k in range(first, int(high // 10) + 1)]


# -- drawing -------------------------------------------------------------------------------------------------


def draw(picture: Picture) -> str:
    """The picture as SVG text."""
    lanes = [*range(len(picture.bars))] if picture.is_one_a_lane else _lanes(picture.bars)
    height = AXIS + 14 + LANE * (max(lanes) + 1)
    body = [*_axis(picture, height)]
    for bar, lane in zip(picture.bars, lanes, strict=True):
        body += _bar(picture, bar, AXIS + 12 + LANE * lane)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" font-family="Verdana, DejaVu Sans, sans-serif" '
        f'font-size="11">'
    )
    title = _escaped(f"{picture.title}: rows as dots, windows as bars")
    return "\n".join([head, f"  <title>{title}</title>", *(f"  {line}" for line in body), "</svg>", ""])


def _axis(picture: Picture, height: int) -> Iterator[str]:
    """Title, rows, axis and ticks, and a faint line down from each tick."""
    yield _text(LEFT, 13, picture.title, "start", size=12, family="monospace")
    yield _text(RIGHT, 13, picture.axis, "end")
    yield f'<path d="M{LEFT} {AXIS - 12}H{RIGHT}" stroke="{GREY}"/>'
    for tick in picture.ticks:
        x = _x(picture, tick)
        yield f'<path d="M{x} {AXIS - 16}v8" stroke="{GREY}"/>'
        faint = f'stroke="{GREY}" stroke-opacity="0.3" stroke-dasharray="2 3"'
        yield f'<path d="M{x} {AXIS + 6}V{height}" {faint}/>'
        yield _text(x, AXIS + 3, picture.tick_text(tick), "middle", size=10)
    for number, (name, at) in enumerate(
        zip(picture.labels or picture.columns["row"], _places(picture), strict=True)
    ):
        x = _x(picture, at)
        colour = AMBER if number in picture.marked else BLUE
        yield f'<circle cx="{x}" cy="{AXIS - 12}" r="4.5" fill="{colour}"/>'
        yield _text(x, AXIS - 20, name, "middle")


def _bar(picture: Picture, bar: Bar, top: int) -> Iterator[str]:
    """A bar with its rows in it; those that no query gives are dashed and say why."""
    first, last = _x(picture, bar.start), _x(picture, bar.end)
    # an end that is a row, and in the window, is drawn around that row
    first -= 9 if bar.kind == "[]" else 0
    last += 9 if bar.kind.endswith("]") else 0
    shape = f'x="{first:g}" y="{top}" width="{last - first:g}" height="{BAR}" rx="4"'
    style = f'fill="{BLUE}" fill-opacity="0.16" stroke="{BLUE}"'
    if bar.missing:
        style = f'fill="none" stroke="{GREY}" stroke-dasharray="4 3"'
    yield f"<rect {shape} {style}/>"
    middle = top + BAR / 2
    at = _places(picture)
    for number in bar.rows:
        colour = AMBER if number in picture.marked else GREY if bar.missing else BLUE
        yield f'<circle cx="{_x(picture, at[number])}" cy="{middle:g}" r="4" fill="{colour}"/>'
    text = picture.bar_text(bar)
    if text and bar.missing and bar.rows:
        yield _text(first - 6, middle + 4, text, "end")
    elif text:
        yield _text((first + last) / 2, middle + 4, text, "middle")


def _places(picture: Picture) -> list[float]:
    return [float(v) for v in picture.columns["km" if picture.axis == "km" else "t"]]


def _lanes(bars: list[Bar]) -> list[int]:
    """For each bar the highest lane in which it has room. [0, 10) and [10, 20) have, in one; two that hold
    the same row have not."""
    ends: list[tuple[float, bool]] = []
    lanes = []
    for bar in bars:
        lane = 0
        while lane < len(ends) and not (ends[lane][0] < bar.start or ends[lane] == (bar.start, False)):
            lane += 1
        ends[lane : lane + 1] = [(bar.end, bar.kind == "[]")]
        lanes.append(lane)
    return lanes


def _x(picture: Picture, value: float) -> float:
    share = (value - picture.low) / (picture.high - picture.low)
    return round(LEFT + 10 + share * (RIGHT - LEFT - 20), 1)


def _text(x: float, y: float, text: str, anchor: str, size: int = 11, family: str = "") -> str:
    font = f' font-family="{family}"' if family else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{GREY}"{font}>'
        f"{_escaped(text)}</text>"
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for picture in pictures():
        (FOLDER / f"{picture.name}.svg").write_text(draw(picture), encoding="utf-8")


if __name__ == "__main__":
    main()
