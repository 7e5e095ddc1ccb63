"""Pages of your own, and those of a running app or its tape, as the page of an item."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from selenium.common.exceptions import JavascriptException, WebDriverException

from pytest_miniwob_agent.browser.devtools import LAST_LIMIT
from pytest_miniwob_agent.browser.gate import Gate
from pytest_miniwob_agent.browser.gate_commands import SCRIPTED, for_any_origin
from pytest_miniwob_agent.browser.miniwob_page import LEFT, MiniwobPage
from pytest_miniwob_agent.browser.page import EPOCH_MS, OWN_HOST
from pytest_miniwob_agent.browser.process import Browser, Step, clearing
from pytest_miniwob_agent.browser.server import file_in, media_type, served_font
from pytest_miniwob_agent.core.actions import (
    Action,
    CloseTab,
    GoBack,
    NavigationAction,
    Reload,
)
from pytest_miniwob_agent.core.app import (
    REFUSED,
    PageMessage,
    PageRequest,
    PageResponse,
    Source,
)
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserLost, PageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.observations import Element, Transition
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.tasks.catalogue import INDEX, TaskPage, pages_folder

ORIGIN = f"http://{OWN_HOST}"

SHARED = ("/core/", "/common/")
"""Folders of the package that your own pages may load scripts and styles from."""

UNANSWERED = "nothing answers"
"""Begins the remark on a request of a script that got no answer."""

WRITING = ("POST", "PUT", "PATCH", "DELETE")
"""The methods that a file does not answer if a script asks."""

PAGES = ("text/html", "application/xhtml+xml")
"""The media types of files that are pages."""

POLL = 0.002
"""Wall-clock seconds between two questions whether the next page is there."""


def open_page(browser: Browser, case: Case, page: TaskPage) -> MiniwobPage:
    """The page of a case: the package's, or one of your own."""
    made = MiniwobPage(browser, case) if page.root is None else OwnPage(browser, case, page)
    return made.perturb(page.perturbation)


def own_page_url(page: TaskPage) -> str:
    """The address of a page of your own; that of a site ends in `/`."""
    assert page.root is not None
    path = page.file.relative_to(page.root).as_posix()
    return f"{ORIGIN}/{quote('' if path == INDEX else path)}"


