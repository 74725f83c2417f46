"""Settings shared by all tests: Hypothesis profiles and a kernel cache that survives between runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# Compiled kernels stay inside the work tree: a second run starts warm and nothing outside is touched.
os.environ.setdefault("WINDROW_CACHE_DIR", str(ROOT / ".cache" / "kernels"))

# Shells start commands in the background with SIGINT ignored, and children inherit that: tests of Ctrl-C
# would wait without end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a property may compile a kernel, so no example has a deadline.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
