"""A task's page in Chromium, as a `Page`: one of MiniWoB++, or one of your own.

The page's clock (page/clock.js) stands still while the agent thinks. It moves on after each action,
so that animations and delays are over before the page is read, on any machine and with any model.
"""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from selenium.common.exceptions import WebDriverException
from websockets.sync.client import ClientConnection

from pytest_miniwob_agent.browser.devtools import DialogOpened
from pytest_miniwob_agent.browser.input import Gesture, NativeInput
from pytest_miniwob_agent.browser.page import SETTLE_MS, perturbing_script
from pytest_miniwob_agent.browser.process import Browser, Step
from pytest_miniwob_agent.browser.server import page_url
from pytest_miniwob_agent.core.actions import (
    Accept,
    Action,
    ByProgram,
    Drag,
    DragFrom,
    Follow,
    Upload,
    Wait,
    dialog_error,
)
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import PageError, ProgramError
from pytest_miniwob_agent.core.observations import (
    SCREEN_VERSION,
    Dialog,
    Element,
    Observation,
    Shot,
    Transition,
)
from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.core.protocols import Driven
from pytest_miniwob_agent.tasks.perturbations import Perturbation

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.hand_over import HandedPage

FONT = "Roboto"
"""The name, in its file, of the font of all text on a page."""

MAX_SIDE = 1500
"""The longest side of an enlarged screenshot, in pixels; models shrink what is larger."""

ANSWER = "answer"
"""In place of a function that reads the page: answer the dialog that has stopped one."""

LEFT = re.compile("navigated|context|detached|miniwobAgent is not defined", re.IGNORECASE)
"""Errors of the driver if a page is left while it is read."""


PASSING = {"focused", "active", "outside", "covered"}
"""The states that any action changes: by the focus, and as it scrolls to its element."""


