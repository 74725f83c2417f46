"""Screenshots of the live page in each of its states, for people to look at: ``make screens``.

Each state in light and dark, wide and narrow; written to .cache/screens, or to the folder that is named.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from support import live_pages
from support.browser import open_browser, wait_until_shown
from windrow.cli.addresses import Address
from windrow.cli.live.server import PageServer
from windrow.cli.live.state import LiveState

SIZES = {"wide": (1440, 1180), "narrow": (420, 1500)}


def states(folder: Path) -> dict[str, LiveState]:
    return {
        "empty": live_pages.empty_state(folder),
        "busy": live_pages.busy_state(folder),
        "thousand": live_pages.busy_state(folder, keys=1_000),
        "error": live_pages.failed_state(folder),
        "finished": live_pages.finished_state(folder),
        "hostile": live_pages.hostile_state(folder),
        "year": live_pages.year_state(folder),
    }


def main(out: Path, only: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, open_browser(*SIZES["wide"]) as driver:
        for name, state in states(Path(scratch)).items():
            if only and name not in only:
                continue
            server = PageServer(state, Address("127.0.0.1", 0))
            for theme in ("light", "dark"):
                media = [{"name": "prefers-color-scheme", "value": theme}]
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
                for size, (width, height) in SIZES.items():
                    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
                    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
                    driver.get(server.url)
                    wait_until_shown(driver)
                    driver.save_screenshot(str(out / f"{name}-{theme}-{size}.png"))
            for line in driver.get_log("browser"):
                print(name, line["message"])
            server.close()
    print(f"screenshots in {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(".cache/screens"), sys.argv[2:])
