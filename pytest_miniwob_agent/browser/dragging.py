"""Drags of the mouse, also those that the browser carries out itself, as of `draggable` elements.

Chromium begins such a one soon after the page has heard of `dragstart`, and gives it up where the
mouse's next event comes before that. So it is intercepted, and goes on by events of its own
(https://chromedevtools.github.io/devtools-protocol/tot/Input/#method-dispatchDragEvent). Another
may select text, for which the browser scrolls by frames; the mouse is released after that.
"""

from __future__ import annotations

import time
from typing import Any

from pytest_miniwob_agent.browser.devtools import Command, DevTools

LONGEST = 1.0
"""Real seconds to wait for a drag that the page has heard of."""


def is_drag(step: list[Command]) -> bool:
    """True if the mouse is moved with its button down."""
    return any(params["type"] == "mouseMoved" and params["buttons"] for _, params in step)


class Dragging:
    """Sends the events of the mouse until its button is up, or those of the browser's own drag."""

    def __init__(self, devtools: DevTools) -> None:
        self._devtools = devtools
        self._data: dict[str, Any] | None = None
        """What is dragged, once the browser drags it."""
        self._asked = False  # True once the browser was to drag something
        devtools.dragged = None
        devtools.call("Input.setInterceptDrags", enabled=True)

    def send(self, step: list[Command]) -> bool:
        """Send events of the mouse; True once its button is up again."""
        released: bool = False
        for method, params in step:
            released = params["type"] == "mouseReleased"
            if self._data is not None:
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
        if not self._asked:
            return
        end = time.monotonic() + LONGEST
        while self._devtools.dragged is None and time.monotonic() < end:
            self._devtools.call("Input.setInterceptDrags", enabled=True)
        self._data = self._devtools.dragged
        if self._data is not None:
            self._drag("dragEnter", params)
            self._drag("dragOver", params)

    def _drag(self, event: str, params: dict[str, Any]) -> None:
        """Send an event of the drag, where the mouse is."""
        where = {name: params[name] for name in ("x", "y", "modifiers")}
        self._devtools.call("Input.dispatchDragEvent", type=event, data=self._data, **where)
