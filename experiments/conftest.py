"""Settings shared by the experiments' tests and doctests: a kernel cache that survives between runs."""

from __future__ import annotations

import os
from pathlib import Path

# The folder that tests/conftest.py names, which is not loaded where only experiments are tested.
os.environ.setdefault("WINDROW_CACHE_DIR", str(Path(__file__).resolve().parent.parent / ".cache" / "kernels"))
