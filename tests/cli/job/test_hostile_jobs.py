"""A job file is data: whatever it says, it runs no code, chooses no cluster and shows no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from windrow.cli.errors import JobError
from windrow.cli.job import Job, read_job
from windrow.cli.job.spark_conf import given_conf
from windrow.cli.main import main


def with_conf(name: str, value: str) -> str:
    return f'{GOOD}\n[spark.conf]\n"{name}" = "{value}"\n'


def conf_of(job: Job) -> dict[str, str]:
    return {setting.name: setting.value for setting in job.spark.conf}


RUNS_CODE = [
    ("spark.executorEnv.PYTHONPATH", "code"),
    ("spark.driver.extraJavaOptions", "-javaagent:a.jar"),
    ("spark.executor.extraJavaOptions", "-javaagent:a.jar"),
    ("spark.driver.extraClassPath", "a.jar"),
    ("spark.driver.defaultJavaOptions", "-javaagent:a.jar"),
    ("spark.jars", "a.jar"),
    ("spark.jars.packages", "g:a:1"),
    ("spark.jars.ivySettings", "ivy.xml"),
    ("spark.submit.pyFiles", "a.py"),
    ("spark.plugins", "Plugin"),
    ("spark.extraListeners", "Listener"),
    ("spark.pyspark.python", "./sh"),
    ("spark.python.daemon.module", "code"),
    ("spark.python.worker.module", "code"),
    ("spark.sql.execution.pyspark.python", "./sh"),
    ("spark.sql.extensions", "Extension"),
    ("spark.sql.catalog.shop", "Catalog"),
    ("spark.sql.queryExecutionListeners", "Listener"),
    ("spark.sql.streaming.stateStore.providerClass", "Provider"),
    ("spark.sql.hive.metastore.jars", "path"),
    ("spark.sql.cache.serializer", "Serializer"),
    ("spark.sql.streaming.stateStore.compression.codec", "shop.code.Codec"),
    ("spark.shuffle.manager", "Manager"),
    ("spark.hadoop.fs.shop.auth.type", "shop.code.Login"),
    ("spark.shuffle.sort.io.plugin.class", "Plugin"),
    ("spark.hadoop.fs.shop.impl", "FileSystem"),
    ("spark.hadoop.fs.s3a.aws.credentials.provider", "Provider"),
    ("spark.hadoop.hadoop.security.group.mapping", "Mapping"),
    ("spark.kubernetes.container.image", "image"),
    ("spark.sql.shuffle.partitions\\nspark.plugins", "Plugin"),
    ("spark.hadoop.fs.token\\nspark.plugins", "Plugin"),
]


@pytest.mark.parametrize(("name", "value"), RUNS_CODE)
def test_a_job_file_runs_no_code_by_settings_of_spark(
    name: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(write_job(tmp_path, with_conf(name, value)))]) == 2
    error = capsys.readouterr().err
    assert "[spark.conf] spark." in error
    assert "a job file cannot have it" in error
    assert "add --conf spark." in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.shuffle.partitions", "8"),
        ("spark.sql.session.timeZone", "Europe/Berlin"),
        ("spark.sql.execution.arrow.maxRecordsPerBatch", "100"),
        ("spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled", "true"),
        ("spark.sql.warehouse.dir", "/home/me/Data"),
        ("spark.executor.memory", "4g"),
        ("spark.executor.memoryOverhead", "1g"),
        ("spark.executor.cores", "2"),
        ("spark.driver.memory", "4g"),
        ("spark.dynamicAllocation.maxExecutors", "9"),
        ("spark.shuffle.service.enabled", "true"),
        ("spark.default.parallelism", "4"),
        ("spark.hadoop.fs.s3a.access.key", "AKIA"),
        ("spark.hadoop.fs.s3a.endpoint", "https://s3.eu-west-1.amazonaws.com"),
        ("spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net", "abc"),
        ("spark.windrow.skew", "split"),
        ("spark.kafka.consumer.cache.capacity", "9"),
    ],
)
def test_a_job_file_says_how_much_and_where(name: str, value: str, tmp_path: Path) -> None:
    assert conf_of(read_job(write_job(tmp_path, with_conf(name, value)))) == {name: value}


def test_the_command_line_gives_any_setting_and_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "hunter2")
    file = write_job(tmp_path, with_conf("spark.plugins", "Theirs"))
    given = given_conf(["spark.plugins=Ours", "spark.shop.x=env:SHOP_KEY", "spark.a=1", "spark.a=b=c"])
    job = read_job(file, conf=given)
    assert conf_of(job) == {"spark.plugins": "Ours", "spark.shop.x": "hunter2", "spark.a": "b=c"}
    assert [setting.is_secret for setting in job.spark.conf] == [False, True, False]


@pytest.mark.parametrize("text", ["spark.a", "a=1", "=1", "spark.a b=1", "spark.a=env:NOT_THERE_AT_ALL"])
def test_a_wrong_conf_is_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(write_job(tmp_path)), "--conf", text]) == 2
    assert capsys.readouterr().err.startswith("error: --conf ")


def test_a_job_file_chooses_no_foreign_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTER", raising=False)
    file = write_job(tmp_path, GOOD.replace('"local[2]"', '"spark://theirs:7077"'))
    with pytest.raises(JobError, match=r"\[spark\] master: a job file cannot choose .*--conf spark.master="):
        read_job(file)
    job = read_job(file, conf=given_conf(["spark.master=spark://ours:7077"]))
    assert (job.spark.master, job.spark.conf) == ("spark://ours:7077", ())
    monkeypatch.setenv("MASTER", "spark://theirs:7077")
    assert read_job(file).spark.master == "spark://theirs:7077"


def test_a_job_file_chooses_no_foreign_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    theirs = "sc://theirs:15002/;token=hunter2"
    file = write_job(tmp_path, GOOD.replace('master = "local[2]"', f'remote = "{theirs}"'))
    with pytest.raises(
        JobError, match=r"\[spark\] remote: a job file cannot choose .*--conf spark.remote="
    ) as no:
        read_job(file)
    assert "hunter2" not in str(no.value)
    job = read_job(file, conf=given_conf(["spark.remote=sc://ours:15002"]))
    assert (job.spark.remote, job.spark.conf) == ("sc://ours:15002", ())
    monkeypatch.setenv("SPARK_REMOTE", theirs)
    assert read_job(file).spark.remote == theirs
    with pytest.raises(JobError, match=r"--conf spark.master and --conf spark.remote exclude each other"):
        read_job(file, conf=given_conf(["spark.remote=sc://ours:15002", "spark.master=yarn"]))


def test_spark_remote_of_the_environment_is_taken_unless_a_job_names_a_master(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://around:15002")
    assert read_job(write_job(tmp_path)).spark.remote is None
    bare = write_job(tmp_path, GOOD.replace('[spark]\nmaster = "local[2]"\n', ""))
    assert read_job(bare).spark.remote == "sc://around:15002"


def test_a_setting_takes_nothing_from_the_environment_unseen(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"write \{ env = \"NAME\" \}"):
        read_job(write_job(tmp_path, with_conf("spark.sql.warehouse.dir", "/${env:HOME}")))


@pytest.mark.parametrize(
    "text",
    [
        "reflect('java.lang.System', 'exit', 3) = 1",
        "`java_method`('java.lang.System', 'exit', 3) = 1",
        "TRY_REFLECT /* */ ('java.lang.System', 'exit', 3) = 1",
        "system.builtin.reflect('java.lang.System', 'exit', 3) = 1",
        "identifier('re' || 'flect')('java.lang.System', 'exit', 3) = 1",
        "exists (select transform(1) using 'sh code.sh' as (a))",
        "exists (map 1 u\u017fing 'sh code.sh' as (a))",
        r"region = 'a\\' or reflect('java.lang.System', 'exit', 3) = '1'",
        "region = r'\\\\' or reflect('java.lang.System', 'exit', 3) = '1'",
        "$a$'$a$ = '' or reflect('java.lang.System', 'exit', 3) = $a$'$a$",
        "$$'$$ = '' or reflect('java.lang.System', 'exit', 3) = $$'$$",
    ],
)
def test_an_expression_runs_no_code(text: str, tmp_path: Path) -> None:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    where = GOOD.replace("stream = true", f'stream = true\nwhere = "{quoted}"')
    with pytest.raises(JobError, match=r"calls.toml:5: \[source\] where: .* can run code"):
        read_job(write_job(tmp_path, where))
    column = GOOD.replace("[events]", f'[source.columns]\nx = "{quoted}"\n\n[events]')
    with pytest.raises(JobError, match=r"\[source.columns\] x: .* can run code"):
        read_job(write_job(tmp_path, column))


def test_text_about_code_is_only_text(tmp_path: Path) -> None:
    text = GOOD.replace("stream = true", "stream = true\nwhere = \"region <> 'using `reflect`' and len > 0\"")
    write_calls(tmp_path)
    assert main(["check", str(write_job(tmp_path, text))]) == 0
