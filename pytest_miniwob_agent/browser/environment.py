"""Chromium through selenium: the MiniWoB++ page as an `Environment`, actions as native input.

The page has a clock of its own (page.js): it stands still while the agent thinks and is moved on
after each action, so that animations and delays are over before the page is read, however fast the
machine or the model is.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Keys
from urllib3.exceptions import HTTPError

from pytest_miniwob_agent.core.actions import (
    Action,
    Choose,
    Click,
    Copy,
    DoubleClick,
    Drag,
    Enter,
    Hold,
    Hover,
    Paste,
    Place,
    Press,
    Release,
    Scroll,
    Select,
    Type,
    elements_of,
)
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserError, BrowserLost
from pytest_miniwob_agent.core.observations import Element, Observation, Shot, Transition
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.tasks.catalogue import page_path

VIEWPORT = (640, 480)
"""Width and height of the page in CSS pixels; a task's own area is 160 x 210."""

SETTLE_MS = 2000
"""Milliseconds of the page's clock in which an action's consequences come to rest. The slowest
animation of the tasks, the wheel of `click-pie`, takes 1,500."""

EPOCH_MS = 1_600_000_000_000
"""Where the page's clock starts in every trial, in milliseconds since 1970."""

TIMEOUT = 30.0
"""Real seconds after which a page that does not answer is given up."""

MAX_PRESSES = 100
"""A `Press` of more than that is refused: no list of a task is as long."""

MAX_TEXT = 2000
"""A text of more characters than that is refused: typing them would take longer than `TIMEOUT`
allows on a slow machine."""

MAX_PIXELS = 100_000
"""Places and ways beyond that are refused: no page of a task is as large."""

DRAG_MOVES = 10
"""Moves of the mouse from where a drag begins to where it ends. Pages tell a drag by the first, and
sort what is dragged by the way that it takes."""

_HALVES = re.compile("[\ud800-\udfff]")

_CLICKS = {Click: 1, DoubleClick: 2, Hover: 0}

_NO_KEY = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ue000-\uf8ff]")
"""Characters that no key types; WebDriver takes those from U+E000 on for keys such as CTRL."""

