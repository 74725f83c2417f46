"""What notebooks show of queries, operators and plans: small tables of HTML without styles or scripts.

Invariant: whatever comes from users (names of columns, windows and results, values) is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Explanation", "html_table"]


def html_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and what they stand for.

    >>> html_table("a & b", [("x", "<1>")])
    '<table><caption>a &amp; b</caption><tr><th>x</th><td>&lt;1&gt;</td></tr></table>'
    """
    cells = "".join(f"<tr><th>{_escaped(name)}</th><td>{_escaped(text)}</td></tr>" for name, text in rows)
    return f"<table><caption>{_escaped(title)}</caption>{cells}</table>"


def _escaped(text: str) -> str:
    import html  # loaded in notebooks, and not by `import windrow`

    return html.escape(text)


class Explanation(str):
    """A plan in words. It is text; notebooks show it line by line.

    >>> Explanation("rows: <sorted>")._repr_html_()
    '<pre>rows: &lt;sorted&gt;</pre>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{_escaped(self)}</pre>"
