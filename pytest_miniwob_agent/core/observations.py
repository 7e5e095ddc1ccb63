"""Observations of a page, the results of actions, and pictures."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

SCREENS = ("compact", "full", "tree")
"""What a screen can have: the visible leaves, everything that shows, or roles, names and states."""


SCREEN_VERSION = 2
"""The version of screens: how pages are shown to agents, and how actions meet what they show.

What is recorded keeps the version that it began with, so that its prompts stay as they are. In
version 1, texts of the tree were hit in the middle of the box around them, and fonts of a page were
replaced.
"""


@dataclass(frozen=True, slots=True)
class Element:
    """A visible leaf of the page.

    `id` numbers the elements of a trial from 1 in the order in which they were first visible; text
    beside other elements has no id. `value` is the content of a form field, True or False for a
    check box, radio button or option that is or is not selected. `x` and `y` are the centre, in CSS
    pixels from the page's top left corner.

    `details` is what else can be seen of it, pairs of a name and a value, if more than the
    compact screen was asked for (`reset(screen="full")`). Text has an id then, and two kinds of
    lines without an id are not of elements: `page`, about the page as a whole, and `change`, about
    time that passed.

    `role` and `depth` are those of a line of the tree (`reset(screen="tree")`), where `text` is the
    name, or what an element without a name shows.
    """

    id: int | None
    tag: str
    text: str = ""
    classes: str = ""
    dom_id: str = ""
    placeholder: str = ""
    value: str | bool | None = None
    x: float = 0.0
    y: float = 0.0
    details: tuple[tuple[str, str], ...] = field(default=(), metadata={"optional": True})
    role: str = field(default="", metadata={"optional": True})
    depth: int = field(default=0, metadata={"optional": True})


@dataclass(frozen=True, slots=True)
class Dialog:
    """A dialog that the page has opened: `alert`, `confirm` or `prompt`, with its default text."""

    type: str
    message: str
    default: str = ""

    @property
    def element(self) -> Element:
        """The dialog as a line of the tree, in the middle of a task's area."""
        value = self.default if self.type == "prompt" else None
        return Element(None, self.type, self.message, value=value, x=80, y=105, role=self.type)


@dataclass(frozen=True, slots=True)
class Observation:
    """The page as a person would see it: the goal in the page's words, and the visible elements.

    `focus` is the id of the field that keys go to, or None. While a `dialog` is
    open nothing else can be seen: its own line is the only element. `files` are those that the task
    names, for `Upload`. On apps, the trial can end with an answer (`answers`, for `Answer`). On
    pages of your own and apps, agents are offered further actions (`further`, for `InputAction` and
    `NavigationAction`). If several tabs are open, `tabs` counts them; the last one is shown.
    """

    goal: str
    elements: tuple[Element, ...] = ()
    focus: int | None = None
    dialog: Dialog | None = field(default=None, metadata={"optional": True})
    files: tuple[str, ...] = field(default=(), metadata={"optional": True})
    answers: bool = field(default=False, metadata={"optional": True})
    further: bool = field(default=False, metadata={"optional": True})
    tabs: int = field(default=0, metadata={"optional": True})


@dataclass(frozen=True, slots=True)
class Transition:
    """The result of an action.

    `reward` is the page's raw reward, from -1 to 1, and 0 until the page is `done`. `error` is the
    reason why the action was impossible and not carried out, or has come to nothing; or None.
    """

    observation: Observation
    reward: float = 0.0
    done: bool = False
    error: str | None = None

    @property
    def solved(self) -> bool:
        """True if the page gave its full reward."""
        return self.done and self.reward >= 1.0


Box = tuple[int, int, int, int]
"""A box on a page, in CSS pixels of the viewport: left, top, width, height."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of a page, PNG, that shows `size` CSS pixels, the width and the height.

    `points` are the points of an action in it, in order, and `boxes` those of the elements there.
    `zoom` is the side of the square that shows one pixel, and `marked` are the ids that are drawn
    on it.
    """

    png: bytes = field(repr=False)
    size: tuple[int, int]
    points: tuple[tuple[int, int], ...] = ()
    boxes: tuple[Box, ...] = ()
    zoom: int = 1
    marked: tuple[int, ...] = ()

    @property
    def data_url(self) -> str:
        """The picture as a data URL, as an `image_url` of a message takes it."""
        return data_url(self.png)


def data_url(png: bytes) -> str:
    """Return a PNG as a data URL."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
