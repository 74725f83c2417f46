"""``--metrics``: a run that can be scraped while it goes on, and is gone afterwards."""

from __future__ import annotations

import datetime as dt
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.cli_jobs import write_calls, write_job
from support.scraping import scrapes
from windrow.cli.addresses import Address, read_address
from windrow.cli.errors import JobError
from windrow.cli.main import main
from windrow.cli.show.progress import Progress, Totals
from windrow.cli.show.prometheus import PrometheusEndpoint


def test_a_local_run_is_scraped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calls(tmp_path)
    found = scrapes(monkeypatch)
    assert main(["run", str(write_job(tmp_path)), "--engine", "local", "--metrics", ":0"]) == 0
    assert found["windrow_rows_total", "aggregated", "calls"] == 121
    assert found["windrow_rows_total", "calls", "late"] == 0
    assert found["windrow_windows_fired_total", "calls"] == 85
    assert found["windrow_batch_seconds_count", "calls"] == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("metrics: ")]
    url = line.removeprefix("metrics: ")
    assert url.startswith("http://127.0.0.1:")
    with pytest.raises(URLError):
        urllib.request.urlopen(url, timeout=5)


def test_before_the_first_step_all_counts_are_zero() -> None:
    endpoint = PrometheusEndpoint("calls", Address("127.0.0.1", 0))
    try:
        with urllib.request.urlopen(f"{endpoint.address.url}/metrics", timeout=5) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        totals = Totals(rows=3)
        endpoint.progress(Progress(0, 1.0, rows=3), totals)
        assert {s.value for family in families for s in family.samples} == {0.0}
    finally:
        endpoint.close()


def test_times_stay_while_no_rows_come() -> None:
    moment = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    endpoint = PrometheusEndpoint("calls", Address("127.0.0.1", 0))
    try:
        endpoint.progress(Progress(0, 1.0, watermark=moment, largest=moment), Totals())
        endpoint.progress(Progress(1, 2.0), Totals())
        with urllib.request.urlopen(f"{endpoint.address.url}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    finally:
        endpoint.close()
    seconds = str(moment.timestamp()).replace("1714521600.0", "1.7145216e+09")
    assert f'windrow_largest_event_timestamp_seconds{{query="calls"}} {seconds}' in text
    assert f'windrow_watermark_timestamp_seconds{{query="calls"}} {seconds}' in text


def test_a_port_that_is_taken_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_calls(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["run", str(write_job(tmp_path)), "--engine", "local", "--metrics", place]) == 2
    error = capsys.readouterr().err
    assert f"--metrics {place}: Address already in use" in error
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("text", ["9100", "localhost", "host:", "host:http", ":70000", ":-1", ":9100 "])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(JobError, match="give HOST:PORT"):
        read_address(text, "--metrics")


@pytest.mark.parametrize(
    ("text", "is_local"),
    [
        (":1", True),
        ("localhost:1", True),
        ("[::1]:1", True),
        ("127.8.0.1:1", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("db.example:1", False),
    ],
)
def test_which_addresses_are_of_this_machine(text: str, is_local: bool) -> None:
    assert read_address(text, "--serve").is_local is is_local


def test_without_the_extra_it_is_named_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    found: Callable[[str], Any] = lambda name: None if name == "prometheus_client" else object()  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", found)
    write_calls(tmp_path)
    assert main(["run", str(write_job(tmp_path)), "--engine", "local", "--metrics", ":0"]) == 2
    needed = "--metrics needs the extra 'metrics': pip install 'prometheus-client>=0.21'"
    assert needed in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