class Folder:
    """Answers with the files of a folder: a `Source`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def file(self, asked: str) -> Path | None:
        """The file of a path, in the folder or among those that the package shares; or None.

        As with usual servers of sites, `/help` is also `help/index.html` or `help.html`.
        """
        path = asked.strip("/")
        for name in (path, f"{path}/{INDEX}", f"{path}.html"):
            if file := file_in(self.root, name):
                return file
        return file_in(pages_folder(), asked) if asked.startswith(SHARED) else None

    def answer(
        self, request: PageRequest, step: int, crowded: Callable[[], bool]
    ) -> PageResponse | None:
        """Answer with a file, or not at all what leads out of the folder."""
        if request.is_preflight:
            return for_any_origin(PageResponse(204), request)
        if request.socket and request.method != "OPEN":
            return None
        scripted = request.kind in SCRIPTED or request.socket
        if not request.url.startswith(f"{ORIGIN}/") or request.socket:
            what = f"asked for what is not in the folder: {request.url} ({request.kind.lower()})"
            if request.leads:
                what = f"a link leads out of the folder and was not followed: {request.url}"
            elif scripted:
                what = f"{UNANSWERED} {request.url}"
            return PageResponse(REFUSED, remark=what)
        asked = unquote(urlsplit(request.url).path)
        file = served_font(asked) or self.file(asked)
        if request.leads and (file is None or not media_type(file).startswith(PAGES)):
            what = "page that is not in the folder" if file is None else "file that is not a page"
            said = f"a link leads to a {what}, and was not followed: {asked}"
            return PageResponse(REFUSED, remark=said)
        if file is None and asked == "/favicon.ico":
            return PageResponse(204)  # only some browsers ask, and show an error otherwise
        if file is None or (scripted and request.method in WRITING):
            what = f"{UNANSWERED} {request.method}" if scripted else "there is no file"
            return PageResponse(404, remark=f"{what} {asked}")
        if file.name == INDEX and not asked.endswith(("/", f"/{INDEX}")):
            return PageResponse(301, [("Location", quote(f"{asked}/"))])
        body = file.read_bytes()
        headers = [("Content-Type", media_type(file)), ("Content-Length", str(len(body)))]
        answer = PageResponse(200, headers, b"" if request.method == "HEAD" else body)
        # A sandboxed frame, which gets fonts too, has no origin.
        return for_any_origin(answer, request) if served_font(asked) else answer

    def messages(self, now: float) -> list[PageMessage] | None:
        # A folder has no sockets.
        return []


class OwnPage(MiniwobPage):
    """A page of your own, and the pages of its folder that it leads to.

    Trial, goal, clock, random numbers, ids and storage go on from one to the next (page/trial.js).
    """

    default_screen = "tree"

    def __init__(self, browser: Browser, case: Case, page: TaskPage) -> None:
        assert page.root is not None
        super().__init__(browser, case)
        self._folder = Folder(page.root)
        self._url = own_page_url(page)
        self._name = str(display_path(page.file))
        self._gate: Gate | None = None
        self._step = 0
        self._epoch = EPOCH_MS
        self.requests: list[PageRequest] = []
        self._downloads: dict[str, str] = {}

    @property
    def downloads(self) -> dict[str, str]:
        return self._downloads | (self._gate.downloads if self._gate else {})

    def _load(self) -> None:
        self._run_scripts()
        self._enter([ORIGIN], self._url, self._folder, api=True)

    def _enter(
        self,
        origins: Sequence[str],
        url: str,
        source: Source,
        random: int | None = None,
        *,
        api: bool = False,
    ) -> None:
        browser, self._step = self._browser, 0
        browser.before_next_page = self._leave
        clear = [clearing(origin) for origin in origins]
        browser.devtools.send(("Network.clearBrowserCookies", {}), *clear)
        prepare, epoch, self._downloads = browser.prepare(), self._epoch, self.downloads
        self._gate = Gate(
            browser.devtools,
            prepare,
            source,
            lambda: self._step,
            epoch,
            random,
            api=api,
            asked=self.requests,
        )
        browser.devtools.excused = lambda: self._gate is not None and self._gate.busy
        browser.load(url)
        self._check()
        # Nobody goes back to other tasks.
        browser.devtools.call("Page.resetNavigationHistory")

    def _check(self) -> None:
        if self._gate is not None and self._gate.error is not None:
            raise self._gate.error

    def _do(self, action: Action) -> Transition:
        if not isinstance(action, NavigationAction):
            return super()._do(action)
        self._next = None
        error = self._navigate(action)
        return self._transition(self._read("read"), error)

    def _navigate(self, action: NavigationAction) -> str | None:
        """Go to another page of the trial, or return the reason why there is no such page."""
        devtools, gate = self._browser.devtools, self._gate
        assert gate is not None  # since the page was loaded
        self._browser.call("miniwobAgent.handOver")
        if isinstance(action, CloseTab):
            if len(devtools.opened) == 1:
                return "there is no other tab"
            devtools.close_shown()
        elif isinstance(action, Reload):
            self._browser.call("(() => location.reload())")
            self._await_next_page()
        else:
            ask = "Page.getNavigationHistory"
            found, back = devtools.call(ask), isinstance(action, GoBack)
            entry = found["currentIndex"] + (-1 if back else 1)
            if not 0 <= entry < len(found["entries"]):
                return f"there is no page {'before' if back else 'after'} this one"
            stayed = gate.stayed
            devtools.call("Page.navigateToHistoryEntry", entryId=found["entries"][entry]["id"])
            self._await(
                lambda: devtools.call(ask)["currentIndex"] == entry or None,
                lambda: gate.stayed == stayed,
            )
        return None

    def _transition(self, read: Any, error: str | None = None) -> Transition:
        seen = super()._transition(read, error)
        if self.screen_version == 1 or seen.done:
            return seen
        tabs, elements = len(self._browser.devtools.opened), seen.observation.elements
        if tabs > 1:
            if not elements or elements[0].tag != "page":
                role = "page" if self._screen == "tree" else ""
                elements = (Element(None, "page", role=role), *elements)
            said = (("tab", f"{tabs} of {tabs}"), *elements[0].details)
            elements = (replace(elements[0], details=said), *elements[1:])
        shown = replace(seen.observation, elements=elements, further=True)
        return replace(seen, observation=replace(shown, tabs=tabs if tabs > 1 else 0))

    def _upload(self, path: str, steps: list[Step]) -> bool:
        file = self._folder.file(path)
        return file is not None and self._browser.upload(file, steps, self._epoch)

    def _missed(self) -> Sequence[str]:
        self._check()
        return self._gate.remarks if self._gate else ()

    def _read(self, function: str, *values: Any) -> Any:
        """Have the page read, once no other one is about to come."""
        while True:
            try:
                read = super()._read(function, *values)
            except WebDriverException as error:
                self._check()
                if not LEFT.search(str(error)):
                    raise
                read = {"leaving": True}
            self._say([*read.pop("remarks", ()), *self._missed()])
            if "fault" in read:
                where = self._named(read["path"])
                fault = sanitize_line(f"{where}: {read['fault']}")
                raise PageError("\n".join([fault, *(f"  {text}" for text in self._said)]))
            if not read.get("leaving"):
                self._check_files(read.get("files", ()))
                return read
            begun = self._await_next_page()
            if begun is None:
                self._check()
                raise BrowserLost(f"the page after {self._name} did not come")
            # The seed is set on that page already, so it is only read.
            if begun:
                function, values = "read", ()

    def _named(self, path: str) -> str:
        file = self._folder.file(path)
        return self._name if file is None else str(display_path(file))

    def _check_files(self, paths: Iterable[str]) -> None:
        for path in paths:
            if self._folder.file(path) is None:
                raise PageError(
                    f"{self._name}: `files` names {path!r}, which is not a file of "
                    f"{display_path(self._folder.root)}"
                )

    def _forget_history(self) -> None:
        """Keep it: it begins with the trial."""

    def _drags_slowly(self) -> bool:
        # Scripts may follow the mouse by frames or timers.
        return True

    def _leave(self) -> None:
        # A page may store something when it is left, so this comes before all is cleared.
        self._browser.close_other_windows()
        self._browser.load("about:blank")
        if self._gate is not None:
            self._gate.close()
            self._gate = None
        self._browser.devtools.excused = lambda: False

    def _await_next_page(self) -> bool | None:
        """Wait for the page that is about to come; True if the trial has begun on it.

        Only what the browser commits comes: an empty answer, a file or an e-mail does not, and the
        page before stays. None if the window shows no page of the trial.
        """
        call, gate, window = self._browser.call, self._gate, self._browser.devtools.window
        assert gate is not None  # since the page was loaded
        begun = self._await(lambda: call("miniwobAgent.begun"), lambda: gate.comes(window))
        if begun is None:
            begun = call("(() => window.miniwobAgent?.stay())")
        return None if begun is None else bool(begun)

    def _await(self, ask: Callable[[], Any], comes: Callable[[], bool]) -> Any:
        """Wait for an answer that is not None; None if nothing `comes`."""
        began = time.monotonic()
        end = began + self._browser.timeout
        while time.monotonic() < end:
            with contextlib.suppress(
                JavascriptException
            ):  # between two pages there is no such function
                if (answer := ask()) is not None:
                    return answer
            if not comes():
                return None
            if self._browser.devtools.excused() and time.monotonic() < began + LAST_LIMIT:
                end = time.monotonic() + self._browser.timeout
            time.sleep(POLL)
        raise BrowserLost(f"the page after {self._name} did not come")
