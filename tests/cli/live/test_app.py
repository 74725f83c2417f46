"""The page's requests: what is answered, to whom, and with which headers."""

from __future__ import annotations

import html
import json
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from support import live_pages
from support.live_pages import HOSTILE
from windrow.cli.live.app import COOKIE, make_app
from windrow.cli.live.state import LiveState

TOKEN = "a-token-of-some-length"
PATHS = ["/", "/static/live.js", "/static/live.css", "/static/charts.css", "/static/icon.svg"]
PATHS += [
    "/api/state",
    "/api/keys?column=n&window=hour",
    "/api/timeline?column=n&window=hour",
    "/api/run",
    "/api/job",
]


def client(state: LiveState, token: str | None = None, host: str = "127.0.0.1:8080") -> TestClient:
    return TestClient(make_app(state, token), base_url=f"http://{host}")


@pytest.fixture
def busy(tmp_path: Path) -> LiveState:
    return live_pages.busy_state(tmp_path)


def tags_of(svg: str) -> set[str]:
    """The tags of a drawing, which must be well-formed."""
    drawing = re.search(r"<svg.*</svg>", svg, re.DOTALL)
    assert drawing is not None
    clean = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", drawing[0])
    return {element.tag for element in ET.fromstring(clean).iter()}


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_a_strict_policy(busy: LiveState, path: str) -> None:
    answer = client(busy).get(path)
    assert answer.status_code == 200
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_the_page_loads_nothing_from_elsewhere_and_has_nothing_inline() -> None:
    folder = Path(live_pages.__file__).parents[2] / "src" / "windrow" / "cli" / "live" / "static"
    for file in folder.iterdir():
        text = file.read_text()
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|//cdn|@import|url\(", text), file.name
    page = (folder / "page.html").read_text()
    assert not re.search(r"\son\w+=|style=|<style|<script(?! src=\"static/)", page)
    assert "innerHTML" not in (folder / "live.js").read_text()


@pytest.mark.parametrize("path", [*PATHS, "/events"])
def test_without_the_token_nothing_is_shown(busy: LiveState, path: str) -> None:
    asking = client(busy, TOKEN, "jobs.example:8080")
    assert asking.get(path).status_code == 401
    wrong = asking.get(path, headers={"authorization": f"Bearer {TOKEN}x"})
    assert wrong.status_code == 401
    assert "calls" not in wrong.text
    assert "content-security-policy" in wrong.headers


