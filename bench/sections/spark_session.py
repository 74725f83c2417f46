"""The session that benchmarks on Spark run in: this machine, two cores, nothing beside it."""

from __future__ import annotations

import os
import sys
from typing import Any

import windrow as wr

__all__ = ["spark_session"]


def spark_session(memory: str, **settings: str) -> Any:
    """``memory``: of the driver; ``settings``: those that a benchmark adds, dots as underscores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    every = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    every |= {name.replace("_", "."): value for name, value in settings.items()}
    found = wr.spark.session(every, master="local[2]", app_name="windrow bench")
    found.sparkContext.setLogLevel("ERROR")
    return found
