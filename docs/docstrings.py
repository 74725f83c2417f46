"""Docstrings as Markdown, for the reference pages of the site: a Griffe extension, named in mkdocs.yml.

The docstrings of the code have doctests without fences and references in reStructuredText's words.
"""

from __future__ import annotations

import re
from typing import Any

try:
    from griffe import Extension
except ImportError:  # it comes with the extra `docs`; the tests of this file do without
    Extension = object

__all__ = ["Docstrings"]

_DOCTEST = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?([^`]+)`")


def as_markdown(text: str) -> str:
    r"""
    >>> as_markdown("See :func:`~windrow.query`.\n\n>>> 1 + 1\n2\n\nand on")
    'See `windrow.query`.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nand on'
    """
    text = _ROLE.sub(r"`\1`", text)
    return _DOCTEST.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", text)


class Docstrings(Extension):
    """Turns each docstring into Markdown."""

    def on_object(self, *, obj: Any, **options: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
