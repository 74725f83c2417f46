"""Commands that the documentation names, and whether their programs accept them: parsed, never run."""

from __future__ import annotations

import argparse
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

__all__ = [
    "Command",
    "Refused",
    "accept_make",
    "accept_script",
    "accept_windrow",
    "commands",
    "lone_options",
    "sections_without_command",
    "windrow_options",
]

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
_BENCH = re.compile(r"`(?:python )?(bench/\w+\.py)[^`]*`|`make (?:bench|field)[^`]*`")
#: what prints figures
_MEASURES = re.compile(
    r"`(?:python )?(?:bench/\w+\.py|make (?:field|bench|papers|demo)|windrow bench)(?: [^`]*)?`"
)
_UNITS = "x|ms|µs|us|ns|s|seconds|minutes|kB|KB|MB|GB|bytes|times|M rows|rows (?:a|per) second"
_FIGURE = re.compile(rf"\d[\d.,]*(?: ?(?:{_UNITS})\b| %)")
_SCRIPT = re.compile(r"(?:bench|tests|examples|docs)/[\w/]+\.py")


class Command(NamedTuple):
    """What a page tells the reader to type."""

    page: str
    words: tuple[str, ...]


class Refused(Exception):
    """The program does not take these options."""


class _Parsed(Exception):
    """Everything was accepted; the program need not go on."""


def commands(page: Path) -> Iterator[Command]:
    """Of a page in Markdown: code in lines, fences and indented blocks that begins with a program."""
    for text in _code(page.read_text()):
        typed = text.strip().removeprefix("$ ")
        typed = re.sub(r"^\.venv/bin/", "", typed).removeprefix("python ")
        if re.match(r"(make|windrow) [a-z-]", typed) or _SCRIPT.match(typed):
            if any(sign in typed for sign in ("[", "|", "...", ": ")):
                continue  # how a command is built, or a message: not one to type
            yield Command(page.name, tuple(shlex.split(typed.split(" > ")[0], comments=True)))


def _code(text: str) -> Iterator[str]:
    pieces = re.split(r"^```.*$", text, flags=re.MULTILINE)
    for number, piece in enumerate(pieces):
        if number % 2:
            yield from piece.splitlines()
            continue
        for span in re.findall(r"`([^`]+)`", piece):
            yield " ".join(span.split())
        yield from (line for line in piece.splitlines() if line.startswith("    "))


def lone_options(page: Path) -> Iterator[Command]:
    """Options in code of their own that are not windrow's, each with the benchmark that its section has named
    last before it."""
    script = None
    for span in re.finditer(r"^#+ |`[^`\n]+`", page.read_text(), re.MULTILINE):
        if span[0].startswith("#"):
            script = None
        elif found := _BENCH.fullmatch(span[0]):
            script = found[1] or "bench/core.py"
        elif script is not None and re.match(r"`--(only|quick|rows)\b", span[0]):
            yield Command(page.name, (script, *shlex.split(span[0].strip("`"))))


def sections_without_command(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Sections of a page with figures in their text that name nothing which prints them: heading, figures."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for section in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        plain = re.sub(r"`[^`]*`", "", re.sub(r"^    .*$", "", section, flags=re.MULTILINE))
        figures = _FIGURE.findall(plain)
        if figures and not _MEASURES.search(section):
            yield section.splitlines()[0].lstrip("# "), figures


def windrow_options() -> set[str]:
    """All options of all of windrow's commands."""
    from windrow.cli.main import parser

    found, waiting = set[str](), [parser()]
    while waiting:
        for action in waiting.pop()._actions:
            found.update(action.option_strings)
            if isinstance(action, argparse._SubParsersAction):
                waiting.extend(action.choices.values())
    return found


def accept_make(words: tuple[str, ...]) -> None:
    """Targets are there, and so are variables; options in them are given to the script that has them."""
    for word in words[1:]:
        name, is_variable, value = word.partition("=")
        if not is_variable:
            if not re.search(rf"^{re.escape(name)}:", MAKEFILE, re.MULTILINE):
                raise Refused(f"make has no target {name}")
        elif not re.search(rf"^{name} \?=", MAKEFILE, re.MULTILINE):
            raise Refused(f"make has no variable {name}")
        elif script := re.search(rf"python (\S+\.py) \$\({name}\)", MAKEFILE):
            accept_script((script[1], *shlex.split(value)))


def accept_windrow(words: tuple[str, ...]) -> None:
    """As the command line parses it. A command may be named without its arguments."""
    from windrow.cli.main import main

    with _parsing():
        try:
            main(["1" if word == "N" else word for word in words[1:]])
        except Refused as refused:
            if "arguments are required" not in str(refused):
                raise
        except _Parsed:
            pass


def accept_script(words: tuple[str, ...]) -> None:
    """As the script's own parser takes it: its main function runs up to there."""
    path = ROOT / words[0]
    if not path.exists():
        raise Refused(f"there is no {words[0]}")
    if "parse_args(" not in path.read_text():
        if words[1:]:
            raise Refused(f"{words[0]} takes no options")
        return
    with patch.object(sys, "path", [str(path.parent), *sys.path]), _parsing():
        names: dict[str, Any] = runpy.run_path(str(path), run_name="documented")
        with patch.object(sys, "argv", list(words)):
            try:
                names["main"]()
            except _Parsed:
                return
    raise AssertionError(f"{words[0]} did not parse its options")


@contextmanager
def _parsing() -> Iterator[None]:
    original = argparse.ArgumentParser.parse_args

    def parse(self: argparse.ArgumentParser, *arguments: Any) -> None:
        original(self, *arguments)
        raise _Parsed

    def error(self: argparse.ArgumentParser, message: str) -> None:
        raise Refused(f"{self.prog}: {message}")

    with (
        patch.object(argparse.ArgumentParser, "parse_args", parse),
        patch.object(argparse.ArgumentParser, "error", error),
    ):
        yield