FONT = "Roboto"
"""The name in its file of the font that all text has."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_SWITCHES = (
    "--allow-file-access-from-files",  # or a flight task could not look into its own frame
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-partial-raster",  # or a corner of a picture would differ by what was drawn before
    "--disable-smooth-scrolling",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-device-scale-factor=1",
    "--force-prefers-reduced-motion",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--lang=en-US",
    "--no-default-browser-check",
    "--no-first-run",
    "--window-size=800,720",
)

_KEYS = {
    **{name: getattr(Keys, name) for name in ("ENTER", "TAB", "SPACE", "ESCAPE", "BACKSPACE")},
    **{name: getattr(Keys, name) for name in ("DELETE", "HOME", "END")},
    **{f"ARROW{way}": getattr(Keys, f"ARROW_{way}") for way in ("UP", "DOWN", "LEFT", "RIGHT")},
    **{f"PAGE{way}": getattr(Keys, f"PAGE_{way}") for way in ("UP", "DOWN")},
    "CTRL": Keys.CONTROL,
    "SHIFT": Keys.SHIFT,
    "ALT": Keys.ALT,
}


@cache
def _page_script() -> str:
    """What runs in every new document, with the font of the `font-roboto` package in it."""
    spec = importlib.util.find_spec("font_roboto")
    if spec is None or spec.origin is None:
        raise BrowserError("the font-roboto package is not installed: pip install font-roboto")
    font = (Path(spec.origin).parent / "files" / "Roboto-Regular.ttf").read_bytes()
    source = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
    encoded = base64.b64encode(font).decode()
    constants = f'const FONT = "{encoded}", EPOCH = {EPOCH_MS}, SETTLE = {SETTLE_MS};'
    return f"{{ {constants}\n{source} }}"


def find_browser(path: str | None = None) -> str:
    """The browser to start: `path`, `$MINIWOB_BROWSER`, or the first of `BROWSERS` on the path.

    Raises:
        BrowserError: there is none; the message says how to install one.
    """
    if path := path or os.environ.get("MINIWOB_BROWSER"):
        if found := shutil.which(path):
            return found
        raise BrowserError(f"no browser at {path!r} (--miniwob-browser or MINIWOB_BROWSER)")
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    app = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    if Path(app).exists():
        return app
    raise BrowserError(
        f"no Chromium or Chrome found (looked for {', '.join(BROWSERS)}): install one, on Debian "
        "and Ubuntu with `apt-get install chromium chromium-driver`, or name it with "
        "--miniwob-browser PATH"
    )


class Browser:
    """One Chromium for a session or an xdist worker; started when first needed.

    A browser that crashed or hangs is ended, and the next page gets a new one.

    Args:
        path: the browser's executable; None looks for one.
        headed: show the window.
        slowmo: real milliseconds that every action takes longer, for those who watch the window;
            the pointer is then drawn in it. What the page does and what is read are the same.
        timeout: real seconds after which a page that does not answer is given up.
        apart: a context for talking to the driver, which is HTTP, as with `tape.apart`.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        headed: bool = False,
        slowmo: int | None = None,
        timeout: float = TIMEOUT,
        apart: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self._apart = apart
        self._path = path
        self._headed = headed
        self._slowmo = slowmo
        self._timeout = timeout
        self._driver: webdriver.Chrome | None = None
        self._service: webdriver.ChromeService | None = None
        self.held: set[str] = set()
        """Names of the keys that are down."""

    @property
    def driver(self) -> webdriver.Chrome:
        """The running WebDriver."""
        if self._driver is None:
            self._driver = self._start()
        return self._driver

    def _start(self) -> webdriver.Chrome:
        options = webdriver.ChromeOptions()
        options.binary_location = find_browser(self._path)
        options.unhandled_prompt_behavior = "dismiss"
        for switch in _SWITCHES:
            options.add_argument(switch)
        if not self._headed:
            options.add_argument("--headless=new")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium refuses to sandbox itself for root
        # A process group of their own, so that Ctrl-C reaches pytest only and `kill` all of them.
        service = webdriver.ChromeService(
            shutil.which("chromedriver"), popen_kw={"start_new_session": True}
        )
        try:
            driver = webdriver.Chrome(options=options, service=service)
        except (WebDriverException, OSError) as error:
            raise BrowserError(
                f"{options.binary_location} did not start: {_first_line(error)}. Its driver must "
                "be of the same version: on Debian and Ubuntu `apt-get install chromium-driver`"
            ) from error
        self._service = service
        driver.command_executor.client_config.timeout = self._timeout + 5  # type: ignore[union-attr]
        driver.set_page_load_timeout(self._timeout)
        driver.set_script_timeout(self._timeout)
        for command, arguments in (
            ("Emulation.setDeviceMetricsOverride",
             {"width": VIEWPORT[0], "height": VIEWPORT[1], "deviceScaleFactor": 1,
              "mobile": False}),
            ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}),
            ("Emulation.setLocaleOverride", {"locale": "en-US"}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": _page_script()}),
        ):  # fmt: skip
            driver.execute_cdp_cmd(command, arguments)
        if self._headed:
            self._ignore_input(driver, True)
        return driver

    def perform(self, chain: ActionChains) -> None:
        """Carry out native input; at all other times a window is deaf to mouse and keyboard."""
        if not self._headed:
            chain.perform()
            return
        self._ignore_input(self.driver, False)
        chain.perform()
        self._ignore_input(self.driver, True)

    def draw_pointer(self, point: Sequence[int]) -> None:
        """Draw the pointer in the window, if anybody watches."""
        if self._slowmo is not None:
            self.driver.execute_script("miniwobAgent.point(...arguments)", *point)

    def linger(self) -> None:
        """Leave those who watch the time to see what is there, half of what an action gets."""
        if self._slowmo is not None:
            time.sleep(self._slowmo / 2000)

    def _ignore_input(self, driver: webdriver.Chrome, ignore: bool) -> None:
        driver.execute_cdp_cmd("Input.setIgnoreInputEvents", {"ignore": ignore})

    @contextlib.contextmanager
    def guard(self, doing: str) -> Iterator[webdriver.Chrome]:
        """Use the driver; whatever goes wrong ends the browser and is a `BrowserLost`."""
        try:
            with self._apart():
                yield self.driver
        except (WebDriverException, HTTPError, OSError) as error:
            self.kill()
            raise BrowserLost(f"the browser failed while {doing}: {_first_line(error)}") from error

    def environment(self, case: Case) -> MiniwobEnvironment:
        """The case's page in this browser."""
        return MiniwobEnvironment(self, case)

    def kill(self) -> None:
        """End the browser and its driver at once, whatever state they are in."""
        driver, service = self._driver, self._service
        self._driver = self._service = None
        self.held.clear()
        if driver is not None and not isinstance(driver.command_executor, str):
            driver.command_executor.close()
        if service is None or (process := service.process) is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        # Or it would try to stop it politely, later.
        service.process = None  # type: ignore[assignment]

    def close(self) -> None:
        """Quit the browser, and make sure of it."""
        if self._driver is not None:
            with contextlib.suppress(WebDriverException, HTTPError, OSError):
                self._driver.quit()
        self.kill()


