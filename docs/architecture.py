"""Draws docs/architecture.svg: rows on their way through the rooms of the house, for each engine.

Run it after a module has moved: ``python docs/architecture.py``. A test checks that the file is what this
script makes, and that every module it names is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["FILE", "FOUNDATIONS", "LANES", "draw"]

FILE = Path(__file__).parent / "architecture.svg"

STATIONS = ("rows come in", "cut and folded once", "kept, windows found", "combined", "results go out")


@dataclass(frozen=True)
class Stop:
    """Where rows are: the modules, below ``windrow``, and what happens there."""

    modules: tuple[str, ...]
    says: str
    #: rows cross the network before they are here
    shuffled: bool = False


@dataclass(frozen=True)
class Lane:
    """One way through the house."""

    name: str
    call: str
    colour: str
    stops: tuple[Stop, ...]


LANES = (
    Lane(
        "Table",
        "query.run(table)",
        "#2563a8",
        (
            Stop(("rows.tables", "rows.frame"), "sorted, if order counts"),
            Stop(("slicing.slicer",), "every shared edge cut once"),
            Stop(("slicing.finder", "engines.data_windows"), "windows as ranges of slices or rows"),
            Stop(("partials.aggregate", "swag.native"), "folded, or slid through Two-Stacks"),
            Stop(("engines.result_tables",), "Arrow, pandas or Polars"),
        ),
    ),
    Lane(
        "Operator",
        "query.open().push(table)",
        "#2f7d4f",
        (
            Stop(("engines.stream.intake", "rows.frame"), "checked, keys numbered"),
            Stop(("slicing.batch", "partials.fold"), "slices of this push, as partials"),
            Stop(("slicing.time_manager", "engines.kept_rows"), "blocks of slices, until the watermark"),
            Stop(("engines.stream.advance", "partials.columns"), "what is due is combined"),
            Stop(("engines.stream.results", "engines.stream.persistence"), "stored, then handed over"),
        ),
    ),
    Lane(
        "Spark batch",
        "query.run(dataframe)",
        "#b4601d",
        (
            Stop(("engines.spark.worker.chunks",), "Arrow batches of a partition"),
            Stop(("engines.spark.worker.windows.fold_task",), "partials by key and slice"),
            Stop(("engines.spark.worker.windows.assembly",), "slices of a key, sorted", shuffled=True),
            Stop(("partials.columns",), "windows from slices"),
            Stop(("engines.spark.windows.run",), "a DataFrame"),
        ),
    ),
    Lane(
        "Spark stream",
        "query.run(stream)",
        "#8a3d82",
        (
            Stop(("engines.spark.worker.streaming.pack_task",), "rows of a micro-batch"),
            Stop(("engines.stream.prefolded",), "slices, packed by bucket of keys"),
            Stop(("engines.spark.worker.streaming.step",), "the operator, state in Spark's", shuffled=True),
            Stop(("engines.stream.advance",), "what is due is combined"),
            Stop(("engines.spark.worker.streaming.result_rows",), "a streaming DataFrame"),
        ),
    ),
)

FOUNDATIONS = (
    ("windows", "which rows belong together"),
    ("monoids", "lift, combine, lower"),
    ("compile", "Python to native code"),
    ("swag", "the papers' algorithms"),
    ("state", "codec, stores, levels"),
)

_LEFT, _TOP, _WIDTH, _HEIGHT, _STEP_X, _STEP_Y = 158, 64, 204, 66, 244, 96
_INK, _QUIET, _PAPER = "#1c2430", "#5b6675", "#ffffff"


def draw() -> str:
    """The picture as SVG."""
    wide = _LEFT + _STEP_X * len(STATIONS) + 6
    high = _TOP + _STEP_Y * len(LANES) + 92
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
        f'aria-label="Rows on their way through windrow" font-family="system-ui, sans-serif">',
        f'<rect width="{wide}" height="{high}" fill="{_PAPER}"/>',
    ]
    for k, station in enumerate(STATIONS):
        parts.append(_text(_LEFT + k * _STEP_X + _WIDTH / 2, 34, station, 14, _INK, "middle", bold=True))
    for row, lane in enumerate(LANES):
        parts += _lane(lane, _TOP + row * _STEP_Y)
    parts += _foundations(_TOP + len(LANES) * _STEP_Y + 10)
    return "\n".join([*parts, "</svg>", ""])


def _lane(lane: Lane, y: float) -> list[str]:
    middle = y + _HEIGHT / 2
    parts = [
        _text(8, middle - 4, lane.name, 15, lane.colour, "start", bold=True),
        _text(8, middle + 14, lane.call, 10.5),
    ]
    for k, stop in enumerate(lane.stops):
        x = _LEFT + k * _STEP_X
        if k:
            parts.append(_arrow(x - (_STEP_X - _WIDTH), x, middle, lane.colour, stop.shuffled))
        parts += _box(stop, x, y, lane.colour)
    return parts


def _box(stop: Stop, x: float, y: float, colour: str) -> list[str]:
    lines = [_short(module) for module in stop.modules]
    parts = [
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="{colour}" '
        f'fill-opacity="0.07" stroke="{colour}" stroke-width="1.2"/>'
    ]
    first = y + (20 if len(lines) > 1 else 27)
    for k, line in enumerate(lines):
        parts.append(_text(x + _WIDTH / 2, first + 15 * k, line, 11.5, _INK, "middle", mono=True))
    parts.append(_text(x + _WIDTH / 2, y + _HEIGHT - 10, stop.says, 10.5, _QUIET, "middle"))
    return parts


def _short(module: str) -> str:
    """A module as the box names it: the engine's folder is the lane's."""
    return module.replace("engines.spark.worker.", "worker/").replace("engines.", "").replace(".", "/")


def _arrow(x1: float, x2: float, y: float, colour: str, shuffled: bool) -> str:
    dashes = ' stroke-dasharray="3 3"' if shuffled else ""
    line = f'<path d="M{x1} {y}H{x2 - 6}" stroke="{colour}" stroke-width="2" fill="none"{dashes}/>'
    head = f'<path d="M{x2} {y}l-8 -5v10z" fill="{colour}"/>'
    label = _text((x1 + x2) / 2, y - 8, "shuffle", 9, _QUIET, "middle") if shuffled else ""
    return line + head + label


def _foundations(y: float) -> list[str]:
    parts = [_text(8, y + 30, "All stand on", 13, _QUIET)]
    for k, (module, says) in enumerate(FOUNDATIONS):
        x = _LEFT + k * _STEP_X
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="52" rx="6" fill="#eef1f5" stroke="#c4ccd6"/>'
        )
        parts.append(_text(x + _WIDTH / 2, y + 22, f"{module}/", 12, _INK, "middle", mono=True))
        parts.append(_text(x + _WIDTH / 2, y + 40, says, 10.5, _QUIET, "middle"))
    return parts


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    colour: str = _QUIET,
    anchor: str = "start",
    *,
    bold: bool = False,
    mono: bool = False,
) -> str:
    weight = ' font-weight="600"' if bold else ""
    family = ' font-family="ui-monospace, monospace"' if mono else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}"'
        f"{weight}{family}>{escape(text)}</text>"
    )


if __name__ == "__main__":
    FILE.write_text(draw(), encoding="utf-8")
