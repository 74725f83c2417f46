"""``--serve`` and ``windrow serve``: a run is shown while it goes on, results afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cli_jobs import GOOD, write_calls, write_job
from support.live_pages import empty_state, results
from support.serving import Scripted, fetch, last_looks
from windrow.cli.addresses import Address
from windrow.cli.commands import run, serve
from windrow.cli.errors import JobError
from windrow.cli.live.files import ResultFiles
from windrow.cli.live.server import PageServer, token_for
from windrow.cli.main import main


@pytest.fixture
def last_look(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return last_looks(monkeypatch)


def test_a_local_run_is_on_the_page(
    tmp_path: Path, last_look: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path, files=3)
    text = GOOD.replace("header = true", "header = true\nmaxFilesPerTrigger = 1")
    assert main(["run", str(write_job(tmp_path, text)), "--engine", "local", "--quiet", "--serve", ":0"]) == 0
    state = last_look["state"]
    assert (state["status"], state["name"]) == ("done", "calls")
    assert state["results"] == pq.read_table(tmp_path / "results").num_rows
    assert state["windows"] == ["hour", "spell"]
    assert last_look["timeline"]["keys"] == ["north", "south"]
    assert last_look["run"]["html"].count("<svg") >= 3
    assert "the page: http://127.0.0.1:" in capsys.readouterr().err


def test_a_run_that_fails_says_why_on_the_page(tmp_path: Path, last_look: dict[str, Any]) -> None:
    write_calls(tmp_path)
    (tmp_path / "data" / "calls-0.csv").write_text(
        "ts,region,caller,len\n2024-05-01T12:00:00Z,a,b,<b>x</b>\n"
    )
    assert main(["run", str(write_job(tmp_path)), "--engine", "local", "--quiet", "--serve", ":0"]) == 1
    assert last_look["state"]["status"] == "failed"
    assert "calls-0.csv" in last_look["state"]["message"]


def test_with_stay_the_page_is_there_until_somebody_ends_it(
    tmp_path: Path, last_look: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    script = Scripted(*[lambda: asked.append(1)] * 3)
    monkeypatch.setattr(run, "Stopping", lambda: script)
    write_calls(tmp_path)
    job = str(write_job(tmp_path))
    assert main(["run", job, "--engine", "local", "--quiet", "--serve", ":0", "--stay"]) == 0
    assert len(asked) == 3
    assert last_look["state"]["status"] == "done"


def test_results_are_served_afterwards_and_new_files_are_seen(
    tmp_path: Path,
    last_look: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    pq.write_table(results(["north"], 10), folder / "part-0.parquet")
    script = Scripted(lambda: pq.write_table(results(["south"], 10), folder / "part-1.parquet"))
    monkeypatch.setattr(serve, "Stopping", lambda: script)
    assert main(["serve", str(folder), "--at", ":0"]) == 0
    assert last_look["state"]["results"] == 20
    assert last_look["timeline"]["keys"] == ["north", "south"]
    assert "serving" in capsys.readouterr().out


def test_a_file_that_cannot_be_shown_is_said_on_the_page(
    tmp_path: Path, last_look: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(results(["north"], 10), tmp_path / "part-0.parquet")
    script = Scripted(
        lambda: pq.write_table(results(["south"], 9).drop_columns("n"), tmp_path / "part-1.parquet"),
        lambda: (tmp_path / "part-2.parquet").write_bytes(b"this is no parquet"),
        lambda: pq.write_table(results(["east"], 5), tmp_path / "part-3.parquet"),
    )
    monkeypatch.setattr(serve, "Stopping", lambda: script)
    monkeypatch.setattr(serve, "_PAUSE", 0.01)
    assert main(["serve", str(tmp_path), "--at", ":0"]) == 0
    first, second = last_look["state"]["notes"]
    assert "no column 'n'" in first
    assert "part-2.parquet" in second
    assert last_look["state"]["results"] == 15


@pytest.mark.parametrize("make", ["nothing", "empty", "other"])
def test_what_cannot_be_served_is_refused_by_name(
    make: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "place"
    if make != "nothing":
        path.mkdir()
    if make == "other":
        pq.write_table(pa.table({"a": [1]}), path / "a.parquet")
    assert main(["serve", str(path), "--at", ":0"]) == 2
    said = {"nothing": "no such file", "empty": "there are no results", "other": "they have a"}[make]
    assert said in capsys.readouterr().err


def test_of_sparks_files_only_those_in_its_log_count(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    for k in range(3):
        pq.write_table(results([f"key {k}"], 2), tmp_path / f"part-{k} of 3.snappy.parquet")
    files = ResultFiles(tmp_path)

    def entry(k: int) -> str:
        place = (tmp_path / f"part-{k} of 3.snappy.parquet").as_uri()
        return json.dumps({"path": place, "size": 1, "action": "add"})

    (log / "0").write_text("v1\n" + entry(0))
    assert [table.column("region")[0].as_py() for table in files.fresh()] == ["key 0"]
    (log / "9.compact").write_text("v1\n" + entry(0) + "\n" + entry(2))
    assert [table.column("region")[0].as_py() for table in files.fresh()] == ["key 2"]
    assert list(files.fresh()) == []


@pytest.mark.parametrize("format", ["csv", "json"])
def test_results_in_text_are_read(format: str, tmp_path: Path) -> None:
    write_calls(tmp_path)
    text = GOOD.replace('format = "parquet"', f'format = "{format}"')
    assert main(["run", str(write_job(tmp_path, text)), "--engine", "local", "--quiet"]) == 0
    (table,) = ResultFiles(tmp_path / "results").fresh()
    assert {"region", "window", "window_end", "n"} <= set(table.column_names)


def test_other_machines_need_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WINDROW_TOKEN", raising=False)
    assert token_for(Address("127.0.0.1", 1)) is None
    made = {token_for(Address("0.0.0.0", 1)) for _ in range(2)}
    assert len(made) == 2
    assert all(token is not None and len(token) >= 32 for token in made)
    monkeypatch.setenv("WINDROW_TOKEN", "short")
    with pytest.raises(JobError, match="16 characters"):
        token_for(Address("127.0.0.1", 1))


def test_a_server_for_all_answers_nobody_without_its_token(tmp_path: Path) -> None:
    server = PageServer(empty_state(tmp_path), Address("0.0.0.0", 0))
    try:
        base = f"http://127.0.0.1:{server.address.port}"
        with pytest.raises(HTTPError, match="401"):
            fetch(f"{base}/api/state")
        assert fetch(f"{base}/api/state?token={server.token}")["name"] == "calls"
    finally:
        server.close()


@pytest.mark.parametrize("how", ["run", "serve"])
def test_a_token_of_the_environment_is_not_printed(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "a-token-that-logs-must-not-have"
    monkeypatch.setenv("WINDROW_TOKEN", token)
    monkeypatch.setattr(serve, "Stopping", Scripted)
    for port in ("127.0.0.1:0", "0.0.0.0:0"):
        if how == "run":
            write_calls(tmp_path)
            job = str(write_job(tmp_path))
            assert main(["run", job, "--engine", "local", "--overwrite", "--serve", port]) == 0
        else:
            pq.write_table(results(["north"], 10), tmp_path / "part-0.parquet")
            assert main(["serve", str(tmp_path / "part-0.parquet"), "--at", port]) == 0
        said = "".join(capsys.readouterr())
        assert "with ?token= and the value of $WINDROW_TOKEN" in said
        assert token not in said


def test_a_new_token_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WINDROW_TOKEN", raising=False)
    write_calls(tmp_path)
    job = str(write_job(tmp_path))
    assert main(["run", job, "--engine", "local", "--quiet", "--serve", "0.0.0.0:0"]) == 0
    assert re.search(r"the page: http://0\.0\.0\.0:\d+/\?token=[\w-]{32}\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    "line",
    [
        '{"size": 1}',
        '{"action": "add"}',
        '{"action": "add", "path": 7}',
        "[]",
        "null",
        "no JSON",
        '"text"',
        "\x00",
    ],
)
def test_a_spark_log_of_somebody_else_is_refused_by_name(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    (log / "0").write_text(f"v1\n{line}\n")
    (log / "\u00b2").write_text("a digit in a name, and no number")
    pq.write_table(results(["north"], 2), tmp_path / "part-0.parquet")
    assert main(["serve", str(tmp_path), "--at", ":0"]) == 2
    said = capsys.readouterr().err
    assert f"{log / '0'}: this is not in the log of a Spark stream" in said
    assert "remove _spark_metadata" in said


@pytest.mark.parametrize("command", ["run", "serve"])
def test_without_the_extra_it_is_named_with_its_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else found(name))
    write_calls(tmp_path)
    job = str(write_job(tmp_path))
    asked = (
        ["run", job, "--engine", "local", "--serve", ":0"] if command == "run" else ["serve", str(tmp_path)]
    )
    assert main(asked) == 2
    option = "--serve" if command == "run" else "windrow serve"
    needed = f"{option} needs the extra 'serve': pip install 'starlette>=0.45' 'uvicorn>=0.34'"
    assert needed in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
