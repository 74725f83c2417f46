"""Pages of the site that are kept elsewhere in the repository, and links between all of them.

MkDocs calls the functions whose names begin with ``on_`` (``hooks`` in mkdocs.yml). ARCHITECTURE,
SECURITY, CONTRIBUTING, CHANGELOG and the page of benchmarks stay where a clone expects them; the site has
them as pages of its own. A link to a file that is no page, such as an example, becomes its name: the site has
no sources.
"""

from __future__ import annotations

import importlib.util
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_SPEC = importlib.util.spec_from_file_location("docstrings", Path(__file__).with_name("docstrings.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
docstrings = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(docstrings)
#: pages of the site by the file that they come from
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "RELEASING.md": "releasing.md",
    "bench/README.md": "benchmarks.md",
}
#: README is no page: the site has a home page of its own
_HOME = {"README.md": "index.md"}
_SESSION = re.compile(r"^( *)```python\n(?=\1>>> )", re.MULTILINE)
_AGGREGATES = "<!-- every aggregate -->"
#: the end of the signature of every aggregate, which the page explains once
_IN_ALL = (", where=None, min_count=None, nulls='skip', nan='propagate'", ", /")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#:]+)((?:#[^)\s]*)?)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are kept outside the folder of the docs."""
    from mkdocs.structure.files import File

    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links lead to pages of the site."""
    if page.file.src_uri == "reference/aggregates.md":
        markdown = markdown.replace(_AGGREGATES, aggregate_entries())
    return as_sessions(linked(markdown, page.file.src_uri))


def on_post_build(config: Any) -> None:
    """Refuse pages that would load something from elsewhere."""
    from mkdocs.exceptions import PluginError

    for page in Path(config["site_dir"]).rglob("*.html"):
        if found := foreign(page.read_text(encoding="utf-8")):
            raise PluginError(f"{page.name} loads {', '.join(found)}: pages are to be read offline")


def foreign(page: str) -> list[str]:
    """What a page loads from elsewhere; links to follow are not loaded.

    >>> foreign('<script src="https://cdn.example/a.js"></script><a href="https://example.org">b</a>')
    ['https://cdn.example/a.js']
    """
    tags = re.findall(r"<(?:script|img|iframe|link|source|video)\b[^>]*>", page)
    return [url for tag in tags for url in re.findall(r'(?:src|href)="((?:https?:)?//[^"]+)"', tag)]


def aggregate_entries() -> str:
    """An entry for each built-in aggregate: how it is called, and its documentation."""
    import windrow as wr
    from windrow.spec_text import AGGREGATES

    entries = []
    for name in AGGREGATES:
        call, _, text = str(getattr(wr, name).__doc__).partition("\n\n")
        for usual in _IN_ALL:
            call = call.replace(usual, "")
        call = call.replace(", *)", ")").replace("(*)", "()")
        entries.append(f"## {name}\n\n```python\nwr.{call}\n```\n\n{docstrings.as_markdown(text)}\n")
    return "\n".join(entries)


def as_sessions(text: str) -> str:
    """Let prompts and output be told from code, so that neither is copied.

    >>> as_sessions("```python\\n>>> 1\\n1\\n```")
    '```pycon\\n>>> 1\\n1\\n```'
    """
    return _SESSION.sub(r"\1```pycon\n", text)


def linked(text: str, page: str) -> str:
    """The text of a page with links to pages of the site in place of links to files.

    >>> linked("[windows](docs/windows.md#rows), [a job](examples/kafka/job.toml)", "contributing.md")
    '[windows](windows.md#rows), `examples/kafka/job.toml`'
    >>> linked("[security](../SECURITY.md)", "state.md")
    '[security](security.md)'
    """
    sources = {where: source for source, where in PAGES.items()}
    folder = posixpath.dirname(sources.get(page, f"docs/{page}"))

    def place(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[3]))
        if target.startswith("docs/"):
            wanted = target.removeprefix("docs/")
        elif target in PAGES or target in _HOME:
            wanted = PAGES.get(target) or _HOME[target]
        else:
            return found[2] if found[2].startswith("`") else f"`{target}`"
        return (
            f"{found[1]}[{found[2]}]({posixpath.relpath(wanted, posixpath.dirname(page) or '.')}{found[4]})"
        )

    return _LINK.sub(place, text)
