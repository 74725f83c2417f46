"""``windrow.testing`` where the packages of the extra ``testing`` are not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INSTALL = "pip install 'hypothesis>=6.120' 'pyyaml>=6.0'"
STRATEGIES = "import windrow.testing.strategies"
TRANSCRIPT = "from windrow.testing import run_on_oracle; run_on_oracle({path!r})"
PLAIN = """
import pyarrow as pa
import windrow as wr

query = wr.query(time="t").window(wr.Tumbling(10)).agg(n=wr.count())
rows = pa.table({"t": [1, 2]})
wr.testing.assert_same_results(wr.testing.evaluate(query, rows), query.run(rows))
print("same")
"""
DATA = "query: {time: t}\nwindows: Tumbling(10)\naggregates: {n: count()}\nsteps: [{finish: true}]\n"


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program in which neither package can be imported."""
    missing = "import sys; sys.modules.update(hypothesis=None, yaml=None)\n"
    return subprocess.run([sys.executable, "-c", missing + code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("what", [STRATEGIES, TRANSCRIPT], ids=["strategies", "transcript"])
def test_the_error_is_one_line_with_the_remedy(what: str, tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(DATA)
    done = run(what.format(path=str(path)))
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("ImportError: ")
    assert last.endswith(INSTALL)


def test_the_oracle_needs_neither() -> None:
    done = run(PLAIN)
    assert (done.stdout, done.stderr) == ("same\n", "")