class MiniwobEnvironment:
    """A case's page: an `Environment` of `core`.

    `reset` loads the page afresh, so that no trial sees anything of an earlier one. Elements keep
    their ids for the length of a trial.
    """

    def __init__(self, browser: Browser, case: Case) -> None:
        self._browser = browser
        self._case = case
        self._points: dict[int, list[int] | None] = {}
        """Where the elements with these ids can be clicked, None where that is yet to be found."""
        self._aimed: tuple[Action, ActionChains, str | None] | None = None
        """The action that was looked at before it is done, and what `_aim` says of it."""
        self._url = page_path(case.task).as_uri()

    def reset(self) -> Observation:
        """Load the page, set the seed, generate the problem, let it settle and read it.

        Raises:
            BrowserLost: the page could not be loaded, or is not a task's page.
        """
        with self._browser.guard(f"loading {self._case.task}") as driver:
            self._aimed = None
            self._release_keys(driver)
            driver.get(self._url)
            seen = driver.execute_script("return miniwobAgent.start(...arguments)", self._case.seed)
        return self._transition(seen).observation

    def step(self, action: Action) -> Transition:
        """Carry out an action with native input, let the page settle, and read it.

        Raises:
            BrowserLost: the browser crashed or the page hangs.
        """
        with self._browser.guard(f"doing {action}") as driver:
            chain, error = self._aim(action, driver)
            self._aimed = None
            points = _pointed(chain)
            if error is None:
                for point in points[:1]:
                    self._browser.draw_pointer(point)
                self._browser.linger()
                self._browser.perform(chain)
            wheel = isinstance(action, Scroll)
            seen = driver.execute_script("return miniwobAgent.read(...arguments)", wheel)
            for point in points[1:]:
                self._browser.draw_pointer(point)
            self._browser.linger()
        return self._transition(seen, error)

    def html(self) -> str:
        """The visible page as HTML; every element in it can be acted upon.

        Raises:
            BrowserLost: the browser crashed or the page hangs.
        """
        with self._browser.guard(f"reading {self._case.task}") as driver:
            html, ids = driver.execute_script("return miniwobAgent.html()")
        for id_ in ids:
            self._points.setdefault(id_, None)
        return str(html)

    def fonts(self) -> list[str]:
        """The fonts that the page's text is really drawn with, by the names in their files; one
        that is the machine's is marked so.

        Raises:
            BrowserLost: the browser crashed or the page hangs.
        """
        with self._browser.guard(f"asking for the fonts of {self._case.task}") as driver:
            driver.execute_cdp_cmd("DOM.enable", {})
            driver.execute_cdp_cmd("CSS.enable", {})
            root = driver.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]
            body = {"nodeId": root, "selector": "body *"}
            nodes = driver.execute_cdp_cmd("DOM.querySelectorAll", body)["nodeIds"]
            used = [
                font
                for node in nodes
                for font in driver.execute_cdp_cmd("CSS.getPlatformFontsForNode", {"nodeId": node})[
                    "fonts"
                ]
            ]
        names = {
            one["familyName"] + ("" if one["isCustomFont"] else " of this machine") for one in used
        }
        return sorted(names)

    def look(self, action: Action | None = None) -> Shot:
        """A picture of all that is in sight, and where an action points that `step` does next.

        An element out of sight is brought there, which is not done again by `step`.

        Raises:
            BrowserLost: the browser crashed or the page hangs.
        """
        with self._browser.guard(f"taking a picture of {self._case.task}") as driver:
            points: list[tuple[int, int]] = []
            if action is not None:
                chain, error = self._aim(action, driver)
                if error is None:
                    points = _pointed(chain)
            view = driver.execute_script("return miniwobAgent.view(...arguments)", points)
            width, height = view["size"]
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            picture = driver.execute_cdp_cmd(
                "Page.captureScreenshot", {"format": "png", "clip": clip}
            )
            for point in points[:1]:
                self._browser.draw_pointer(point)
        boxes = tuple(tuple(box) for box in view["boxes"])
        return Shot(base64.b64decode(picture["data"]), (width, height), tuple(points), boxes)

    def _aim(self, action: Action, driver: webdriver.Chrome) -> tuple[ActionChains, str | None]:
        """The action's input and why it is impossible, found out once for `look` and `step`."""
        if self._aimed is None or self._aimed[0] is not action:
            chain = ActionChains(driver, duration=0)
            self._aimed = action, chain, self._add(action, chain, driver)
        return self._aimed[1], self._aimed[2]

    def _add(self, action: Action, chain: ActionChains, driver: webdriver.Chrome) -> str | None:
        """Add the action's input to the chain; return why it is impossible."""
        for id_ in elements_of(action):
            if id_ not in self._points:
                return f"there is no element with id={id_} on the screen"
        if self._browser.held and isinstance(action, Select | Choose | Copy | Paste):
            return f"release {' and '.join(sorted(self._browser.held))} first"
        match action:
            case Press(key) | Hold(key) if key not in _KEYS:
                return f"there is no key {sanitize_line(key)}"
            case Click(element, at) | DoubleClick(element, at) | Hover(element, at):
                point = self._point(driver, element, at)
                if isinstance(point, str):
                    return point
                _move(chain, point)
                for _ in range(_CLICKS[type(action)]):
                    chain.click()
            case Drag():
                return self._add_drag(action, chain, driver)
            case Enter(text, element):
                if error := _why_untypable(text):
                    return error
                point = self._point(driver, element)
                if isinstance(point, str):
                    return point
                _move(chain, point)
                chain.click()
                chain.send_keys(text)
            case Type(text):
                if error := _why_untypable(text):
                    return error
                chain.send_keys(text)
            case Press(key, times):
                if not 1 <= times <= MAX_PRESSES:
                    return f"a key can be pressed 1 to {MAX_PRESSES} times, not {times}"
                chain.send_keys(_KEYS[key] * times)
            case Hold(key):
                self._browser.held.add(key)
                chain.key_down(_KEYS[key])
            case Release(key):
                if key not in self._browser.held:
                    return f"{key} is not held"
                self._browser.held.remove(key)
                chain.key_up(_KEYS[key])
            case Select():
                return self._add_selection(action, chain, driver)
            case Scroll(element, pixels):
                if not 0 < abs(pixels) <= MAX_PIXELS:
                    return f"a wheel can't be turned by {pixels} pixels"
                point = self._point(driver, element)
                if isinstance(point, str):
                    return point
                _move(chain, point)
                x, y = point
                wheel = chain.w3c_actions.wheel_action
                wheel.pause()  # while the mouse moves
                wheel.scroll(x, y, delta_y=round(pixels))
            case Choose(option, element):
                found = _ask(driver, "option", element, option)
                if isinstance(found, str):
                    return found
                _move(chain, found["point"])
                chain.click()
                chain.send_keys(Keys.HOME + Keys.ARROW_DOWN * found["down"] + Keys.ENTER)
            case Copy():
                if not _ask(driver, "marked"):
                    return "no text is selected"
                _press_with(chain, Keys.CONTROL, "c")
            case Paste():
                if not _ask(driver, "copied"):
                    return "nothing was copied"
                _press_with(chain, Keys.CONTROL, "v")
        return None

    def _point(
        self, driver: webdriver.Chrome, id_: int, at: Place | None = None
    ) -> list[int] | str:
        """Where to point to for an element or a place in it; or why that can't be done."""
        if at is None:
            point: list[int] | None = self._points[id_] or _ask(driver, "reach", id_)
            return point or f"the element with id={id_} can't be brought into sight"
        if not _is_near(at):
            return f"there is no such place in the element with id={id_}"
        found = _ask(driver, "aim", [[id_, at]])
        return found if isinstance(found, str) else list(found[0])

    def _add_drag(self, drag: Drag, chain: ActionChains, driver: webdriver.Chrome) -> str | None:
        if not all(_is_near(place) for place in (drag.at, drag.end) if place is not None):
            return "a drag can't begin or end there"
        places = [[drag.element, drag.at]]
        if drag.to is not None:
            places.append([drag.to, drag.end])
        found = _ask(driver, "aim", places)
        if isinstance(found, str):
            return found
        x, y = found[0]
        if drag.to is not None:
            end_x, end_y = found[1]
        else:
            right, down = drag.end or (0, 0)
            end_x, end_y = round(x + right), round(y + down)
        width, height = VIEWPORT
        if not (0 <= end_x < width and 0 <= end_y < height):
            return (
                f"the drag would end outside the page's {width} x {height} pixels: it begins at "
                f"{x},{y}"
            )
        _move(chain, (x, y))
        chain.click_and_hold()
        for step in range(1, DRAG_MOVES + 1):
            way = step / DRAG_MOVES
            _move(chain, (round(x + (end_x - x) * way), round(y + (end_y - y) * way)))
        chain.release()
        return None

    def _add_selection(
        self, select: Select, chain: ActionChains, driver: webdriver.Chrome
    ) -> str | None:
        found = _ask(driver, "range", select.element, select.text)
        if isinstance(found, str):
            return found
        if "start" in found:
            _move(chain, found["start"])
            chain.click_and_hold()
            _move(chain, found["end"])
            chain.release()
            return None
        if found.get("skip", 0) + found.get("take", 0) > MAX_TEXT:
            return f"only the first {MAX_TEXT} characters of a field can be selected in part"
        _move(chain, found["point"])
        chain.click()
        if select.text is None:
            _press_with(chain, Keys.CONTROL, "a")
        else:
            _press_with(chain, Keys.CONTROL, Keys.HOME)
            chain.send_keys(Keys.ARROW_RIGHT * found["skip"])
            _press_with(chain, Keys.SHIFT, Keys.ARROW_RIGHT * found["take"])
        return None

    def _transition(self, seen: dict[str, Any], error: str | None = None) -> Transition:
        """What the page says of itself; keeps where its elements are to be clicked."""
        self._points = {one["id"]: one.pop("point") for one in seen["elements"]}
        self._points.pop(None, None)  # type: ignore[call-overload]
        elements = tuple(Element(**one) for one in seen["elements"])
        return Transition(
            Observation(seen["goal"], elements), float(seen["reward"]), seen["done"], error
        )

    def _release_keys(self, driver: webdriver.Chrome) -> None:
        """Let go of every key. The pointer needs no care: a new page does not know where it is."""
        if self._browser.held:
            chain = ActionChains(driver, duration=0)
            for key in sorted(self._browser.held):
                chain.key_up(_KEYS[key])
            self._browser.perform(chain)
            self._browser.held.clear()


