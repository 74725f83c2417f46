"""Draws docs/concepts/*.svg: rows in order of arrival, the watermark, and the windows that fire, as an
operator reports them.

Run it after a change: ``python docs/concepts.py``. A test checks that the files are what this script makes.
Colours are of medium brightness, so that they can be read on white and on black.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

import windrow as wr

__all__ = ["FOLDER", "PICTURES", "draw"]

FOLDER = Path(__file__).parent / "concepts"
#: the allowed lateness of each picture
PICTURES = {"watermark": 0, "corrections": 10}
TIMES = (2, 5, 9, 6, 14, 7, 17, 24)
SIZE, DELAY = 10, 3
GREY, BLUE, AMBER, GREEN = "#6e7f91", "#3f7fd0", "#b9770e", "#2f9d5a"
_LEFT, _STEP, _TOP, _ROW = 20, 15, 40, 28


def steps(lateness: int) -> list[tuple[int, bool, int | None, list[dict[str, Any]]]]:
    """For each row: its time, whether it is late, the watermark after it, and the results it lets out."""
    query = wr.query(time="t", watermark=DELAY, allowed_lateness=lateness)
    operator = query.window(wr.Tumbling(SIZE)).agg(n=wr.count()).open()
    found = []
    for time in TIMES:
        was_late, fired = operator.metrics.rows_late, operator.metrics.watermark
        is_late = fired is not None and time // SIZE * SIZE + SIZE <= fired
        results = operator.push(pa.table({"t": [time]})).to_pylist()
        assert lateness or is_late == (operator.metrics.rows_late > was_late)
        found.append((time, is_late, operator.metrics.watermark, results))
    return found


def draw(lateness: int) -> str:
    """The picture as SVG text."""
    height = _TOP + _ROW * len(TIMES) + 16
    body = [_text(_x(30), 10, "event time", GREY, "end"), _text(_x(32), 24, "emitted", GREY)]
    for edge in range(0, 31, SIZE):
        body.append(f'<path d="M{_x(edge)} 26V{height - 8}" stroke="{GREY}" stroke-opacity="0.4"/>')
        body.append(_text(_x(edge), 24, str(edge), GREY, "middle"))
    line: list[str] = []
    for k, (time, is_late, watermark, results) in enumerate(steps(lateness)):
        y = _TOP + _ROW * k + 10
        colour = AMBER if is_late else BLUE
        body.append(f'<circle cx="{_x(time)}" cy="{y}" r="6" fill="{colour}"/>')
        late = ("  late" if not lateness else "  late, corrects") if is_late else ""
        body.append(_text(_x(time) + 10, y + 4, f"{time}{late}", colour))
        if watermark is not None:
            line += [f"{_x(watermark)},{y + 8}", f"{_x(watermark)},{y + 8 + _ROW}"]
        texts = [
            f"[{row['window_start']}, {row['window_end']})  n {row['n']}"
            + (f"  revision {row['revision']}" if row.get("revision") else "")
            for row in results
        ]
        body.append(_text(_x(32), y + 4, ", ".join(texts), GREEN))
    body.append(f'<polyline points="{" ".join(line)}" fill="none" stroke="{AMBER}" stroke-dasharray="5 3"/>')
    last_x, last_y = line[-1].split(",")
    body.append(_text(float(last_x) - 6, float(last_y) - 4, "watermark", AMBER, "end"))
    width = _x(32) + 220
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + 14}" '
        f'viewBox="0 0 {width} {height + 14}" role="img" font-family="Verdana, DejaVu Sans, sans-serif">'
    )
    title = "Rows in order of arrival, the watermark, and the windows that fire"
    return "\n".join([head, f"  <title>{title}</title>", *(f"  {each}" for each in body), "</svg>", ""])


def _x(time: float) -> int:
    return int(_LEFT + _STEP * time)


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start") -> str:
    place = f'x="{x:g}" y="{y:g}" font-size="12" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(text)}</text>'


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, lateness in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(lateness), encoding="utf-8")
