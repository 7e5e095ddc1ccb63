"""A page as BrowserGym's agents see and use it."""

from __future__ import annotations

from typing import Any

import numpy as np
from lxml import html
from numpy.typing import NDArray

from pytest_miniwob_agent.browsergym.actions import PASS, BadAction, Hand
from pytest_miniwob_agent.browsergym.observations import observe
from pytest_miniwob_agent.core.actions import Action, Dismiss, Release
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.observations import Observation, Transition
from pytest_miniwob_agent.core.protocols import Page, Visible
from pytest_miniwob_agent.pictures.image import decoded

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
            actions = self._hand.actions_of(text)
        except BadAction as reason:
            actions, error = [PASS], str(reason)
        self.counted = actions[0]
        for action in actions:
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
