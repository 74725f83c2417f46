"""The page in a real Chromium: what it shows, how it is used without a mouse, and that no data is obeyed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import live_pages
from support.browser import open_browser, wait_until_shown
from support.live_pages import HOSTILE
from windrow.cli.addresses import Address
from windrow.cli.live.server import PageServer
from windrow.cli.live.state import LiveState


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with open_browser() as found:
        yield found


@pytest.fixture
def shown(driver: Any) -> Iterator[Callable[[LiveState], Any]]:
    servers: list[PageServer] = []

    def show(state: LiveState) -> Any:
        servers.append(PageServer(state, Address("127.0.0.1", 0)))
        driver.get(servers[-1].url)
        wait_until_shown(driver)
        return driver

    yield show
    for server in servers:
        server.close()
    driver.get_log("browser")  # what the end of a server made a page say


def wait(driver: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 15).until(lambda found: found.execute_script(f"return {script}"))


def text_of(driver: Any, name: str) -> str:
    return str(driver.execute_script("return document.getElementById(arguments[0]).textContent", name))


def test_a_busy_page_moves_on_with_the_run(shown: Callable[[LiveState], Any], tmp_path: Path) -> None:
    state = live_pages.busy_state(tmp_path)
    page = shown(state)
    assert text_of(page, "status") == "running"
    assert page.title == "calls: windrow"
    assert page.execute_script("return document.querySelectorAll('#timeline polyline').length") == 3
    assert page.execute_script("return document.querySelectorAll('#run svg').length") >= 4
    state.results(live_pages.results(["a new key"], 5))
    wait(page, "[...document.querySelectorAll('.key')].some((e) => e.textContent === 'a new key')")
    state.end("done", "done: all of it")
    wait(page, "document.getElementById('status').textContent === 'finished'")
    assert text_of(page, "message") == "done: all of it"
    assert page.get_log("browser") == []  # nothing that the policy refused, and no error


def test_a_page_without_windows_says_so_and_no_more(
    shown: Callable[[LiveState], Any], tmp_path: Path
) -> None:
    page = shown(live_pages.empty_state(tmp_path))
    wait(page, "document.getElementById('help').hidden")
    assert text_of(page, "timeline") == "No window has come out yet."
    assert page.execute_script("return document.getElementById('rows').closest('.scroll').hidden")


def test_zoom_by_keys_goes_down_to_slices(shown: Callable[[LiveState], Any], tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    page = shown(live_pages.busy_state(tmp_path))
    line = page.find_element("id", "timeline")
    assert page.execute_script("return document.querySelectorAll('#timeline .span-slice').length") == 0
    low = page.execute_script("return document.querySelector('#timeline svg').dataset.low")
    line.send_keys("+")
    wait(page, f"document.querySelector('#timeline svg').dataset.low !== '{low}'")
    line.send_keys("+")
    wait(page, "document.querySelectorAll('#timeline .span-slice').length > 12")
    line.send_keys(Keys.ARROW_LEFT)
    line.send_keys("0")
    wait(page, f"document.querySelector('#timeline svg').dataset.low === '{low}'")
    assert page.execute_script("return document.activeElement.id") == "timeline"


def test_every_control_is_reached_by_tab_and_shows_it(
    shown: Callable[[LiveState], Any], tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    page = shown(live_pages.busy_state(tmp_path))
    page.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    body, reached = page.find_element("tag name", "body"), []
    for _ in range(40):
        body.send_keys(Keys.TAB)
        body = page.switch_to.active_element
        if body.tag_name == "body":
            break
        outline = page.execute_script("return getComputedStyle(arguments[0]).outlineStyle", body)
        name = body.accessible_name or body.get_attribute("id")
        assert name, body.get_attribute("outerHTML")
        assert outline == "solid", name
        reached.append(name)
    assert {"Search keys", "Order of keys", "Earlier", "Zoom in", "Time line of windows", "Result"} <= set(
        reached
    )


def test_keys_are_chosen_and_searched_among_a_thousand(
    shown: Callable[[LiveState], Any], tmp_path: Path
) -> None:
    page = shown(live_pages.busy_state(tmp_path, keys=1_000))
    wait(page, "document.getElementById('keys-count').textContent === '300 of 1,000'")
    page.find_element("id", "search").send_keys("0777")
    wait(page, "document.querySelectorAll('.key').length === 1")
    page.find_element("css selector", "#keys input").click()
    wait(page, "document.querySelector('#timeline .legend').textContent.includes('region 0777')")
    wait(page, "document.querySelector('#keys i').className === 'c3'")


def test_hostile_data_is_text(shown: Callable[[LiveState], Any], tmp_path: Path) -> None:
    page = shown(live_pages.hostile_state(tmp_path))
    wait(page, f"document.querySelectorAll('.key').length === {len(HOSTILE)}")
    assert "owned" not in page.title or HOSTILE[0] in page.title
    assert text_of(page, "name") == HOSTILE[0]
    assert page.execute_script("return document.querySelectorAll('img, script:not([src])').length") == 0
    handlers = (
        "[...document.querySelectorAll('*')].some((e) => [...e.attributes].some((a) => /^on/.test(a.name)))"
    )
    assert page.execute_script(f"return {handlers}") is False
    keys = page.execute_script("return [...document.querySelectorAll('.key')].map((e) => e.textContent)")
    assert "\\x1b[31mred\\x1b]0;owned\\x07" in keys
    assert "\\u202eright to left" in keys
    assert page.get_log("browser") == []


def test_light_and_dark_as_the_system_or_as_chosen(shown: Callable[[LiveState], Any], tmp_path: Path) -> None:
    page = shown(live_pages.empty_state(tmp_path))
    paper = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for theme in ("dark", "light"):
        media = [{"name": "prefers-color-scheme", "value": theme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        seen[theme] = page.execute_script(f"return {paper}")
    assert seen == {"dark": "rgb(20, 22, 26)", "light": "rgb(255, 255, 255)"}
    button = page.find_element("id", "theme")
    button.click()
    button.click()
    assert page.execute_script(f"return {paper}") == seen["dark"]
    assert button.accessible_name == "Colours: dark"
    button.click()
    assert text_of(page, "timeline") == "No window has come out yet."


def test_a_narrow_page_does_not_scroll_sideways(shown: Callable[[LiveState], Any], tmp_path: Path) -> None:
    page = shown(live_pages.hostile_state(tmp_path))
    metrics = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        wait(page, "document.documentElement.scrollWidth <= 380")
        box = "document.querySelector('.scroll')"
        wait(page, f"{box}.scrollWidth <= {box}.clientWidth")  # values are in sight
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_token_is_not_left_in_the_address(driver: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("WINDROW_TOKEN", "a-token-of-some-length")
    server = PageServer(live_pages.failed_state(tmp_path), Address("127.0.0.1", 0))
    try:
        driver.get(server.address.url)
        assert "a token is needed" in driver.page_source
        driver.get(server.url)
        wait_until_shown(driver)
        assert "token" not in driver.current_url
        assert text_of(driver, "status") == "failed"
    finally:
        server.close()
    wait(driver, "document.getElementById('status').textContent === 'failed; no longer served'")