class MiniwobPage:
    """A case's page in a browser: the `Page` of an item, with screenshots (`Visible`).

    `reset` loads the page afresh, so that no trial sees anything of an earlier one. Elements keep
    their ids for the length of a trial. Every method raises `BrowserLost` if the browser crashes
    or the page hangs.
    """

    on_app = False
    """True if a program may load pages, all of whose requests are answered by the item."""

    default_screen = "compact"

    def __init__(self, browser: Browser, case: Case) -> None:
        self._browser = browser
        self._case = case
        self._elements: tuple[Element, ...] = ()
        # Points to click of the elements that actions may name; None if still to be found.
        self._points: dict[int, list[int] | None] = {}
        # The input of an action that `look` has aimed and `step` has not carried out yet.
        self._next: NativeInput | None = None
        self._screen = "compact"
        self.screen_version = SCREEN_VERSION
        """The version of the screens (`Versioned`)."""
        self._goal = ""
        # True while what is under way reads the page.
        self._reading = False
        # The paths of the task's files.
        self._files: tuple[str, ...] = ()
        self.payload = ""
        """What the task's attack says, or empty; prompts are searched for it."""
        # The page's name in messages.
        self._name = case.task
        # What perturbs the page, and what the task of an app declares for it.
        self._perturbation: Perturbation | None = None
        self._data: Any = None
        # Remarks of this trial, and the number of them that `remarks` has returned.
        self._said: list[str] = []
        self._taken = 0

    def reset(self, *, screen: str = "compact") -> Observation:
        """Load the page, set the seed, generate the problem, let it settle and read it.

        Unless the screen is compact, a page that moves by itself is read at once: its clock stands
        still but for `Wait` and `Follow`.
        """
        with self._browser.guard(f"loading {self._name}"):
            if self._browser.devtools.dialog:
                self._browser.devtools.answer(False)
            self._next = None
            self._screen = screen
            if self._browser.held:
                release = Gesture(self._browser.held)
                for key in sorted(self._browser.held):
                    release.let_go(key)
                self._browser.perform(release.steps)
                self._browser.held.clear()
            self._browser.forget_pages()
            self._said, self._taken = list(self.remarks()), 0  # those that nobody has taken
            self._load()
            kind = self._perturbation.name if self._perturbation else ""
            read = self._read("start", self._case.seed, self._screen, kind)
        return self._transition(read).observation

    def perturb(self, kind: Perturbation | None, data: Any = None) -> Self:
        """Perturb the page from its next trial on."""
        self._perturbation, self._data = kind if kind and kind.script else None, data
        return self

    def _run_scripts(self, **options: Any) -> None:
        kind = self._perturbation
        perturbing = perturbing_script(kind, self._data) if kind else ""
        self._browser.run_scripts(perturbing, screens=self.screen_version, **options)

    def _load(self) -> None:
        self._run_scripts()
        if error := self._browser.load(page_url(self._case.base)):
            raise WebDriverException(error)

    def _read(self, function: str, *values: Any) -> Any:
        """Have the page read, by one of the functions of page/api.js, or by what is under way."""
        if function == ANSWER:
            read = self._browser.devtools.answer(*values)
            if not (self._reading and read):
                function, values = "read", ()
        if function != ANSWER:
            self._reading = True
            read = self._browser.call(f"miniwobAgent.{function}", *values)
        self._reading = False
        if read and "fault" in read and read.get("path") is None:
            raise PageError(f"{self._name}: {read['fault']}")
        if read and read.get("foul"):
            raise ProgramError(f"the program has cheated on {self._name}: {read['foul']}")
        return read

    def _recognize(self) -> None:
        """Tell the page which scripts are its own, as far as no script of a program has run."""
        digests = self._browser.devtools.digests("endEpisode")
        self._browser.call("miniwobAgent.recognize", *digests)

    def step(self, action: Action) -> Transition:
        """Carry out an action with native input, let the page settle, and read it.

        A dialog that opens meanwhile stops all that until it is answered.
        """
        devtools = self._browser.devtools
        if devtools.dialog and (error := dialog_error(action, devtools.dialog["type"])):
            return self._stopped(error)
        with self._browser.guard(f"doing {action}"):
            devtools.raises = True
            try:
                return self._answer(action) if devtools.dialog else self._do(action)
            except DialogOpened:
                self._next = None
                return self._stopped()
            finally:
                devtools.raises = False

    def _stopped(self, error: str | None = None) -> Transition:
        opened = self._browser.devtools.dialog
        assert opened is not None
        dialog = Dialog(opened["type"], opened["message"], opened.get("defaultPrompt", ""))
        role = dialog.type if self._screen == "tree" else ""
        seen = Observation(self._goal, (replace(dialog.element, role=role),), dialog=dialog)
        return Transition(seen, error=error)

    def _answer(self, action: Action) -> Transition:
        text = action.text if isinstance(action, Accept) else None
        return self._transition(self._read(ANSWER, isinstance(action, Accept), text))

    def _do(self, action: Action) -> Transition:
        planned, self._next = self._aim(action), None
        if planned.error is None:
            self._browser.show_pointer(planned.pointed[:1], linger=True)
            if not isinstance(action, Upload):
                self._browser.perform(planned.first)
            elif not self._upload(action.path, planned.first):
                planned.error = "a click there asks for no file"
            for more in planned.further():
                self._browser.perform(more.steps)
        if isinstance(action, Wait | Follow):
            wait = None if planned.error else self._time_left(action)
            read = self._read("readAfter", wait, self._screen != "compact")
        else:
            read = self._read("read")
        self._browser.show_pointer(planned.pointed[1:], linger=True)
        before = self._elements
        after = self._transition(read, planned.error)
        if after.error or after.done or self.screen_version == 1:
            return after
        unchanged = _lasting(before) == _lasting(self._elements)
        return replace(after, error=planned.missed() if unchanged else None)

    def _upload(self, path: str, steps: list[Step]) -> bool:
        # Pages of the package get no file.
        return False

    def remarks(self) -> Sequence[str]:
        """Return what the author of the page should know since the last call, once per trial."""
        new = self._said[self._taken :]
        self._taken = len(self._said)
        return new

    def _say(self, texts: Iterable[str]) -> None:
        self._said += [text for text in dict.fromkeys(texts) if text not in self._said]

    def live(self, seconds: float) -> tuple[float, bool]:
        """Let time pass for a person who uses the page; its reward, and True if it has judged."""
        with self._browser.guard(f"showing {self._name}"):
            self._browser.ignore_input(False)
            seen = self._transition(self._read("readAfter", round(seconds * 1000)))
        return seen.reward, seen.done

    def ask(self, function: str, *values: Any) -> Any:
        """Call a function that looks at the page as it is (page/locators.js)."""
        with self._browser.guard(f"looking at {self._name}"):
            return self._browser.call("miniwobAgent.ask", function, *values)

    def html(self, *, whole: bool = False) -> str:
        """The visible page as HTML, or with `whole` all of it.

        Actions may name every element in it by its `data-ref`.
        """
        if self._browser.devtools.dialog:
            return ""
        with self._browser.guard(f"reading {self._name}"):
            html, ids = self._browser.call("miniwobAgent.html", whole)
        self._points = dict.fromkeys(ids) | self._points
        return str(html)

    def fonts(self) -> list[str]:
        """The fonts with which the browser has drawn the page's text, by the names in their files.

        One that the page has from the machine has " of this machine" behind its name.
        """
        with self._browser.guard(f"asking for the fonts of {self._name}"):
            devtools = self._browser.devtools
            devtools.call("Network.setBlockedURLs", urls=["*"])  # it would ask for all sheets again
            devtools.call("CSS.enable")
            devtools.call("Network.setBlockedURLs", urls=[])
            root = devtools.call("DOM.getDocument")["root"]["nodeId"]
            found = devtools.call("DOM.querySelectorAll", nodeId=root, selector="body *")
            ask = [("CSS.getPlatformFontsForNode", {"nodeId": node}) for node in found["nodeIds"]]
            fonts = [font for answer in devtools.send(*ask) for font in answer["fonts"]]
            devtools.call("CSS.disable")
            ours = self._browser.has_fonts
        return sorted(
            {
                font["familyName"] + ("" if ours or font["isCustomFont"] else " of this machine")
                for font in fonts
            }
        )

    def look(
        self,
        action: Action | None = None,
        *,
        marks: Iterable[int] = (),
        zoom: int = 1,
        rulers: bool = False,
        whole: bool = False,
    ) -> Shot:
        """A screenshot of the page, and the points of the action that `step` carries out next.

        An element out of sight is scrolled into it; `step` does not do that again.
        """
        wanted = list(dict.fromkeys(marks))
        with self._browser.guard(f"taking a screenshot of {self._name}"):
            points = [] if action is None else self._aim(action).pointed
            view = self._browser.call("miniwobAgent.view", points, wanted)
            width, height = self._browser.viewport if whole else view["size"]
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            taken = self._browser.devtools.call("Page.captureScreenshot", format="png", clip=clip)
            self._browser.show_pointer(points[:1])
        boxes = tuple(tuple(box) for box in view["boxes"])
        shot = Shot(base64.b64decode(taken["data"]), (width, height), tuple(points), boxes)
        if not wanted and zoom == 1 and not rulers:
            return shot
        from pytest_miniwob_agent.pictures import marked

        found = {id_: tuple(box) for id_, box in view["marks"]}
        zoom = max(1, min(zoom, MAX_SIDE // max(width, height)))
        png = marked(shot.png, zoom, found, [tuple(box) for box in view["shown"]], rulers=rulers)
        return replace(shot, png=png, zoom=zoom, marked=tuple(found))

    @contextlib.contextmanager
    def hand_over(
        self,
        left: int,
        tell: Callable[[Driven], str | None],
        pace: Pace,
        open_port: bool = False,
    ) -> Iterator[HandedPage]:
        """Hand the page over to a program, until the end of the block."""
        from pytest_miniwob_agent.browser.hand_over import HandedPage

        browser, self._next = self._browser, None
        with browser.guard(f"handing {self._name} over"):
            devtools = browser.devtools
            excused = devtools.excused
            self._forget_history()
            strange = browser.call("miniwobAgent.watch", left)
            devtools.follow_scripts()
            if strange:
                self._recognize()
        with browser.handed_over():
            handed = HandedPage(
                self, tell, pace, devtools.window, browser.timeout, self.on_app, open_port
            )
            devtools.excused = lambda: handed.held or excused()
            try:
                yield handed
            finally:
                handed.close()
                devtools.excused = excused

    # `has_more_scripts` and what follows is a `hand_over.BrowserPage`.

    def has_more_scripts(self) -> bool:
        with self._browser.guard(f"taking {self._name} back"):
            return self._browser.devtools.has_more_scripts()

    def _forget_history(self) -> None:
        # A program finds no pages of other items, as this one has had none before it.
        self._browser.devtools.call("Page.resetNavigationHistory")

    def connect(self) -> ClientConnection:
        return self._browser.connect()

    def elapse(self, ms: int, repeated: bool) -> int:
        with self._browser.guard(f"letting time pass on {self._name}"):
            try:
                return int(self._browser.call("miniwobAgent.elapse", ms, repeated))
            except WebDriverException as error:
                if not LEFT.search(str(error)):
                    raise
                return ms

    def hear(self) -> None:
        with self._browser.guard(f"handing {self._name} over"):
            self._browser.call("miniwobAgent.hear")

    def witnessed(self, acted: bool) -> tuple[Driven, int] | None:
        """What a program has done, and the ms that passed meanwhile."""
        with self._browser.guard(f"reading {self._name}"):
            try:
                read = self._read("witnessed", acted) or {}
            except WebDriverException as error:
                if not LEFT.search(str(error)):
                    raise
                read = {}
        if "still" in read:
            return None
        if "acts" not in read:
            raise ProgramError(f"the program has left {self._name}, which can't be left")
        if read["strange"]:
            with self._browser.guard(f"reading {self._name}"):
                self._recognize()
                if not self.on_app and self._browser.devtools.is_given("task.reward"):
                    why = "it gave a page its judge"
                    raise ProgramError(f"the program has cheated on {self._name}: {why}")
        acts = [
            (ByProgram(act["what"], act["text"]), (tuple(act["point"]),) if act["point"] else ())
            for act in read["acts"]
        ]
        passed = read.get("passed", 2 * SETTLE_MS)  # a next page does not say
        return Driven(acts, self._transition(read), read["over"]), passed

    def _time_left(self, action: Wait | Follow) -> int:
        """Let time pass while the pointer follows an element; the ms that are still to pass."""
        left = round(action.seconds * 1000)
        while isinstance(action, Follow) and left:
            ask = ("follow", action.element, left)
            left, point = self._browser.call("miniwobAgent.ask", *ask)
            if point is None:
                break
            mouse = Gesture(self._browser.held)
            mouse.move(point)
            self._browser.perform(mouse.steps)
        return left

    def _aim(self, action: Action) -> NativeInput:
        # Once, for `look` and `step`.
        if self._next is None or self._next.action is not action:
            slow = isinstance(action, Drag | DragFrom) and self._drags_slowly()
            checks = self.screen_version > 1
            self._next = NativeInput(action, self._browser, self._points, slow, self._files, checks)
        return self._next

    def _drags_slowly(self) -> bool:
        # Scripts may follow a drag by frames.
        ticks = self._screen != "compact" and self._browser.call("miniwobAgent.ask", "ticks")
        return bool(ticks)

    def _note_effect(self, read: Any, *, done: bool) -> None:
        if done and self._perturbation and not read["applied"]:
            self._say([f"the perturbation {self._perturbation.name} has changed nothing"])

    def _transition(self, read: Any, error: str | None = None) -> Transition:
        self._goal = read["goal"]
        self._note_effect(read, done=read["done"])
        points = {element["id"]: element.pop("point") for element in read["elements"]}
        self._points = {id_: point for id_, point in points.items() if id_ is not None}
        self._elements = tuple(
            Element(**{**element, "details": tuple(map(tuple, element.get("details", ())))})
            for element in read["elements"]
        )
        self._files = tuple(read.get("files", self._files))
        self.payload = read.get("payload", self.payload)
        seen = Observation(read["goal"], self._elements, read["focus"], files=self._files)
        return Transition(seen, float(read["reward"]), read["done"], error)


def _lasting(elements: Iterable[Element]) -> list[tuple[object, ...]]:
    return [
        (
            one.id,
            one.role or one.tag,
            one.text,
            one.value,
            [
                left
                for name, what in one.details
                if not name.startswith("scroll") and (left := {*what.split()} - PASSING)
            ],
        )
        for one in elements
        if one.role != "page"  # how far it is scrolled, and what is selected
    ]
