"""The code of the guide runs as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "spark.md"


def test_the_guide(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    minutes = rng.integers(0, 3_000, 200)
    calls = pa.table(
        {
            "ts": pa.array(minutes * 60_000_000).cast(pa.timestamp("us", "UTC")),
            "region": rng.choice(["north", "south"], 200),
            "caller": rng.choice(["ann", "bob"], 200),
            "len": rng.integers(1, 60, 200),
        }
    )
    folder = str(tmp_path / "calls")
    spark.createDataFrame(calls).write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("calls")
    scope: dict[str, Any] = {"spark": spark}
    try:
        for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
            exec(block.replace('parquet("calls")', f"parquet({folder!r})"), scope)
        assert scope["per_row"].count() == 200
    finally:
        spark.conf.unset("spark.windrow.skew")


def test_the_plan_in_the_guide_is_what_explain_says(spark: Any) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    frame = spark.createDataFrame([], "region string, ts timestamp, len int")
    query = wr.query(time="ts", by="region").window(wr.Sliding("24h", slide="1m")).agg(n=wr.sum("len"))
    assert query.explain(frame).startswith(shown)


def test_the_snippet_of_getting_started_runs_without_anything_before_it(tmp_path: Path) -> None:
    section = (
        (ROOT / "docs" / "getting-started.md").read_text().partition("## On Spark, and on a stream\n")[2]
    )
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    (tmp_path / "snippet.py").write_text(found[1])
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "snippet.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("only showing top 20 rows") == 2
    rows = [row for part in (tmp_path / "results").glob("part-*.parquet") for row in read(part)]
    assert {row["window"] for row in rows} == {"day", "visit"}


def read(part: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(part).to_pylist()
    return found
