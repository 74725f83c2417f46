"""The Python of Spark's workers: ours where nobody has chosen one, and else one that can run windrow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import cloudpickle

import windrow as wr
from support.java import JAVA
from support.processes import environment_without_spark
from windrow.engines.spark import worker_python
from windrow.engines.spark.compat import is_connect
from windrow.engines.spark.shipping import shipped
from windrow.engines.spark.worker_python import check_python

QUERY = wr.query(time="ts", by="key", watermark=5).rolling(10).agg(s=wr.sum("v"))
SCHEMA = "ts long, key string, v double"
REMEDY = 'write os.environ["PYSPARK_PYTHON"] = sys.executable before the Spark session starts'
SETTING = "spark.sql.execution.pyspark.python"
NEEDED = ("pyarrow", "numpy", "numba", "windrow")
#: a session as a user starts it
PROGRAM = """
import windrow as wr
from pyspark.sql import SparkSession

if __name__ == "__main__":
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for name in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(name, "127.0.0.1")
    spark = builder.getOrCreate()
    rows = spark.createDataFrame([(1, "a", 1.0), (2, "a", 2.0)], "ts long, key string, v double")
    query = wr.query(time="ts", by="key").rolling(10).agg(s=wr.sum("v"))
    print([row.s for row in query.run(rows).orderBy("ts").collect()])
"""


def rows_of(session: Any) -> Any:
    """(createDataFrame would make the session the active one, which tests that follow would get.)"""
    return session.range(3).selectExpr("id AS ts", "'a' AS key", "0.5D AS v")


def program(folder: Path, *lines: str) -> str:
    """A program with this text for the shell."""
    file = folder / "python3"
    file.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    file.chmod(0o755)
    return str(file)


def test_a_session_of_ones_own_works_whatever_python3_is(tmp_path: Path) -> None:
    """Workers ran the ``python3`` of the path, and failed in the first task without pyarrow."""
    program(tmp_path, f'exec {sys.executable} -S "$@"')  # no packages
    (tmp_path / "program.py").write_text(PROGRAM)
    given = environment_without_spark() | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    given.setdefault("JDK_JAVA_OPTIONS", JAVA)
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=given, check=False)
    assert done.stdout.split("\n") == ["[1.0, 3.0]", ""], done.stderr


@pytest.fixture
def with_python(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A fresh session of which somebody has chosen the Python, and what changes it."""

    def choose(python: str) -> tuple[Any, str]:
        session = spark.newSession()
        if is_connect(spark):
            session.conf.set(SETTING, python)
            return session, f'write spark.conf.set("{SETTING}", sys.executable)'
        monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
        return session, REMEDY

    return choose


def without_packages(folder: Path) -> str:
    return program(folder, f'PYTHONPATH= exec {sys.executable} -S "$@"')


def test_a_python_without_pyarrow_is_named_before_anything_runs(with_python: Any, tmp_path: Path) -> None:
    bare = without_packages(tmp_path)
    session, remedy = with_python(bare)
    with pytest.raises(RuntimeError) as caught:
        QUERY.run(rows_of(session))
    assert str(caught.value) == (
        f"Spark's workers would run {bare!r}, which has no pyarrow: {remedy}, or install pyarrow there"
    )
    with pytest.raises(RuntimeError, match="which has no pyarrow"):  # and once more, until it is mended
        QUERY.run(session.readStream.schema(SCHEMA).parquet(str(tmp_path)))
    with pytest.raises(RuntimeError, match="which has no pyarrow"):
        wr.register(session)


def test_a_python_without_windrow_is_named(with_python: Any, tmp_path: Path) -> None:
    """On Spark Connect it may have been sent along, so that the first task is what knows."""
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['windrow'] = None")
    python = program(tmp_path, f'PYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"')
    session, remedy = with_python(python)
    if is_connect(session):
        with pytest.raises(Exception, match=r"the Python of Spark's workers, .*, cannot load windrow"):
            QUERY.run(rows_of(session)).collect()
    else:
        with pytest.raises(RuntimeError, match="which has no windrow: ") as caught:
            QUERY.run(rows_of(session))
        assert remedy in str(caught.value)


def test_a_stream_needs_protobuf(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"which has no protobuf: .*install protobuf there"):
        check_python(without_packages(tmp_path), ("google.protobuf",), REMEDY)


def test_a_python_of_another_minor_version_is_named(with_python: Any, tmp_path: Path) -> None:
    session, remedy = with_python(program(tmp_path, "echo '[[2, 7], []]'"))
    own = ".".join(map(str, sys.version_info[:2]))
    with pytest.raises(RuntimeError) as caught:
        QUERY.run(rows_of(session))
    said = f"Python 2.7, and this is Python {own}, which must be the same: {remedy}"
    assert str(caught.value).endswith(said)


def test_a_python_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"cannot be started \(No such file or directory\): write"):
        check_python(str(tmp_path / "nowhere"), NEEDED, REMEDY)
    broken = program(tmp_path, "echo no library of Python >&2", "exit 7")
    with pytest.raises(RuntimeError, match=r"cannot be started \(no library of Python\): write"):
        check_python(broken, NEEDED, REMEDY)


def test_a_python_that_is_chosen_by_a_setting_is_looked_at(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set(SETTING, str(tmp_path / "nowhere"))
    line = r'write spark\.conf\.set\("spark\.sql\.execution\.pyspark\.python", sys\.executable\)'
    with pytest.raises(RuntimeError, match=line):
        QUERY.run(rows_of(session))


class Settings(dict[str, str]):
    """The settings of a session."""

    set = dict.__setitem__


def test_a_server_of_ones_own_runs_queries_with_our_python_and_streams_with_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a Spark Connect server runs was settled when it started, but for queries on tables."""
    chosen: dict[str, str] = {}
    monkeypatch.setattr(worker_python, "has_own_server", lambda: True)
    monkeypatch.setattr(worker_python, "jvm_environment", chosen.get)
    session: Any = SimpleNamespace(conf=Settings())
    ours, theirs = worker_python._connect_pythons(session, True)
    assert session.conf == {SETTING: sys.executable}
    assert ours[0] == sys.executable
    assert (theirs[0], theirs[2]) == ("python3", REMEDY)
    assert "google.protobuf" in theirs[1]
    chosen["PYSPARK_PYTHON"] = "/opt/python"
    session = SimpleNamespace(conf=Settings())
    ((python, _, _),) = worker_python._connect_pythons(session, False)
    assert (python, session.conf) == ("/opt/python", {})


def test_of_a_server_elsewhere_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_python, "has_own_server", lambda: False)
    session: Any = SimpleNamespace(conf=Settings())
    assert worker_python._connect_pythons(session, True) == []


def test_a_worker_without_windrow_says_so(tmp_path: Path) -> None:
    """On a cluster nothing is known before: the task is read without windrow, and names the remedy."""
    (tmp_path / "task").write_bytes(cloudpickle.dumps(shipped(lambda batches: iter(list(batches)))))
    read = "import pickle, sys; task = pickle.load(open(sys.argv[1], 'rb')); print(list(task([1, 2])))"
    for code in (f"import sys; sys.modules['windrow'] = None; {read}", read):
        command = [sys.executable, "-c", code, str(tmp_path / "task")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if code == read:
            assert done.stdout == "[1, 2]\n", done.stderr
        else:
            assert "the Python of Spark's workers, " in done.stderr
            assert "set PYSPARK_PYTHON to a Python that has it" in done.stderr
