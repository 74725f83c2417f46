"""Sessions: which Python the workers run, and how many partitions a shuffle has."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

import windrow as wr
from support.java import JAVA
from support.processes import environment_without_spark
from windrow.engines.spark import session as settings
from windrow.engines.spark.compat import check_streams, check_table_functions
from windrow.engines.spark.session import _for_master, _master
from windrow.engines.spark.streaming import run

QUERY = wr.query(time="ts", by="key", watermark=5).window(wr.Tumbling(10)).agg(s=wr.sum("v"))
LINE = 'spark.conf.set("spark.sql.shuffle.partitions", "2")'
PROGRAM = """
import windrow as wr

if __name__ == "__main__":
    local = dict.fromkeys(["spark.driver.host", "spark.driver.bindAddress"], "127.0.0.1")
    spark = wr.spark.session(local, master="local[1]")
    rows = spark.createDataFrame([(1, "a", 1.0), (2, "a", 2.0)], "ts long, key string, v double")
    query = wr.query(time="ts", by="key").rolling(10).agg(s=wr.sum("v"))
    print([row.s for row in query.run(rows).orderBy("ts").collect()])
    print(spark.conf.get("spark.sql.shuffle.partitions"))

    def loaded(batches):
        import sys

        import pyarrow as pa

        found = "windrow.engines.spark.worker.streaming.step" in sys.modules
        yield from (pa.record_batch({"found": [found]}) for _ in batches)

    print(spark.range(1).mapInArrow(loaded, "found boolean").first().found)
