"""One Spark session, in one JVM, for all tests of Spark that a worker of pytest-xdist runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.java import JAVA
from support.patient_python import write_program

HERE = Path(__file__).parent

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
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


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.fail("the tests of Spark need Java 17 or newer: install it, or set JAVA_HOME")
    os.environ.setdefault("JDK_JAVA_OPTIONS", JAVA)
    os.environ["PYSPARK_PYTHON"] = write_program(tmp_path_factory.mktemp("python"))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("windrow tests")
    builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    for name, value in SETTINGS.items():
        builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
