"""Actions that an agent can take on a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

KEYS = (
    "ENTER", "TAB", "SPACE", "ESCAPE", "BACKSPACE", "DELETE", "HOME", "END", "PAGEUP", "PAGEDOWN",
    "ARROWUP", "ARROWDOWN", "ARROWLEFT", "ARROWRIGHT",
)  # fmt: skip
"""Names of the keys for `Press`."""

MODIFIERS = ("CTRL", "SHIFT", "ALT")
"""Names of the keys for `Hold` and `Release`."""

MAX_PRESSES = 100
"""The most times that one `Press` may press its key: no list of a task is as long."""

MAX_TEXT = 2000
"""The longest text that may be typed, in characters: a longer one could exceed the timeout of the
browser on a slow machine."""

MAX_PIXELS = 100_000
"""The largest offset of a place and the longest way: no page of a task is as large."""

MAX_POINTS = 100
"""The most points of one `DragFrom`."""

MAX_SECONDS = 60
"""The longest `Wait` and `Follow`: no task takes as long."""

Place = tuple[float, float]
"""A place in an element: CSS pixels to the right of its top left corner, and below it."""

Point = tuple[float, float]
"""A point of the page: CSS pixels to the right of the viewport's top left corner, and below it."""


def _at(element: int, place: Place | None) -> str:
    return f"id={element}" if place is None else f"id={element} at {_pixels(place)}"


def _pixels(place: Place) -> str:
    return ",".join(str(number).removesuffix(".0") for number in place)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"


@dataclass(frozen=True, slots=True)
class Click:
    """Move the mouse to the middle of an element, or to a place in it, and click."""

    element: int
    at: Place | None = None

    def __str__(self) -> str:
        return f"click {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Enter:
    """Click an element, then type the text, key by key."""

    text: str
    element: int

    def __str__(self) -> str:
        return f'enter "{self.text}" to id={self.element}'


@dataclass(frozen=True, slots=True)
class Type:
    """Type the text, key by key, wherever the focus is."""

    text: str

    def __str__(self) -> str:
        return f'type "{self.text}"'


@dataclass(frozen=True, slots=True)
class Press:
    """Press and release one of `KEYS`, `times` times, wherever the focus is."""

    key: str
    times: int = 1

    def __str__(self) -> str:
        return f"press {self.key}" + (f" x {self.times}" if self.times > 1 else "")


@dataclass(frozen=True, slots=True)
class Hold:
    """Press one of `MODIFIERS` and keep it down."""

    key: str

    def __str__(self) -> str:
        return f"hold {self.key}"


@dataclass(frozen=True, slots=True)
class Release:
    """Release one of `MODIFIERS`."""

    key: str

    def __str__(self) -> str:
        return f"release {self.key}"


@dataclass(frozen=True, slots=True)
class DoubleClick:
    """Click twice at the same point."""

    element: int
    at: Place | None = None

    def __str__(self) -> str:
        return f"double click {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Hover:
    """Move the mouse onto an element and leave it there."""

    element: int
    at: Place | None = None

    def __str__(self) -> str:
        return f"hover {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Drag:
    """Press the mouse on an element, move it in a straight line and release it.

    With `to`, the drag ends at the place `end` in that element, or in its middle if `end` is None.
    Without `to`, `end` is the way in CSS pixels, to the right and down.
    """

    element: int
    to: int | None = None
    at: Place | None = None
    end: Place | None = None

    def __str__(self) -> str:
        if self.to is not None:
            way = f"to {_at(self.to, self.end)}"
        else:
            way = f"by {_pixels(self.end or (0, 0))}"
        return f"drag {_at(self.element, self.at)} {way}"


@dataclass(frozen=True, slots=True)
class Select:
    """Select an element's text, or a part of it: in a field with keys, elsewhere with the mouse."""

    element: int
    text: str | None = None

    def __str__(self) -> str:
        if self.text is None:
            return f"select id={self.element}"
        return f'select "{self.text}" in id={self.element}'


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the mouse wheel over an element by CSS pixels, down if positive and up if negative."""

    element: int
    pixels: int

    def __str__(self) -> str:
        return f"scroll id={self.element} by {self.pixels}"


@dataclass(frozen=True, slots=True)
class Choose:
    """Choose the option with this text from a drop-down list, with keys."""

    option: str
    element: int

    def __str__(self) -> str:
        return f'choose "{self.option}" in id={self.element}'


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy the selected text with CTRL+C; no other page and no other program gets it."""

    def __str__(self) -> str:
        return "copy"


@dataclass(frozen=True, slots=True)
class Paste:
    """Paste the copied text with CTRL+V, wherever the focus is."""

    def __str__(self) -> str:
        return "paste"


@dataclass(frozen=True, slots=True)
class ClickAt:
    """Move the mouse to a point of the page, and click."""

    point: Point

    def __str__(self) -> str:
        return f"click at {_pixels(self.point)}"


@dataclass(frozen=True, slots=True)
class HoverAt:
    """Move the mouse to a point of the page and leave it there."""

    point: Point

    def __str__(self) -> str:
        return f"hover at {_pixels(self.point)}"


@dataclass(frozen=True, slots=True)
class DragFrom:
    """Press the mouse at the first of some points, move it along the others and release it."""

    points: tuple[Point, ...]

    def __str__(self) -> str:
        return f"drag from {' to '.join(map(_pixels, self.points))}"


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass on the page's clock, which stands still otherwise."""

    seconds: float

    def __str__(self) -> str:
        return f"wait {_seconds(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Follow:
    """Keep the mouse on an element that moves, while time passes on the page's clock."""

    element: int
    seconds: float

    def __str__(self) -> str:
        return f"follow id={self.element} for {_seconds(self.seconds)}"


Action = (
    Click | Enter | Press | Hold | Release | Type
    | DoubleClick | Hover | Drag | Select | Scroll | Choose | Copy | Paste
    | ClickAt | HoverAt | DragFrom | Wait | Follow
)  # fmt: skip
"""An action. The first five are those of the reflective agent's paper; agents may opt into the
others."""

NoVisibleEffect = Hold | Release | Hover | Select | Scroll | Copy | HoverAt | Wait | Follow
"""Actions that may work without changing the visible page."""


def elements_of(action: Action) -> tuple[int, ...]:
    """The ids of an action's elements."""
    ids = (getattr(action, name, None) for name in ("element", "to"))
    return tuple(each for each in ids if each is not None)


def action_from_data(data: Mapping[str, Any]) -> Action:
    """Return the action that `core.data.to_data` was called on."""
    fields = {name: _tuples(part) for name, part in data.items()}
    kind = fields.pop("kind")
    for action_type in get_args(Action):
        if action_type.__name__.lower() == kind:
            action: Action = action_type(**fields)
            return action
    raise ValueError(f"{kind!r} is not an action")


def _tuples(part: Any) -> Any:
    """The part with its lists, which JSON knows, as tuples."""
    return tuple(map(_tuples, part)) if isinstance(part, list) else part