"""


def test_workers_of_a_local_session_run_the_python_that_has_windrow(tmp_path: Path) -> None:
    """Whatever ``python3`` is on the path: here, one that says what it is asked and ends."""
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\necho this is not the python of the test >&2\nexit 7\n")
    fake.chmod(0o755)
    (tmp_path / "program.py").write_text(PROGRAM)
    given = environment_without_spark() | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    given.setdefault("JDK_JAVA_OPTIONS", JAVA)
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=given, check=False)
    assert done.stdout.split("\n") == ["[1.0, 3.0]", "1", "True", ""], done.stderr


def test_a_python_that_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    _for_master("local[2]", {})
    assert os.environ["PYSPARK_PYTHON"] == "/opt/python"
    monkeypatch.delenv("PYSPARK_PYTHON")
    _for_master("local[2]", {"spark.pyspark.python": "/opt/other"})
    assert os.environ["PYSPARK_PYTHON"] == "/opt/other"
    assert "spark.python.daemon.module" not in _for_master("local[2]", {"spark.pyspark.python": "/opt/other"})
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert _for_master("local[2]", {})["spark.python.daemon.module"] == "windrow.engines.spark.daemon"
    monkeypatch.delenv("PYSPARK_PYTHON")
    assert _for_master("spark://host:7077", {}) == {}
    assert _for_master(None, {}) == {}
    assert "PYSPARK_PYTHON" not in os.environ
    monkeypatch.setenv("PYSPARK_PYTHON", "")  # so that monkeypatch puts back what was there


def test_a_session_without_a_master_is_on_this_machine_unless_that_is_said_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("MASTER", *settings._ELSEWHERE):
        monkeypatch.delenv(name, raising=False)
    assert _master({}, {}) == "local[*]"
    assert _master({}, {"spark.master": "yarn"}) == "yarn"
    assert _master({"master": "local[3]"}, {"spark.master": "yarn"}) == "local[3]"
    assert _master({}, {"spark.remote": "sc://host"}) is None
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell")
    assert _master({}, {}) is None
    monkeypatch.setenv("MASTER", "spark://host:7077")
    assert _master({}, {}) == "spark://host:7077"


@pytest.fixture
def own(spark: Any) -> Any:
    """A session as a user starts it: nobody has set the number of partitions, or what streams need."""
    found = spark.newSession()
    for name in ("spark.sql.shuffle.partitions", *wr.spark.SETTINGS):
        found.conf.unset(name)
    assert found.conf.get("spark.sql.shuffle.partitions") == "200"
    return found


def stream_of(session: Any, folder: Path) -> Any:
    return session.readStream.schema("ts long, key string, v double").parquet(str(folder))


def test_a_stream_with_sparks_200_partitions_on_one_machine_warns_once(own: Any, tmp_path: Path) -> None:
    for name, (value, _) in wr.spark.SETTINGS.items():
        own.conf.set(name, value)
    with pytest.warns(wr.spark.DefaultPartitions) as caught:
        QUERY.run(stream_of(own, tmp_path))
    (warning,) = [w for w in caught if issubclass(w.category, wr.spark.DefaultPartitions)]
    assert LINE in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", wr.spark.DefaultPartitions)
        QUERY.run(stream_of(own, tmp_path))


def test_a_session_that_is_completed_and_keeps_200_partitions_warns(
    own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: own)
    with pytest.warns(wr.spark.DefaultPartitions, match="partitions of a shuffle, Spark's default") as caught:
        assert wr.spark.session() is own
    assert LINE in str(caught[0].message)


def test_a_number_that_somebody_has_set_is_nothing_to_warn_of(own: Any, tmp_path: Path) -> None:
    own.conf.set("spark.sql.shuffle.partitions", "200")
    with warnings.catch_warnings():
        warnings.simplefilter("error", wr.spark.DefaultPartitions)
        settings.warn_of_partitions(own)


class ClusterSession:
    """A session of which nothing but ``conf`` may be used, as on Spark Connect."""

    conf = SimpleNamespace(get={"spark.master": "yarn"}.get)


def test_200_partitions_on_a_cluster_are_nothing_to_warn_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", wr.spark.DefaultPartitions)
        settings.warn_of_partitions(ClusterSession())  # type: ignore[arg-type]


STORE = "spark.sql.streaming.stateStore.providerClass"


def test_a_stream_sets_the_state_store_that_nobody_has_chosen(own: Any, tmp_path: Path) -> None:
    own.conf.set("spark.sql.shuffle.partitions", "2")
    assert own.conf.get(STORE, None) is None
    QUERY.run(stream_of(own, tmp_path))
    assert own.conf.get(STORE) == wr.spark.SETTINGS[STORE][0]


def test_a_stream_in_a_session_that_takes_no_settings_says_where_to_make_them(
    own: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.conf.set("spark.sql.shuffle.partitions", "2")
    monkeypatch.setattr(run, "set_setting", lambda *_: PySparkException("not here"))
    with pytest.raises(ValueError, match=r"does not let it be set: .* a declarative pipeline names it under"):
        QUERY.run(stream_of(own, tmp_path))


def test_a_running_session_keeps_its_settings(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: own)
    own.conf.set("spark.sql.shuffle.partitions", "2")
    own.conf.set(STORE, "chosen")
    wr.spark.session()
    assert own.conf.get(STORE) == "chosen"
    assert own.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == "32768"
    wr.spark.session({STORE: "asked for"})
    assert own.conf.get(STORE) == "asked for"


def test_a_setting_that_a_running_session_refuses_is_named(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: own)
    own.conf.set("spark.sql.shuffle.partitions", "2")
    with pytest.raises(ValueError, match=r"spark\.driver\.memory cannot be set .*give it where the session"):
        wr.spark.session({"spark.driver.memory": "3g"})
    wr.spark.session({"spark.driver.memory": own.conf.get("spark.driver.memory")})  # it has it


def test_one_of_master_and_remote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with pytest.raises(TypeError, match="one of master and remote"):
        wr.spark.session(master="local[2]", remote="sc://host")
    with pytest.raises(TypeError, match="it takes master, remote and app_name"):
        wr.spark.session(cores=2)


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5"])
def test_a_spark_that_is_too_old_for_streams_is_named(version: str) -> None:
    old: Any = SimpleNamespace(version=version)
    with pytest.raises(RuntimeError, match=rf"is in Spark 4\.1 and newer, and this is {version}: queries on"):
        check_streams(old)
    check_streams(SimpleNamespace(version="4.10.0"))  # type: ignore[arg-type]


def test_a_spark_that_is_too_old_for_table_functions_is_named() -> None:
    old: Any = SimpleNamespace(version="3.5.9")
    with pytest.raises(RuntimeError, match=r"functions .* in Spark 4\.0 and newer, and this is 3\.5\.9"):
        check_table_functions(old)
    check_table_functions(SimpleNamespace(version="4.0.0"))  # type: ignore[arg-type]


#: ways into a query, each with its own first question about a DataFrame
ASKED: dict[str, Callable[[Any], Any]] = {
    "windows": QUERY.run,
    "explain": QUERY.explain,
    "history": lambda frame: QUERY.run(frame, history=frame),
    "as-of": lambda frame: wr.query(time="ts").asof(3).agg(n=wr.count()).run(frame, at=frame),
    "counted": lambda frame: wr.spark.counted(QUERY, frame),
    "rejected": QUERY.rejected_rows,
}


def unanswering(condition: str) -> Any:
    """A DataFrame of which Spark answers nothing."""

    def refuse(_: Any, name: str) -> None:
        raise PySparkException("not now", errorClass=condition)

    return type("DataFrame", (), {"__module__": "pyspark.sql", "__getattr__": refuse})()


@pytest.mark.parametrize("asked", ASKED)
def test_a_query_in_a_function_of_a_pipeline_names_the_remedy(asked: str) -> None:
    frame = unanswering("ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION")
    with pytest.raises(RuntimeError, match="run the query above the function"):
        ASKED[asked](frame)


def test_what_else_spark_refuses_is_as_it_was() -> None:
    with pytest.raises(PySparkException, match="not now"):
        QUERY.run(unanswering("TABLE_OR_VIEW_NOT_FOUND"))
