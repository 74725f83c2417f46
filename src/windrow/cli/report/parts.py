"""What reports are made of: their head, tables, lists.

A page is one file without scripts, and loads nothing from anywhere: a policy in it says so to the browser as
well. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from windrow.cli.charts.figures import chart_style

__all__ = ["head", "list_of", "table_of"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def head(title: str, more_style: str = "") -> str:
    """Up to where the body begins; ``more_style``: rules after those of all reports."""
    own = files("windrow.cli.report").joinpath("style.css").read_text(encoding="utf-8")
    style = chart_style() + own + more_style
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body>",
        ]
    )


def list_of(sentences: Iterable[str]) -> str:
    """A line for each; nothing for none."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


def table_of(rows: Sequence[Sequence[str]]) -> str:
    """A table of texts; the first row is its head, and columns of numbers are aligned to the right."""
    numeric = [all(_is_number(row[k]) for row in rows[1:]) for k in range(len(rows[0]))] if rows else []

    def line(tag: str, row: Sequence[str]) -> str:
        cells = (
            f"<{tag}{' class=n' if is_number else ''}>{escape(text)}</{tag}>"
            for text, is_number in zip(row, numeric, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows[1:])
    return f'<div class="scroll"><table>{line("th", rows[0])}{body}</table></div>'


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in ("-", "<")