def _ask(driver: webdriver.Chrome, what: str, *about: Any) -> Any:
    """How the page says that an action is to be carried out; a text says why it can't be."""
    # Half of a surrogate pair is nothing that the driver takes.
    about = tuple(_HALVES.sub("\ufffd", one) if isinstance(one, str) else one for one in about)
    return driver.execute_script("return miniwobAgent.ask(...arguments)", what, *about)


def _move(chain: ActionChains, point: Sequence[int]) -> None:
    chain.w3c_actions.pointer_action.move_to_location(*point)
    chain.w3c_actions.key_action.pause()


def _press_with(chain: ActionChains, modifier: str, keys: str) -> None:
    chain.key_down(modifier).send_keys(keys).key_up(modifier)


def _is_near(place: Place) -> bool:
    """Whether the numbers are such that a page can be asked about them; NaN is not."""
    return all(abs(number) <= MAX_PIXELS for number in place)


def _why_untypable(text: str) -> str | None:
    """Why a text can't be typed."""
    if len(text) > MAX_TEXT:
        return f"a text can have {MAX_TEXT} characters, not {len(text)}"
    if match := _NO_KEY.search(text):
        return f"no key types the character U+{ord(match[0]):04X}"
    return None


def _pointed(chain: ActionChains) -> list[tuple[int, int]]:
    """Where the pointer goes; of a drag, where it begins and where it ends."""
    moves = chain.w3c_actions.pointer_action.source.actions
    points = [(int(one["x"]), int(one["y"])) for one in moves if one["type"] == "pointerMove"]
    return list(dict.fromkeys([points[0], points[-1]])) if points else []


def _first_line(error: BaseException) -> str:
    text = str(getattr(error, "msg", None) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__