def test_the_token_opens_the_page_and_leaves_the_address(busy: LiveState) -> None:
    asking = client(busy, TOKEN, "jobs.example:8080")
    answer = asking.get(f"/?token={TOKEN}", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "./"
    cookie = answer.headers["set-cookie"].lower()
    assert COOKIE in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert asking.get("/api/state").json()["name"] == "calls"
    bearer = client(busy, TOKEN).get("/api/state", headers={"authorization": f"Bearer {TOKEN}"})
    assert bearer.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example:8080", ""])
def test_a_rebound_name_sees_nothing(busy: LiveState, host: str) -> None:
    answer = client(busy).get("/api/state", headers={"host": host})
    assert answer.status_code == 421
    assert "calls" not in answer.text


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:1", "[::1]:8080", "localhost"])
def test_names_of_this_machine_are_served(busy: LiveState, host: str) -> None:
    assert client(busy).get("/api/state", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(busy: LiveState, method: str) -> None:
    assert client(busy).request(method, "/api/state").status_code == 405


@pytest.mark.parametrize(
    "query",
    [
        "from=a&to=b",
        "from=5&to=5",
        "from=9&to=5",
        "from=0&to=99999999999999999999",
        "width=x",
        "from=-1e5&to=3",
    ],
)
def test_a_request_that_makes_no_sense_is_refused(busy: LiveState, query: str) -> None:
    answer = client(busy).get(f"/api/timeline?window=hour&column=n&{query}")
    assert answer.status_code == 400
    assert "error" in answer.json()


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/page.html", "/static/..%2fapp.py", "/nothing"]
)
def test_files_that_are_not_of_the_page_are_not_served(busy: LiveState, path: str) -> None:
    assert client(busy).get(path).status_code == 404


def test_the_state_says_what_a_run_has_done(busy: LiveState) -> None:
    found = client(busy).get("/api/state").json()
    numbers = {each["name"]: each["value"] for each in found["numbers"]}
    assert numbers["rows"] == f"{busy.totals.rows:,}"
    assert numbers["late"] == busy.totals.late_text
    assert (numbers["p50"], numbers["p99"]) == ("250 ms", "350 ms")
    assert found["columns"] == ["longest", "n"]
    assert found["windows"] == ["hour"]


def test_keys_are_found_and_ordered(busy: LiveState) -> None:
    asking = client(busy)
    found = asking.get("/api/keys?window=hour&column=n&search=0003").json()
    assert (found["total"], found["matching"]) == (5, 1)
    assert found["keys"][0]["key"] == "region 0003"
    by_change = asking.get("/api/keys?window=hour&column=n&order=change").json()["keys"]
    moves = [abs(float(each["change"].replace(",", ""))) for each in by_change]
    assert moves == sorted(moves, reverse=True)


def test_a_year_is_small_and_an_hour_of_it_has_its_slices_and_windows(tmp_path: Path) -> None:
    state = live_pages.year_state(tmp_path)
    asking = client(state)
    whole = asking.get("/api/timeline?window=hour&column=n&key=north&width=900").json()
    assert len(whole["svg"]) < 200_000
    assert "edges of slices: zoom in" in whole["svg"]
    low = int(whole["whole"][0])
    before = time.process_time()
    for k in range(20):
        query = f"from={low + k * 10**9}&to={low + k * 10**9 + 3_600_000_000}&width=900"
        part = asking.get(f"/api/timeline?window=hour&column=n&key=north&{query}").json()
    assert time.process_time() - before < 10  # seconds for twenty, were all of the year gone through
    assert "slices, each folded once" in part["svg"]
    assert part["svg"].count("span-slice") >= 12
    assert len(part["rows"]) == 40


def test_late_rows_and_the_watermark_are_on_the_time_line(busy: LiveState) -> None:
    svg = client(busy).get("/api/timeline?window=hour&column=n").json()["svg"]
    assert "late rows at their own times: 5 too late for all windows, 15 pairs" in svg
    assert svg.count("span-late") == 10
    assert "watermark</span>" in svg
    assert {"svg", "polyline", "rect"} <= tags_of(svg)


def test_run_charts_are_those_of_the_report(busy: LiveState) -> None:
    from windrow.cli.record import Record
    from windrow.cli.report.page import page

    assert busy.job is not None
    record = Record(busy.job, "local")
    for step in busy.steps:
        record.add(step)
    record.end("done")
    drawn = client(busy).get("/api/run").json()["html"]
    assert drawn.count("<svg") >= 4
    assert drawn in page(record)


def test_changes_are_sent_as_events_until_the_end(busy: LiveState) -> None:
    asked = []

    def has_ended() -> bool:
        asked.append(1)
        if len(asked) == 2:
            busy.note("one more")
        return len(asked) > 3

    asking = TestClient(make_app(busy, None, has_ended), base_url="http://localhost")
    with asking.stream("GET", "/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        text = "".join(answer.iter_text())
    events = re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)
    assert [name for name, _ in events] == ["change", "change", "end"]
    versions = [json.loads(data)["version"] for name, data in events if name == "change"]
    assert versions[1] == versions[0] + 1


def test_empty_pages_say_so(tmp_path: Path) -> None:
    asking = client(live_pages.empty_state(tmp_path))
    assert asking.get("/api/timeline?window=&column=").json()["svg"] == ""
    assert asking.get("/api/keys").json() == {"total": 0, "matching": 0, "keys": []}
    assert asking.get("/api/run").json()["html"] == ""


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    state = live_pages.hostile_state(tmp_path)
    asking = client(state)
    for window in state.lines.windows if state.lines is not None else ():
        parameters: list[tuple[str, Any]] = [
            ("window", window),
            ("column", "n"),
            *(("key", k) for k in HOSTILE[:6]),
        ]
        found = asking.get("/api/timeline", params=parameters).json()
        assert found["keys"] == HOSTILE[:6]
        assert tags_of(found["svg"]) <= {"svg", "polyline", "circle", "rect", "line", "text", "title", "path"}
        drawing = re.sub(r"<text[^>]*>.*?</text>|<title>.*?</title>", "", found["svg"], flags=re.DOTALL)
        assert not re.search(r"<script|<img|\son\w+=\"", drawing)
        assert html.escape(HOSTILE[0]) in found["svg"]
    listed = asking.get("/api/keys?window=hour&column=n").json()["keys"]
    assert {each["key"] for each in listed} == set(HOSTILE)  # JSON: the page puts it in as text


def test_secrets_are_in_no_note_and_no_plan(tmp_path: Path) -> None:
    from support.cli_jobs import GOOD, write_job
    from windrow.cli.job import read_job

    text = GOOD.replace("header = true", 'header = true\npassword = "hunter2-secret"')
    job = read_job(write_job(tmp_path, text))
    state = LiveState(job.name, "local", None, job)
    state.note("cannot log in with hunter2-secret")
    state.end("failed", "hunter2-secret is wrong")
    asking = client(state)
    assert "hunter2" not in asking.get("/api/state").text + asking.get("/api/job").text
