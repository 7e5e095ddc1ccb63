"""A recorded project whose pages have pictures, and a Chromium that shows reports."""

import base64
import os
import shutil
from pathlib import Path

import axe_core_python
import pytest
from made_report import site
from projects import solve_menu
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from pytest_miniwob_agent.browser.installed import find_browser

PICTURED = """
    from pathlib import Path

    import pytest
    from pytest_miniwob_agent import Element, Shot
    from pytest_miniwob_agent.testing import FakeEnvironment

    class Seen(FakeEnvironment):
        # A page with pictures, which are counted; files say if looking at it changes it or fails.

        def look(self, action=None):
            with open("looks.txt", "a") as file:
                print(action, file=file)
            if Path("blind").exists():
                raise ValueError("no eyes")
            if Path("shy").exists():
                self.goal += " (seen)"
            return Shot(self._screen.encode(), (160, 210), ((5, 6),) if action else ())

    @pytest.fixture
    def miniwob_environment(miniwob_case):
        menu = Element(1, "button", "Menu")
        reward = -1.0 if Path("broken").exists() and miniwob_case.seed == 1 else 1.0
        return Seen(
            f"Open the menu and click Save, for {miniwob_case.seed}",
            {"start": [menu], "open": [menu, Element(2, "a", "Save")]},
            {("start", "click id=1"): "open"},
            {("open", "click id=2"): reward},
        )

    @pytest.mark.miniwob("click-menu-2", seeds=[1, 2], trials=1)
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved
"""


@pytest.fixture(scope="session")
def cassettes(tmp_path_factory):
    """The folder for the cassettes of `pictured`, which are recorded once."""
    return tmp_path_factory.mktemp("cassettes") / "recorded"


@pytest.fixture
def pictured(pytester, chat_server, cassettes):
    """A project of two recorded items whose pages have pictures.

    The page of seed 1 is no longer solved, as it is broken after the recording.
    """
    pytester.makepyfile(test_pictured=PICTURED)
    pytester.makeini("[pytest]\nminiwob_model = m\naddopts = -p no:randomly\n")
    chat_server.reply = solve_menu
    if cassettes.exists():
        shutil.copytree(cassettes, pytester.path / "cassettes")
    else:
        pytester.runpytest(
            "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}"
        ).assert_outcomes(passed=2)
        shutil.copytree(pytester.path / "cassettes", cassettes)
    pytester.path.joinpath("broken").touch()
    return pytester


class Window:
    """A Chromium that shows pages from disk, as that of a reader does."""

    def __init__(self, width=1280, theme="light"):
        options = webdriver.ChromeOptions()
        # Not the shell: where that is a script, its end would leave the browser.
        options.binary_location = find_browser(headed=True)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for switch in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars"):
            options.add_argument(switch)
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
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
        self.driver.get("about:blank")
        self.driver.get((folder / "index.html").as_uri() + place)
        self.wait(lambda: self.shown("#overview > *, #item > *, #trouble"))

    def wait(self, condition):
        return WebDriverWait(self.driver, 60, 0.02).until(lambda _: condition())

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def shown(self, selector):
        """Return the elements that are visible; in one call, as a page may have many."""
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].filter("
            "(one) => one.checkVisibility({ visibilityProperty: true }))",
            selector,
        )

    def texts(self, selector):
        """Return the texts of the visible elements, as they are shown."""
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].filter("
            "(one) => one.checkVisibility({ visibilityProperty: true }))"
            ".map((one) => one.innerText.trim())",
            selector,
        )

    def press(self, *keys):
        chain = ActionChains(self.driver)
        for key in keys:
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

    def picture(self, path):
        """Write a picture of the whole page."""
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.width, "height": min(height, 2400), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
        path.write_bytes(base64.b64decode(shot["data"]))


@pytest.fixture(scope="session")
def window():
    window = Window()
    yield window
    window.driver.quit()


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A report of made-up outcomes."""
    return site(tmp_path_factory.mktemp("site"))
