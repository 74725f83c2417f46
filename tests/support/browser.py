"""A real Chromium, driven without a screen: Debian's packages ``chromium`` and ``chromium-driver``.

``make chromium`` installs them where apt-get is at hand; elsewhere the tests of the page in a browser say
that there is none, and are left out.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

MISSING = "there is no chromium with its chromedriver here: make chromium installs Debian's"


def chromium_paths() -> tuple[str, str] | None:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return None if browser is None or driver is None else (browser, driver)


@contextlib.contextmanager
def open_browser(width: int = 1400, height: int = 1000) -> Iterator[Any]:
    """A driver of Selenium's; the test is skipped where no Chromium can be had."""
    paths = chromium_paths()
    if paths is None:
        pytest.skip(MISSING)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = paths[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},{height}")
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(paths[1]))
    try:
        yield driver
    finally:
        driver.quit()


def wait_until_shown(driver: Any, seconds: float = 20) -> None:
    """Until the page has its state, its time line and its charts."""
    from selenium.webdriver.support.ui import WebDriverWait

    shown = """
        return document.getElementById("status").textContent !== "connecting"
            && document.getElementById("timeline").childNodes.length > 0
            && document.getElementById("run-section").dataset.shown === "yes"
            && document.getElementById("job-section").dataset.shown === "yes";
    """
    WebDriverWait(driver, seconds).until(lambda found: found.execute_script(shown))
