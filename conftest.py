"""Settings of all tests and doctests, whichever files are chosen: tiers, Hypothesis profiles, a cache of
kernels between runs, Redis, and how processes share the tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from chaos import RUNS
from support import both_forms
from support.budget import SHARES, examples
from support.redis_server import redis_program
from support.scopes import SHARED, scope_of
from support.tiers import REST, SLOW, is_listed

ROOT = Path(__file__).resolve().parent

# Compiled kernels stay inside the work tree: a second run starts warm and nothing outside is touched.
os.environ.setdefault("WINDROW_CACHE_DIR", str(ROOT / ".cache" / "kernels"))

if os.environ.get("WINDROW_BOTH_FORMS"):
    both_forms.install()

# Shells start commands in the background with SIGINT ignored, and children inherit that: tests of Ctrl-C
# would wait without end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The papers' experiments look for Redis on the PATH, as their users do.
if (redis := redis_program()) and shutil.which("redis-server") is None:
    os.environ["PATH"] += os.pathsep + str(Path(redis).parent)

# The first example of a property may compile a kernel, so no example has a deadline.
for name in SHARES:
    settings.register_profile(
        name,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=examples(100, name),
        derandomize=bool(os.environ.get("CI")) and name != "rest",  # which has others, by its seed
        print_blob=True,
    )
settings.load_profile("ci" if os.environ.get("CI") else "dev")  # --hypothesis-profile names another

SPARK = f"{ROOT / SHARED}{os.sep}"
#: kill processes, damage disks, forge state: ``make chaos`` does more of it
CHAOS = {"test_cluster.py", *(Path(path).name for path in RUNS)}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete", action="store_true", help="write results into cases of tests/cases where they differ"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what ``make test`` and ``make test-fast`` leave out."""
    for item in items:
        if is_listed(item.nodeid, REST):
            item.add_marker("rest")
        if is_listed(item.nodeid, SLOW):
            item.add_marker("slow")
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("random")
        fixtures = set(getattr(item, "fixturenames", ()))
        if str(item.path).startswith(SPARK) and item.path.parent.name != "worker":
            item.add_marker("spark")
        if fixtures & {"redis_server", "start_redis"} or "redis" in _named_parameters(item):
            item.add_marker("redis")
        if item.path.name in CHAOS:
            item.add_marker("chaos")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Thousands of tests are collected, and stay: nothing looks for garbage meanwhile, or among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _named_parameters(item: pytest.Item) -> set[object]:
    """Parameters of a test, and what is in those that are tuples."""
    parameters: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    inner = [part for value in parameters.values() if isinstance(value, tuple) for part in value]
    return {value for value in (*parameters.values(), *inner) if isinstance(value, str)}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Processes share the tests by scope. (The groups of ``--dist loadgroup`` are of no effect with this
    pytest: it keeps ids that xdist changes.)"""
    from xdist.scheduler import LoadScopeScheduling

    class ByScope(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

        def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
            """What is done is left out: it would be counted again after each of thousands of tests."""
            for scope in [name for name, unit in workload.items() if all(unit.values())]:
                del workload[scope]
            return super()._pending_of(workload)

    return ByScope(config, log)
