"""Where compiled kernels are kept, if that place can be trusted.

Kernels are machine code: a user who can write to the folder runs code in every process that loads from it. So
the folder belongs to the user, and nobody else may write to it; any other is left alone, with one warning.
Where the user's own folder cannot be used, a folder of the user's among the temporary files is.
"""

from __future__ import annotations

import functools
import os
import stat
import tempfile
import warnings
from pathlib import Path

__all__ = ["CacheWarning", "cache_folder"]


class CacheWarning(UserWarning):
    """Compiled kernels are not kept where they should be."""


def cache_folder() -> Path | None:
    """``$WINDROW_CACHE_DIR``, or ``windrow`` in the user's cache folder, or one among the temporary files;
    None where there is none that can be trusted."""
    return _found(os.environ.get("WINDROW_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"))


@functools.cache
def _found(chosen: str | None, base: str | None) -> Path | None:
    wanted = Path(chosen) if chosen else _users_folder(base)
    problem = "there is no home directory" if wanted is None else why_not(wanted)
    if problem is None:
        return wanted
    spare = Path(tempfile.gettempdir()) / f"windrow-{os.getuid() if hasattr(os, 'getuid') else 'kernels'}"
    spare_problem = why_not(spare)
    where = f"in {spare} for now" if spare_problem is None else "nowhere, and made anew in each process"
    place = "a cache folder" if wanted is None else str(wanted)
    warnings.warn(
        f"compiled kernels cannot be kept in {place}: {problem}. They are kept {where}; set "
        f"WINDROW_CACHE_DIR to a folder of your own to keep them there.",
        CacheWarning,
        stacklevel=4,
    )
    return spare if spare_problem is None else None


def _users_folder(base: str | None) -> Path | None:
    if base:
        return Path(base) / "windrow"
    try:
        return Path.home() / ".cache" / "windrow"
    except RuntimeError:
        return None


def why_not(folder: Path) -> str | None:
    """Why a folder, which is made if it is not there, cannot be trusted or used; None: it can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if not stat.S_ISDIR(found.st_mode):
            return "it is not a folder"
        if hasattr(os, "geteuid"):
            if found.st_uid != os.geteuid():
                return f"it belongs to another user (number {found.st_uid})"
            if found.st_mode & 0o022:
                mode = stat.S_IMODE(found.st_mode)
                return f"others may write to it (mode {mode:o}): remove it, or empty it and chmod 700"
            if found.st_mode & 0o077:
                folder.chmod(0o700)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(folder, os.W_OK | os.X_OK) else "it cannot be written to"
