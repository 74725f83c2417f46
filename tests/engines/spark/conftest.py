"""One Spark session, in one JVM, for all tests of Spark that a worker of pytest-xdist runs.

It is of the kind that WINDROW_SESSION names: "master", as a program starts it, or "remote", by windrow and
with a Spark Connect server of its own. Tests marked ``classic`` say why they have nothing to test there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.spark.spark_frames import KIND
from support.java import JAVA
from support.patient_python import write_program

HERE = Path(__file__).parent

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    # on a busy machine, Python workers and heartbeats may take longer than Spark's defaults allow
    "spark.network.timeout": "30m",
    "spark.python.authenticate.socketTimeout": "30m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(f"{HERE}{os.sep}"):
            item.add_marker(
                pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
            )
        classic = item.get_closest_marker("classic")
        if classic is not None and KIND == "remote":
            item.add_marker(pytest.mark.skip(reason=f"not on Spark Connect: {classic.args[0]}"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.fail("the tests of Spark need Java 17 or newer: install it, or set JAVA_HOME")
    os.environ.setdefault("JDK_JAVA_OPTIONS", JAVA)
    os.environ["PYSPARK_PYTHON"] = write_program(tmp_path_factory.mktemp("python"))
    settings = SETTINGS | {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    session = _connected(settings) if KIND == "remote" else _started(settings)
    yield session
    session.stop()


def _started(settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("windrow tests")
    for name, value in settings.items():
        builder.config(name, value)
    return builder.getOrCreate()


def _connected(settings: dict[str, str]) -> Any:
    import windrow as wr

    os.environ["SPARK_TESTING"] = "1"  # the server takes a free port
    return wr.spark.session(settings, remote="local[2]", app_name="windrow tests")
