"""BrowserGym's observations of a page, a player of its action texts, and its agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from lxml import html
from lxml.html import HtmlElement
from numpy.typing import NDArray

from pytest_miniwob_agent.browsergym.action_texts import PASS, BadAction, Hand
from pytest_miniwob_agent.core.actions import Action, Dismiss, Release
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Note
from pytest_miniwob_agent.core.observations import Observation, Transition
from pytest_miniwob_agent.core.protocols import LLM, Environment, Page, Visible
from pytest_miniwob_agent.pictures import decoded

ROLES = {
    "a": "link", "button": "button", "form": "form", "img": "image", "label": "LabelText",
    "li": "listitem", "ol": "list", "option": "option", "p": "paragraph", "select": "combobox",
    "table": "table", "td": "cell", "textarea": "textbox", "th": "columnheader", "tr": "row",
    "ul": "list", **{f"h{level}": "heading" for level in range(1, 7)},
}  # fmt: skip
"""Roles in Chromium's accessibility tree by tag; other elements are `generic`."""

INPUT_ROLES = {
    "button": "button", "checkbox": "checkbox", "date": "Date", "number": "spinbutton",
    "radio": "radio", "range": "slider", "search": "searchbox", "submit": "button",
    "time": "InputTime",
}  # fmt: skip
"""Roles by the type of an `input`; others are a `textbox`."""

NAMED_BY_CONTENT = {"button", "cell", "columnheader", "generic", "heading", "link", "option"}
"""Roles whose name is the text in them, which has no line of its own then."""


def observe(
    seen: Observation, tree: HtmlElement | None, last_action: str, error: str
) -> dict[str, Any]:
    """Return an observation but for its screenshot; the `bid` of an element is its id here.

    `axtree_txt` has a line for each element with a role or that shows something, indented by tabs,
    and `pruned_html` the elements that show. Both are empty once the page has judged.
    """
    focus = "" if seen.focus is None else str(seen.focus)
    return {
        "goal": seen.goal,
        "goal_object": ({"type": "text", "text": seen.goal},),
        "chat_messages": ({"role": "user", "message": seen.goal},),
        "axtree_txt": "" if tree is None else _tree_text(seen, tree, focus),
        "pruned_html": "" if tree is None else _with_bids(tree),
        "focused_element_bid": focus,
        "last_action": last_action,
        "last_action_error": error,
    }


def _with_bids(tree: HtmlElement) -> str:
    # A quote within an attribute or text is an entity or stands in no tag.
    return html.tostring(tree, encoding="unicode").replace(' data-ref="', ' bid="')


def _tree_text(seen: Observation, tree: HtmlElement, focus: str) -> str:
    leaves = {str(element.id) for element in seen.elements}
    return "\n".join(["RootWebArea ''", *_lines(tree, leaves, focus, 1)])


def _lines(element: HtmlElement, leaves: set[str], focus: str, depth: int) -> Iterator[str]:
    bid, role = element.get("data-ref", ""), _role(element)
    shown = role != "generic" or bid in leaves
    named = shown and role in NAMED_BY_CONTENT and not any(_role(e) != "generic" for e in element)
    indent = "\t" * depth
    if shown:
        name = _squeezed(element.text_content()) if named else _label(element)
        yield indent + ", ".join([f"[{bid}] {role} {name!r}", *_states(element, role, focus)])
    if (named and not any(e.get("data-ref") in leaves for e in element)) or role == "textbox":
        return
    within = depth + shown

    def static(text: str | None) -> Iterator[str]:
        if not named and (squeezed := _squeezed(text)):
            yield "\t" * within + f"StaticText {squeezed!r}"

    yield from static(element.text)
    for child in element:
        yield from _lines(child, leaves, focus, within)
        yield from static(child.tail)


def _states(element: HtmlElement, role: str, focus: str) -> Iterator[str]:
    yield "visible"
    if role in ("textbox", "slider", "spinbutton", "searchbox", "Date", "InputTime"):
        text = element.text_content() if element.tag == "textarea" else element.get("value", "")
        yield f"value={text!r}"
    yield from (f"{state}='true'" for state in ("checked", "selected") if state in element.attrib)
    if element.get("data-ref") == focus:
        yield "focused"


def _role(element: HtmlElement) -> str:
    if element.tag == "input":
        return INPUT_ROLES.get(element.get("type", "text").lower(), "textbox")
    return ROLES.get(str(element.tag), "generic")


