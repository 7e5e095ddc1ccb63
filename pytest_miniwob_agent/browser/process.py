"""The browser as pages use it: set up to be deterministic, called, and killed if it fails.

What starts it is a launcher: that of `local` on this machine, or one of a plugin.
"""

from __future__ import annotations

import base64
import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from urllib3.exceptions import HTTPError
from websockets.sync.client import ClientConnection

from pytest_miniwob_agent.browser.devtools import Command, DevTools, DialogOpened
from pytest_miniwob_agent.browser.launcher import Launcher
from pytest_miniwob_agent.browser.local import LocalLauncher
from pytest_miniwob_agent.browser.page import WORLD, page_scripts
from pytest_miniwob_agent.browser.server import (
    HAS_FONTS,
    HOST,
    ORIGIN,
    PageServer,
    media_type,
)
from pytest_miniwob_agent.connections import check_loopback
from pytest_miniwob_agent.core.errors import BrowserLost

VIEWPORT = (640, 480)
"""Width and height of the page in CSS pixels; a task's own area is 160 x 210."""

STORAGE = "cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems"
"""What a page may store; the cache of the pages themselves stays."""

BOUNDARY_EVENTS = "BoundaryEventDispatchTracksNodeRemoval"
"""Chromium's feature that sends events without end to an element that inserts itself again when the
pointer is over it, as in `click-pie`: a click would never land. It is off."""

