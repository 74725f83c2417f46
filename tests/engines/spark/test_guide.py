"""The code of the guide runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr

GUIDE = Path(__file__).parents[3] / "docs" / "spark.md"


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
