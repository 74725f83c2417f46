"""The user's own monoids: from installed packages, or from a file named on the command line.

A job file names monoids and never code. A package offers them as entry points in the group
``windrow.monoids``; ``--monoids file.py`` runs a file that the person at the command line chose.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path

from windrow.cli.errors import JobError
from windrow.monoids.base import Monoid

__all__ = ["GROUP", "own_monoids"]

GROUP = "windrow.monoids"
_MODULE = "windrow_own_monoids"


def own_monoids(files: list[str]) -> dict[str, Monoid]:
    """All of them by name; those of files come before those of packages."""
    found = _installed()
    for file in files:
        found |= _from_file(Path(file))
    return found


def _installed() -> dict[str, Monoid]:
    found = {}
    for point in entry_points(group=GROUP):
        try:
            value = point.load()
        except Exception as error:
            raise JobError(f"entry point {point.name!r} ({point.value}) cannot be loaded: {error}") from error
        if not isinstance(value, Monoid):
            raise JobError(
                f"entry point {point.name!r} ({point.value}) is not a monoid: make it with wr.monoid()"
            )
        found[point.name] = value
    return found


def _from_file(file: Path) -> dict[str, Monoid]:
    """Monoids at the top level of a file, by the names they have there."""
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise JobError(f"--monoids {file}: there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise JobError(f"--monoids {file}: {type(error).__name__}: {error}") from error
    finally:
        # A module that is not known is sent to Spark's workers by value: they do not have the file.
        del sys.modules[_MODULE]
    found = {name: value for name, value in vars(module).items() if isinstance(value, Monoid)}
    if not found:
        raise JobError(f"--monoids {file}: no monoid is defined there: write name = wr.monoid(...)")
    return found