FEATURES_OFF = (
    BOUNDARY_EVENTS,
    "BackForwardCache",  # would keep pages in memory to which nobody goes back
    "DeferRendererTasksAfterInput",  # scripts would get answers and messages only after a frame
    "OriginAgentClusterDefaultEnable",  # no page could set its domain (page/trial.js)
    "PreloadTopChromeWebUI",  # with the two of the address bar: a renderer for a window's own parts
    "RenderDocument",  # would make a frame anew for every page: a tenth of a fresh start
    "SpareRendererForSitePerProcess",  # all pages are of one site, which has its renderer
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
"""Features that are off; chromedriver adds its own, such as `PaintHolding`."""

# Others that are often recommended are chromedriver's own, or gained nothing where measured.
SWITCHES = (
    # A mouse, whatever the machine has: style sheets ask for what can hover, and points finely.
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,"
    "primaryPointerType=4,availablePointerTypes=4",
    "--disable-background-networking",
    # What `fetchLater` sends would be waited for, and is never sent while the page is there.
    f"--disable-blink-features={BOUNDARY_EVENTS},FetchLaterAPI",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    f"--disable-features={','.join(FEATURES_OFF)}",
    "--disable-gpu",
    "--disable-partial-raster",  # a corner of a screenshot would differ by what was drawn before
    "--disable-site-isolation-trials",  # frames of other sites would be targets of their own
    "--disable-smooth-scrolling",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-device-scale-factor=1",
    "--force-prefers-reduced-motion",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--hide-scrollbars",
    "--in-process-gpu",  # it draws in software anyway; a process less
    # Ten times V8's numbers: pages are new, so optimising their scripts early rarely pays off.
    "--js-flags=--invocation-count-for-maglev=4000 --invocation-count-for-turbofan=30000",
    "--lang=en-US",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
    "--run-all-compositor-stages-before-draw",  # a forced frame would lack parts of the page
    "--window-size=800,720",
)


def _sized(viewport: tuple[int, int]) -> Command:
    width, height = viewport
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    return "Emulation.setDeviceMetricsOverride", size


def _ids(answers: Sequence[Any]) -> list[str]:
    return [answer["identifier"] for answer in answers if "identifier" in answer]


def clearing(origin: str) -> Command:
    """Return the command that clears what pages of an origin have stored."""
    return "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORAGE}


WATCHING: tuple[Command, ...] = (("Runtime.disable", {}), ("Runtime.enable", {}))
"""Have the browser make the own world of every document at once, so that our scripts run in it. The
last client that leaves ends that for all, so it is begun again."""

EAGER: tuple[Command, ...] = (("Inspector.enable", {}), ("DOM.enable", {}), ("Overlay.enable", {}))
"""With its overlay on, as when its developer tools are open, the browser does not keep moves of the
mouse back until it draws the next frame."""

AWAKE: Command = (
    "Browser.setPermission", {"permission": {"name": "screen-wake-lock"}, "setting": "granted"},
)  # fmt: skip
"""Let pages keep the screen on, which headless Chromium refuses and others allow."""

MOTION: tuple[Command, ...] = (
    ("Animation.enable", {}), ("Animation.setPlaybackRate", {"playbackRate": 0}),
)  # fmt: skip
"""Stop the browser's clock of transitions and animations, in every document (page/motion.js)."""

FORGETTING: tuple[Command, ...] = (
    ("Network.enable", {}), ("Network.setCacheDisabled", {"cacheDisabled": True}),
    ("Network.setCacheDisabled", {"cacheDisabled": False}), ("Network.disable", {}),
    ("Network.clearBrowserCookies", {}),
)  # fmt: skip
"""Have the browser forget what a program may have set or answered, for any host: cookies, and
files that renderers keep."""

HAS_MOUSE = "(() => matchMedia('(hover: hover) and (pointer: fine)').matches)"
"""Tells whether style sheets find the mouse of `SWITCHES`, which Chromium takes away for good once
a program has had it emulate touch."""

UPLOAD = "function (...file) { return miniwobAgent.upload(this, ...file); }"
"""Puts a file into the field for files that it is called on."""

Step = list[Command]
"""A part of native input: commands that are sent at once; none lets a frame of the page pass."""

LONGEST_DRAG = 1.0
"""Wall-clock seconds to wait for a drag that the page has heard of."""


def is_drag(step: Step) -> bool:
    """True if the mouse is moved with its button down."""
    return any(params["type"] == "mouseMoved" and params["buttons"] for _, params in step)


class Dragging:
    """Sends the events of the mouse until its button is up, or those of the browser's own drag."""

    def __init__(self, devtools: DevTools) -> None:
        self._devtools = devtools
        self._begun: list[dict[str, Any]] = []  # what is dragged, once the browser drags it
        self._asked = False  # True once the browser was to drag something
        devtools.on("Input.dragIntercepted", lambda event: self._begun.append(event["data"]))
        devtools.call("Input.setInterceptDrags", enabled=True)

    def send(self, step: Step) -> bool:
        """Send events of the mouse; True once its button is up again."""
        released: bool = False
        for method, params in step:
            released = params["type"] == "mouseReleased"
            if self._begun:
                self._drag("drop" if released else "dragOver", params)
            else:
                if released:
                    self._devtools.evaluate("miniwobAgent.ask", "selected")
                self._devtools.call(method, **params)
                if params["buttons"] and not self._asked:
                    self._begin(params)
            if released:
                self._devtools.call("Input.setInterceptDrags", enabled=False)
        return released

    def _begin(self, params: dict[str, Any]) -> None:
        """Go on as the browser's own drag, if the page has heard of one."""
        self._asked = bool(self._devtools.evaluate("miniwobAgent.ask", "dragged"))
        end = time.monotonic() + LONGEST_DRAG
        while self._asked and not self._begun and time.monotonic() < end:
            self._devtools.call("Input.setInterceptDrags", enabled=True)
        if self._begun:
            self._drag("dragEnter", params)
            self._drag("dragOver", params)

    def cancel(self) -> None:
        """Let go of what the browser drags, or pages would get no more events of the mouse."""
        data = {"items": [], "dragOperationsMask": 0}
        event = {"type": "dragCancel", "x": 0, "y": 0, "data": data}
        self._devtools.begin("Input.dispatchDragEvent", event)

    def _drag(self, event: str, params: dict[str, Any]) -> None:
        where = {name: params[name] for name in ("x", "y", "modifiers")}
        self._devtools.call("Input.dispatchDragEvent", type=event, data=self._begun[0], **where)


class Browser:
    """One Chromium per worker, started at its first use.

    A browser that crashed or hangs is killed, and the next page gets a new one. Nothing of it
    outlives this process, even if that is killed.

    Args:
        path: the browser's executable; None looks for one.
        headed: show the window.
        slowmo: wall-clock milliseconds to spend on every action, for people who watch the window;
            the pointer is then drawn in it.
        timeout: wall-clock seconds to wait for a page that does not answer.
        bypass_vcr: a context in which a user's vcrpy cassettes ignore the driver's HTTP.
        launcher: starts the browser; None starts the one of `path` on this machine.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        headed: bool = False,
        slowmo: int | None = None,
        timeout: float = 30.0,
        bypass_vcr: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
        launcher: Launcher | None = None,
    ) -> None:
        self._bypass_vcr = bypass_vcr
        self._launcher: Launcher = launcher or LocalLauncher(path, headed=headed)
        self._headed = headed
        self._slowmo = slowmo
        self.server: PageServer | None = None
        """The server of task pages; None before the start."""
        self.timeout = timeout
        self._session: tuple[webdriver.Remote, DevTools] | None = None
        self._used = False  # since the pointer was taken away
        self._shared = False  # with a program, since then
        self._mouseless = False  # since a program was given a touch screen
        self.before_next_page: Callable[[], None] | None = None
        """Called once by a page of your own, before the next page is loaded."""
        self.has_fonts = False
        """True if the browser finds the fonts of all text, and no others (`fonts`)."""
        self._scripts = ("", "")  # of ours, for the page's own world and for ours
        self._perturbing = ""  # the script of a perturbation, in the page's own world
        self._added: list[str] = []  # their names in the browser
        self.viewport = VIEWPORT
        """Width and height of the page, in CSS pixels."""
        self.held: set[str] = set()
        """Names of the keys that are down."""

    @property
    def driver(self) -> webdriver.Remote:
        return (self._session or self._start())[0]

    @property
    def devtools(self) -> DevTools:
        """CDP, for everything else."""
        return (self._session or self._start())[1]

    def _start(self) -> tuple[webdriver.Remote, DevTools]:
        check_loopback()
        driver = self._launcher.start(self.options(), self.timeout)
        try:
            devtools = DevTools(
                self._launcher.connect(driver), self.timeout, self._launcher.is_gone
            )
            self._session = driver, devtools
            devtools.attach(driver.current_window_handle)
            self.has_fonts = devtools.evaluate(HAS_FONTS)
            self._scripts = page_scripts(with_fonts=not self.has_fonts)
            ignore = ("Input.setIgnoreInputEvents", {"ignore": self._headed})
            self._added = _ids(devtools.send(*self.prepare(), ignore))
        except BaseException:
            self.kill()
            raise
        return self._session

    def prepare(self) -> list[Command]:
        begin = [*EAGER, *self._settings(), *MOTION, ("Page.enable", {})]
        return [*begin, *self._adding()]

    def _settings(self) -> list[Command]:
        # A program that has the page may change these.
        downloads = ("Browser.setDownloadBehavior", {"behavior": "deny"})
        return [_sized(self.viewport), *self._launcher.settings, downloads, AWAKE]

    def _adding(self) -> list[Command]:
        theirs, ours = self._scripts
        add = "Page.addScriptToEvaluateOnNewDocument"
        commands = [(add, {"source": theirs}), (add, {"source": ours, "worldName": WORLD})]
        return [*commands, *((add, {"source": each}) for each in [self._perturbing] if each)]

    def run_scripts(self, perturbing: str = "", **options: Any) -> None:
        """Run our scripts first in every document, with the options of `page_scripts`."""
        scripts = page_scripts(with_fonts=not self.has_fonts, **options)
        if (scripts, perturbing) == (self._scripts, self._perturbing):
            return
        self._scripts, self._perturbing = scripts, perturbing
        remove = "Page.removeScriptToEvaluateOnNewDocument"
        old = [(remove, {"identifier": id_}) for id_ in self._added]
        self._added = _ids(self.devtools.send(*old, *self._adding()))

    def resize(self, viewport: tuple[int, int] = VIEWPORT) -> None:
        """Give the page another viewport, in CSS pixels."""
        self.viewport = viewport
        self.devtools.send(_sized(viewport))

    def options(self) -> webdriver.ChromeOptions:
        """Return the options that the browser is started with; starts the server of its pages."""
        if self.server is None:
            self.server = PageServer(self._launcher.serving())
        here = self.server.address
        options = webdriver.ChromeOptions()
        options.unhandled_prompt_behavior = "ignore"
        milliseconds = round(1000 * self.timeout)
        options.timeouts = {"pageLoad": milliseconds, "script": milliseconds}
        for switch in SWITCHES:
            options.add_argument(switch)
        reached = f"MAP {HOST}:80 {here}, MAP * ~NOTFOUND"
        options.add_argument(f"--host-resolver-rules={reached}")
        self._launcher.complete(options)
        return options

    def load(self, url: str) -> str:
        """Load a page and return the browser's error, if any (`DevTools.load`)."""
        error = self.devtools.load(url)
        self._launcher.keep(self.driver)
        return error

    def call(self, function: str, *values: Any) -> Any:
        """Call a function of the page and return its result (`DevTools.evaluate`)."""
        return self.devtools.evaluate(function, *values)

    def perform(self, steps: Iterable[Step]) -> None:
        """Carry out native input; at all other times a visible window ignores the user."""
        self._used = True
        if self._headed:
            self.ignore_input(False)
        dragging: Dragging | None = None
        try:
            for step in steps:
                if not step:
                    self.call("miniwobAgent.ask", "frame")
                elif dragging or is_drag(step):
                    dragging = dragging or Dragging(self.devtools)
                    if dragging.send(step):
                        dragging = None
                else:
                    self.devtools.send(*step)
        except DialogOpened:
            if dragging:
                dragging.cancel()
            raise
        if self._headed:
            self.ignore_input(True)

    def upload(self, file: Path, steps: Iterable[Step], modified: int) -> bool:
        """Carry out input, and choose a file if that asks for one, as modified at a time, in ms."""
        devtools = self.devtools
        opened: list[dict[str, Any]] = []
        devtools.on("Page.fileChooserOpened", opened.append)
        devtools.call("Page.setInterceptFileChooserDialog", enabled=True)
        self.perform(steps)
        self.call("miniwobAgent.ask", "frame")  # scripts may ask a little later
        devtools.call("Page.setInterceptFileChooserDialog", enabled=False)
        if not opened or "backendNodeId" not in opened[-1]:
            return False
        content = base64.b64encode(file.read_bytes()).decode()
        kind = media_type(file).partition(";")[0]
        devtools.call_on(opened[-1]["backendNodeId"], UPLOAD, file.name, kind, content, modified)
        return True

    def connect(self) -> ClientConnection:
        with self.guard("being connected to a program") as driver:
            return self._launcher.connect(driver)

    @contextlib.contextmanager
    def handed_over(self) -> Iterator[None]:
        """Let a program use the browser, and undo then what it has changed of it."""
        self._used = self._shared = True
        if self._headed:
            self.ignore_input(False)
        self.devtools.handed = True
        try:
            yield
        finally:
            if self._session is not None:  # it was not lost
                with self.guard("being taken back from a program"):
                    if len(self.devtools.opened) == 1:  # the others are the app's
                        self.close_other_windows()
                    self.call("(() => window.miniwobAgent?.watch?.(null))")
                    self._mouseless = not self.call(HAS_MOUSE)
                    self.devtools.handed = False
                    undo = [("Browser.resetPermissions", {}), *self._settings(), *WATCHING]
                    self.devtools.send(*undo, ("Debugger.disable", {}))
                    if self._headed:
                        self.ignore_input(True)

    def close_other_windows(self) -> None:
        for target in self.devtools.call("Target.getTargets")["targetInfos"]:
            if target["type"] == "page" and target["targetId"] != self.devtools.window:
                self.devtools.call("Target.closeTarget", targetId=target["targetId"])

    def forget_pages(self) -> None:
        """Leave nothing of earlier pages to the next one: neither storage nor the pointer.

        The next page's own script clears the storage of the session (page/trial.js).
        """
        if self.before_next_page is not None:
            self.before_next_page()
            self.before_next_page = None
        if self._mouseless:
            self.kill()
        commands = [clearing(ORIGIN)]
        if self._shared:
            self._shared = False
            commands += FORGETTING
        if self._used:
            self._used = False
            # With `RenderDocument` off, the next page would know where the pointer is. A button is
            # released beside the page, as a mere move may wait for the next frame.
            beside = {"type": "mouseReleased", "x": -1, "y": -1, "button": "left", "clickCount": 1}
            commands.append(("Input.dispatchMouseEvent", beside))
        self.devtools.send(*commands)
        self.devtools.world = None

    def ignore_input(self, ignore: bool) -> None:
        self.devtools.call("Input.setIgnoreInputEvents", ignore=ignore)

    def show_pointer(self, points: Sequence[Sequence[int]], *, linger: bool = False) -> None:
        """With `slowmo`, move the pointer in the window; linger half of it, before or after."""
        if self._slowmo is None:
            return
        for point in points:
            self.call("miniwobAgent.point", *point)
        if linger:
            time.sleep(self._slowmo / 2000)

    @contextlib.contextmanager
    def guard(self, doing: str) -> Iterator[webdriver.Remote]:
        """Use the driver; an error in it kills the browser and is raised as `BrowserLost`."""
        try:
            with self._bypass_vcr():
                yield self.driver
        except (WebDriverException, HTTPError, OSError) as error:
            with self._bypass_vcr():  # a driver on another machine is told over HTTP
                why = self._launcher.explain(error)
                self.kill()
            if re.search("timeout|timed out", why):
                why += "; a script of the page may not come to an end"
            raise BrowserLost(f"the browser failed while {doing}: {why}") from error

    def kill(self, *, orderly: bool = False) -> None:
        """End the browser and its driver, in any state: by force, or first in order."""
        session, self._session = self._session, None
        self._used = self._shared = self._mouseless = False
        self.viewport = VIEWPORT
        self.before_next_page = None
        self.held.clear()
        self._launcher.kill(orderly=orderly)
        if session is not None:
            session[1].close()  # at once, as the browser is gone

    def close(self) -> None:
        with self._bypass_vcr():
            self.kill(orderly=True)
        if self.server is not None:
            self.server.close()
            self.server = None
