"""A Chromium that shows the pages of reports from disk, as that of a reader does."""

import base64
import itertools
import os
import shutil
from pathlib import Path

import axe_core_python
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from pytest_miniwob_agent.browser.local import find_browser


class Window:
    """The window of a Chromium.

    Args:
        width: its width in CSS pixels.
        theme: the colour scheme that the reader prefers, `light` or `dark`.
    """

    def __init__(self, width=1280, theme="light"):
        options = webdriver.ChromeOptions()
        # Not the shell: where that is a script, its end would leave the browser.
        options.binary_location = find_browser(headed=True)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for switch in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars"):
            options.add_argument(switch)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self._loads = itertools.count()
        self.look_like(width, theme)

    def look_like(self, width, theme):
        self.width = width
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def open(self, folder, place="#/"):
        """Open a page of a report anew, and wait until it is drawn."""
        page = (folder / "index.html").as_uri()
        # Only the fragment may differ from the page that is open, which would not load it anew.
        self.driver.get(f"{page}?{next(self._loads)}{place}")
        self.wait(lambda: self.shown("#overview > *, #item > *, #trouble"))

    def wait(self, condition):
        return WebDriverWait(self.driver, 60, 0.02).until(lambda _: condition())

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def shown(self, selector, what=""):
        """Return the elements that are visible; in one call, as a page may have many."""
        script = (
            "return [...document.querySelectorAll(arguments[0])].filter("
            "(one) => one.checkVisibility({ visibilityProperty: true }))"
        )
        return self.driver.execute_script(script + what, selector)

    def texts(self, selector):
        """Return the text of each visible element, as it is shown."""
        return self.shown(selector, ".map((one) => one.innerText.trim())")

    def press(self, *keys):
        """Press keys in turn; a pair is a modifier and a key."""
        chain = ActionChains(self.driver)
        for key in keys:
            if isinstance(key, tuple):
                chain.key_down(key[0]).send_keys(key[1]).key_up(key[0])
            else:
                chain.send_keys(key)
        chain.perform()

    @property
    def place(self):
        return self.driver.execute_script("return location.hash")

    def problems(self):
        """Return the browser's complaints, such as breaches of the content security policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def violations(self):
        """Return the findings of an accessibility checker, by the rules of WCAG 2.1 A and AA."""
        script = Path(axe_core_python.__file__).with_name("axe.min.js").read_text("utf-8")
        self.driver.execute_script(script)
        found = self.driver.execute_async_script(
            "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })"
            ".then(arguments[0])"
        )
        assert found["passes"]
        return [
            (one["id"], node["target"], node["any"][0]["message"] if node["any"] else "")
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def wide(self):
        """Return the width of the page, which is larger than the window's if it overflows."""
        return self.driver.execute_script("return document.documentElement.scrollWidth")

    def wait_for_images(self):
        """Wait for the pictures in sight; others are loaded when they are needed."""
        in_sight = """[...document.images].filter((one) => {
            const { left, right } = one.getBoundingClientRect();
            return left <= innerWidth && right >= 0; })"""
        complete = f"return {in_sight}.every((one) => one.complete)"
        self.wait(lambda: self.driver.execute_script(complete))
        # A complete picture is white until it is decoded, which happens beside the page's own work.
        decoded = f"return Promise.all({in_sight}.map((one) => one.decode()))"
        self.driver.execute_script(decoded)

    def picture(self, height=2400):
        """Return a picture of the page, or of as much of it as has this height, as PNG."""
        self.wait_for_images()
        whole = self.driver.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.width, "height": min(height, whole), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
        return base64.b64decode(shot["data"])