def _label(element: HtmlElement) -> str:
    if element.tag not in ("input", "textarea", "select", "img"):
        return ""
    for label in element.getroottree().iter("label"):
        if label in element.iterancestors() or label.get("for") == element.get("id", ""):
            return _squeezed(label.text_content())
    button = element.get("value") if _role(element) == "button" else None
    return button or element.get("placeholder") or element.get("alt") or ""


def _squeezed(text: str | None) -> str:
    return " ".join((text or "").split())


SCREENSHOT = (480, 640, 3)
"""The shape of a screenshot, the whole viewport: rows, columns, and red, green and blue."""


class Player:
    """Plays action texts on a page.

    Args:
        page: the page, or an `Environment`.
        screenshot: adds `screenshot` to observations, an array of `SCREENSHOT` bytes; black once
            the page has judged.

    Attributes:
        counted: the action that stands for the text that is being played; others that are carried
            out for it are its helpers.
    """

    def __init__(self, page: Page, *, screenshot: bool = True) -> None:
        if screenshot and not isinstance(page, Visible):
            raise UsageError(f"{type(page).__name__} gives no pictures: use screenshot=False")
        self._page, self._screenshot = page, screenshot
        self._hand = Hand()
        self.counted: Action | None = None

    def reset(self) -> dict[str, Any]:
        """Begin a trial; its first observation."""
        self._hand = Hand()
        return self._observe(Transition(self._page.reset()), "", "")

    def step(self, text: str) -> tuple[dict[str, Any], Transition]:
        """Play an action text; the observation after it, and the page's own.

        A text that is no action, or one that is impossible, changes nothing, but counts; the reason
        is `last_action_error`.
        """
        error = ""
        try:
            actions = self._hand.parse(text)
        except BadAction as reason:
            actions, error = [PASS], str(reason)
        self.counted = actions[0]
        for action in actions:
            # After an error, held keys are still released, and `PASS` counts as the action.
            if error and not isinstance(action, Release) and action is not PASS:
                continue
            transition = self._page.step(action)
            while transition.observation.dialog:
                transition = self._page.step(Dismiss())
            error = error or transition.error or ""
            if transition.done:
                break
        return self._observe(transition, text, error), transition

    def _observe(self, transition: Transition, text: str, error: str) -> dict[str, Any]:
        seen: Observation = transition.observation
        source = "" if transition.done else self._page.html()
        tree = html.document_fromstring(source).body if source else None
        self._hand.page = None if tree is None else (seen, tree)
        pixels = {"screenshot": self._pixels(transition.done)} if self._screenshot else {}
        return {**observe(seen, tree, text, error), **pixels}

    def _pixels(self, done: bool) -> NDArray[np.uint8]:
        if done or not isinstance(self._page, Visible):
            return np.zeros(SCREENSHOT, np.uint8)
        png = self._page.look(whole=True).png
        return np.asarray(decoded(png).convert("RGB"))


class BrowserGymAgent:
    """An agent that answers observations with action texts; subclasses `make` it.

    It plays one trial, a call of `get_action(obs)` for each action, as BrowserGym's loop does. An
    action of None ends it. `obs_preprocessor` is not called: observations have what it makes.

    Attributes:
        name: the folder of the agent's cassettes.
        screenshot: False leaves `screenshot` out of observations, which saves a picture per action.
    """

    name: str
    screenshot: ClassVar[bool] = True
    answers_dialogs: ClassVar[bool] = False  # as its texts have none

    def __init__(self) -> None:
        self._player: Player | None = None

    def make(self, llm: LLM) -> Any:
        """Return a new object with `get_action(obs)`, which calls the model through `llm`.

        `get_action` returns an action text, or a pair of it and what is known about it.
        """
        raise NotImplementedError(f"{type(self).__name__}.make(llm) returns the agent to play")

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        agent = self.make(llm)
        self._player = Player(env, screenshot=self.screenshot)
        seen = self._player.reset()
        while True:
            answer = agent.get_action(seen)
            text = answer[0] if isinstance(answer, tuple) else answer
            if text is None:
                return
            seen, transition = self._player.step(text)
            if transition.done:
                return

    def counts(self, action: Action) -> bool:
        """Count an action text once, whatever it takes to carry it out."""
        return self._player is None or action is self._player.counted
