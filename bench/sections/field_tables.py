"""What a run of the field comes to in Markdown: all tables for docs/field.md, and the one of README.

Both pages have a place for them, between two comments; only what is there is replaced.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sections.field_lines import LINES, Line

__all__ = ["all_tables", "lacking_lines", "nexmark_table", "put", "shown_ratio"]

Part = dict[str, Any]
Figure = dict[str, Any]
_NOTHING: Part = {"figures": []}
#: the lines of README's table: peer, windrow side, and how README calls the latter
_NEXMARK = (
    ("Flink", "windrow's operator", "windrow in one process"),
    ("Flink", "windrow on Spark", "windrow as a Spark stream"),
    ("Spark", "windrow on Spark", "windrow as a Spark stream"),
)
_BEGIN, _END = "<!-- written by `make field` -->", "<!-- end of what `make field` wrote -->"


def shown_ratio(value: float) -> str:
    """Two digits that count.

    >>> shown_ratio(0.0712), shown_ratio(1.236), shown_ratio(24.6), shown_ratio(1234.5)
    ('0.071', '1.2', '25', '1,234')
    """
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}"


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    least, most = shown_ratio(figure["least"]), shown_ratio(figure["most"])
    return f"{shown_ratio(figure['ratio'])} ({least} to {most})"


def all_tables(parts: list[Part]) -> str:
    """The machine, some lines of each part, a table for each part with a line per question and a column per
    peer, and where windrow is behind."""
    lines = [_machine(parts), "", *_chosen_table(parts)]
    for part in parts:
        lines += _table(part)
    lines += ["### In every turn", "", _balance(parts), ""]
    lines += [f"- {each}" for each in _behind(parts)]
    return "\n".join(lines).strip() + "\n"


def _machine(parts: list[Part]) -> str:
    about = {name: what for part in parts for name, what in part["about"].items()}
    versions = [
        f"{name} {what}" for name, what in about.items() if name not in ("cpu", "cores", "system", "llvmlite")
    ]
    return f"Measured on {about['cores']} cores ({about['cpu']}), with {', '.join(versions)}."


def _table(part: Part) -> Iterator[str]:
    peers = list(dict.fromkeys(figure["against"] for figure in part["figures"]))
    lines: dict[tuple[str, str], dict[str, Figure]] = {}
    for figure in part["figures"]:
        lines.setdefault((figure["what"], figure["ours"]), {})[figure["against"]] = figure
    yield f"### {part['title']}\n\n`python {part['command']}`\n"
    yield f"| | windrow | {' | '.join(peers)} |"
    yield f"|---|---|{'---|' * len(peers)}"
    for (what, ours), found in lines.items():
        cells = (_cell(found.get(peer)) for peer in peers)
        yield f"| {what} | {ours} | {' | '.join(cells)} |"
    yield ""
    for peer, reason in part["skipped"].items():
        yield f"{peer} was left out: {reason}.\n"


def _balance(parts: list[Part]) -> str:
    figures = [figure for part in parts for figure in part["figures"]]
    ahead, behind = sum(f["least"] > 1 for f in figures), sum(f["most"] < 1 for f in figures)
    return (
        f"Of {len(figures)} comparisons windrow is ahead in every turn of {ahead}, and behind in every turn "
        f"of {behind}."
    )


def _behind(parts: list[Part]) -> Iterator[str]:
    """What takes windrow longer in every turn, with those that it takes longer than."""
    found: dict[str, list[str]] = {}
    for part in parts:
        for figure in part["figures"]:
            if figure["most"] < 1:
                ours = "" if figure["ours"] == "windrow" else f", {figure['ours']}"
                found.setdefault(f"{figure['what']}{ours}", []).append(
                    f"{figure['against']} {shown_ratio(figure['ratio'])}"
                )
    return (f"{what}: {', '.join(peers)}" for what, peers in found.items())


def nexmark_table(parts: list[Part]) -> str:
    """README's table: a column per query, a line per pair of systems."""
    part = next((part for part in parts if part["name"] == "nexmark"), _NOTHING)
    names = list(dict.fromkeys(figure["what"].split()[0] for figure in part["figures"]))
    lines = [f"| run time divided by windrow's | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for peer, ours, title in _NEXMARK:
        found = [_found(part, name, ours, peer) for name in names]
        cells = ["-" if each is None else shown_ratio(each["ratio"]) for each in found]
        lines.append(f"| {peer} / {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _chosen_table(parts: list[Part]) -> Iterator[str]:
    """The lines that stand for each part, as far as their figures are there."""
    by_name = {part["name"]: part for part in parts}
    yield "### In short\n"
    yield from ("| what | against | times | command |", "|---|---|---|---|")
    for line in LINES:
        yield from _chosen_line(line, by_name.get(line.part, _NOTHING))
    yield ""


def _chosen_line(line: Line, part: Part) -> Iterator[str]:
    found = [_found(part, *wanted) for wanted in line.figures]
    if any(found):
        peers = " / ".join(dict.fromkeys(peer for _, _, peer in line.figures))
        cells = " / ".join(map(_cell, found))
        yield f"| {line.title} | {peers} | {cells} | `{part['command']}` |"


def lacking_lines(parts: list[Part]) -> list[str]:
    """The lines of the short table of which nothing was measured."""
    by_name = {part["name"]: part for part in parts}
    return [line.title for line in LINES if not list(_chosen_line(line, by_name.get(line.part, _NOTHING)))]


def _found(part: Part, what: str, ours: str, against: str) -> Figure | None:
    """A question is known by how it begins: some go on with what was given to the command."""
    for figure in part["figures"]:
        is_asked = re.match(rf"{re.escape(what)}($|[ ,])", figure["what"])
        if is_asked and (figure["ours"], figure["against"]) == (ours, against):
            return figure
    return None


def put(page: Path, text: str) -> None:
    """Write the text into its place on the page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for tables: put {_BEGIN} and {_END} on lines of their own")
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")
