"""``windrow bench``: hands over to the experiments of the papers, which are not in the wheel.

They are the package ``windrow_experiments`` of a clone, which an editable install puts on the path
(``dev-mode-dirs`` in ``pyproject.toml``). It is imported by name, so that windrow does not depend on it. An
entry point would need a distribution of its own for one command, built and installed beside windrow.
"""

from __future__ import annotations

import argparse
import importlib
from types import ModuleType

from windrow.cli.errors import JobError

__all__ = ["execute"]

_PACKAGE = "windrow_experiments"
_COMMAND = f"{_PACKAGE}.command"


def execute(options: argparse.Namespace) -> int:
    return int(_experiments().execute(options))


def _experiments() -> ModuleType:
    try:
        return importlib.import_module(_COMMAND)
    except ModuleNotFoundError as error:
        if error.name not in (_PACKAGE, _COMMAND):  # they are there, and miss something else
            raise
        raise JobError(
            "the experiments of the papers are not installed: "
            "clone windrow's repository and run 'make papers' there"
        ) from error
