"""Native input in its order: events of the mouse and keys, to be carried out by the browser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from selenium import webdriver
from selenium.webdriver import ActionChains

from pytest_miniwob_agent.browser.devtools import Command

MODIFIERS = {"ALT": 1, "CTRL": 2, "SHIFT": 8}
"""The bits of keys that are held in events of the mouse (`Input.dispatchMouseEvent`)."""


class Gesture:
    """Input for the browser: the mouse by its own protocol, keys by the driver with its keyboard.

    Attributes:
        steps: commands that are sent at once, and chains of keys.
        points: the points that the mouse goes to.
    """

    def __init__(self, driver: webdriver.Remote, held: Iterable[str] = ()) -> None:
        self.steps: list[list[Command] | ActionChains] = []
        self.points: list[tuple[int, int]] = []
        self._driver = driver
        self._modifiers = sum(MODIFIERS.get(key, 0) for key in held)
        self._at = (0, 0)
        self._pressed = False

    def go_on(self) -> Gesture:
        """Return the next part of this gesture, in which the mouse is where it is now."""
        following = copy(self)
        following.steps, following.points = [], []
        return following

    @property
    def keys(self) -> ActionChains:
        """The chain to which keys are added that come next."""
        if not self.steps or not isinstance(self.steps[-1], ActionChains):
            self.steps.append(ActionChains(self._driver, duration=0))
        chain = self.steps[-1]
        assert isinstance(chain, ActionChains)
        return chain

    def move(self, point: Sequence[int]) -> None:
        """Move the mouse to a point, and wait: Chromium may merge moves that arrive together."""
        self._at = (point[0], point[1])
        self.points.append(self._at)
        last = self.steps[-1] if self.steps else None
        if isinstance(last, list) and last[-1][1]["type"] == "mouseMoved":
            self.steps.append([])
        self._mouse("mouseMoved")

    def press(self, count: int = 1) -> None:
        """Press the mouse's left button; `count` is 2 for the second press of a double click."""
        self._pressed = True
        self._mouse("mousePressed", button="left", clickCount=count)

    def release(self, count: int = 1) -> None:
        """Release the mouse's left button."""
        self._pressed = False
        self._mouse("mouseReleased", button="left", clickCount=count)

    def click(self, times: int = 1) -> None:
        """Click where the mouse is; twice is a double click."""
        for count in range(1, times + 1):
            self.press(count)
            self.release(count)

    def scroll(self, pixels: int) -> None:
        """Turn the wheel where the mouse is, downwards by so many pixels."""
        self._mouse("mouseWheel", deltaX=0, deltaY=pixels)

    def _mouse(self, event: str, **more: Any) -> None:
        x, y = self._at
        state: dict[str, Any] = {"buttons": int(self._pressed), "modifiers": self._modifiers}
        if self._pressed:
            state |= {"button": "left", "force": 0.5}  # the pressure of devices that measure none
        if not self.steps or isinstance(self.steps[-1], ActionChains):
            self.steps.append([])
        commands = self.steps[-1]
        assert isinstance(commands, list)
        params = {"type": event, "x": x, "y": y, **state, **more}
        commands.append(("Input.dispatchMouseEvent", params))
