"""Actions that an agent can take on a page, each declared once.

A class also declares the action's tool, whose JSON schema `tools` makes: the docstring describes
the tool, and the annotations of the fields describe its arguments. Models read these texts, so they
are part of the prompts. `str(action)` is the written form, which `parsing` reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

KEYS = (
    "ENTER", "TAB", "SPACE", "ESCAPE", "BACKSPACE", "DELETE", "HOME", "END", "PAGEUP", "PAGEDOWN",
    "ARROWUP", "ARROWDOWN", "ARROWLEFT", "ARROWRIGHT",
)  # fmt: skip
"""Names of the keys for `Press`."""

MODIFIERS = ("CTRL", "SHIFT", "ALT")
"""Names of the keys for `Hold` and `Release`."""

BUTTONS = ("left", "right", "middle")
"""The buttons of the mouse."""

HELD = (*MODIFIERS, "META")
"""Names of the keys that further actions hold."""

FURTHER_KEYS = tuple(f"F{number}" for number in range(1, 13))
"""Names of the keys for `PressKeys` beside `KEYS`, `HELD` and characters."""

# Limits that no task reaches.
MAX_PRESSES = 100
MAX_TEXT = 2000  # characters: typing more could exceed the browser's timeout on a slow machine
MAX_PIXELS = 100_000
MAX_POINTS = 100
MAX_SECONDS = 60

Place = tuple[float, float]
"""A place in an element: CSS pixels to the right of its top left corner, and below it."""

Point = tuple[float, float]
"""A point of the page: CSS pixels to the right of the viewport's top left corner, and below it."""

Schema = Mapping[str, Any]
"""The JSON schema of an argument, of the few forms that `tools` reads."""

_PIXEL: Schema = {"type": "number", "minimum": -MAX_PIXELS, "maximum": MAX_PIXELS}
_PAIR: Schema = {"type": "array", "items": _PIXEL, "minItems": 2, "maxItems": 2}
_POINTS: Schema = {"type": "array", "items": _PAIR, "minItems": 2, "maxItems": MAX_POINTS}
_TEXT: Schema = {"type": "string", "maxLength": MAX_TEXT}
_ID: Schema = {"type": "integer", "minimum": 1, "maximum": 999_999_999}
_TIMES: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_PRESSES}
_PIXELS: Schema = {**_PIXEL, "type": "integer"}
_SECONDS: Schema = {"type": "number", "minimum": 0.001, "maximum": MAX_SECONDS}
_KEY: Schema = {"type": "string", "enum": list(KEYS)}
_MODIFIER: Schema = {"type": "string", "enum": list(MODIFIERS)}

_Element = Annotated[int, _ID, "id of the element"]
_Modifier = Annotated[str, _MODIFIER]
_Seconds = Annotated[float, _SECONDS]
_At = Annotated[
    Place | None,
    _PAIR,
    "a place in the element instead of its middle: pixels to the right of its top left corner, "
    "and pixels below it",
]
_Point = Annotated[
    Point,
    _PAIR,
    "pixels to the right of the window's top left corner, and pixels below that corner",
]


def _at(element: int, place: Place | None) -> str:
    return f"id={element}" if place is None else f"id={element} at {_pixels(place)}"


def _pixels(place: Place) -> str:
    return ",".join(str(number).removesuffix(".0") for number in place)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"


@dataclass(frozen=True, slots=True)
class Click:
    """Click an element."""

    element: _Element
    at: _At = None

    def __str__(self) -> str:
        return f"click {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Enter:
    """Click a field and type a text into it. The text is added to what the field holds."""

    text: Annotated[str, _TEXT, "the text to type"]
    element: Annotated[int, _ID, "id of the field"]

    def __str__(self) -> str:
        return f'enter "{self.text}" to id={self.element}'


@dataclass(frozen=True, slots=True)
class Press:
    """Press and release a key.

    Keys go to the field or list that was used last; in a drop-down list the arrow keys move to an
    entry, and ENTER takes it.
    """

    key: Annotated[str, _KEY]
    times: Annotated[int, _TIMES, "how many times; once if left out"] = 1

    def __str__(self) -> str:
        return f"press {self.key}" + (f" x {self.times}" if self.times > 1 else "")


@dataclass(frozen=True, slots=True)
class Hold:
    """Press a modifier key and keep it down until it is released.

    To select several entries of a list, hold CTRL, click each of them, and release CTRL.
    """

    key: _Modifier

    def __str__(self) -> str:
        return f"hold {self.key}"


@dataclass(frozen=True, slots=True)
class Release:
    """Release a modifier key that is held."""

    key: _Modifier

    def __str__(self) -> str:
        return f"release {self.key}"


@dataclass(frozen=True, slots=True)
class Type:
    """Type a text into the field that was used last."""

    text: Annotated[str, _TEXT, "the text to type"]

    def __str__(self) -> str:
        return f'type "{self.text}"'


@dataclass(frozen=True, slots=True)
class DoubleClick:
    """Click an element twice at once."""

    element: _Element
    at: _At = None

    def __str__(self) -> str:
        return f"double click {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Hover:
    """Move the mouse onto an element and leave it there."""

    element: _Element
    at: _At = None

    def __str__(self) -> str:
        return f"hover {_at(self.element, self.at)}"


@dataclass(frozen=True, slots=True)
class Drag:
    """Press the mouse on an element, move it, and release it.

    Give `to`, to move it to another element, or `end` alone, to move it by a number of pixels.
    """

    element: Annotated[int, _ID, "id of the element where the mouse is pressed"]
    to: Annotated[int | None, _ID, "id of the element where the mouse is released"] = None
    at: _At = None
    end: Annotated[
        Place | None,
        _PAIR,
        "with `to`, a place in that element instead of its middle; without `to`, the way: pixels "
        "to the right, and pixels down (left and up are negative)",
    ] = None

    def __str__(self) -> str:
        if self.to is not None:
            way = f"to {_at(self.to, self.end)}"
        else:
            way = f"by {_pixels(self.end or (0, 0))}"
        return f"drag {_at(self.element, self.at)} {way}"


@dataclass(frozen=True, slots=True)
class Select:
    """Select the text of an element, or a part of it."""

    element: _Element
    text: Annotated[str | None, _TEXT, "the part; the whole text if left out"] = None

    def __str__(self) -> str:
        if self.text is None:
            return f"select id={self.element}"
        return f'select "{self.text}" in id={self.element}'


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the mouse wheel over an element."""

    element: _Element
    pixels: Annotated[int, _PIXELS, "how far: down if positive, up if negative"]

    def __str__(self) -> str:
        return f"scroll id={self.element} by {self.pixels}"


@dataclass(frozen=True, slots=True)
class Choose:
    """Choose an entry of a drop-down list, which need not be open."""

    option: Annotated[str, _TEXT, "the text of the entry"]
    element: Annotated[int, _ID, "id of the drop-down list"]

    def __str__(self) -> str:
        return f'choose "{self.option}" in id={self.element}'


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy the selected text."""

    def __str__(self) -> str:
        return "copy"


@dataclass(frozen=True, slots=True)
class Paste:
    """Paste the copied text into the field that was used last."""

    def __str__(self) -> str:
        return "paste"


@dataclass(frozen=True, slots=True)
class ClickAt:
    """Click a point of the window."""

    point: _Point

    def __str__(self) -> str:
        return f"click at {_pixels(self.point)}"


@dataclass(frozen=True, slots=True)
class HoverAt:
    """Move the mouse to a point of the window and leave it there."""

    point: _Point

    def __str__(self) -> str:
        return f"hover at {_pixels(self.point)}"


@dataclass(frozen=True, slots=True)
class DragFrom:
    """Press the mouse at the first point, move it along the others, and release it at the last."""

    points: Annotated[
        tuple[Point, ...],
        _POINTS,
        "points of the window, each as pixels to the right of its top left corner and pixels below "
        "that corner",
    ]

    def __str__(self) -> str:
        return f"drag from {' to '.join(map(_pixels, self.points))}"


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass on the page."""

    seconds: _Seconds

    def __str__(self) -> str:
        return f"wait {_seconds(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Follow:
    """Keep the mouse on an element that moves, while time passes on the page."""

    element: _Element
    seconds: _Seconds

    def __str__(self) -> str:
        return f"follow id={self.element} for {_seconds(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Accept:
    """Answer the page's dialog with OK."""

    text: Annotated[
        str | None, _TEXT, "the text to answer a prompt with; its default text if left out"
    ] = None

    def __str__(self) -> str:
        return "accept" if self.text is None else f'accept with "{self.text}"'


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Answer the page's dialog with Cancel, or close it."""

    def __str__(self) -> str:
        return "dismiss"


@dataclass(frozen=True, slots=True)
class Upload:
    """Click a field for files, or what asks for one, and choose one of the task's files."""

    path: Annotated[str, _TEXT, "the file's path, as the task names it"]
    element: _Element

    def __str__(self) -> str:
        return f'upload "{self.path}" to id={self.element}'


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer what the goal asks, or say why it can't be reached. This ends the task."""

    text: Annotated[str, _TEXT, "the answer"]

    def __str__(self) -> str:
        return f'answer "{self.text}"'


_Held = Annotated[
    tuple[str, ...],
    {
        "type": "array",
        "items": {"type": "string", "enum": list(HELD)},
        "minItems": 0,
        "maxItems": 4,
    },
    "modifier keys that are held meanwhile",
]


def _with(keys: tuple[str, ...], what: str) -> str:
    return "+".join([*map(str.lower, keys), what])


@dataclass(frozen=True, slots=True)
class ClickWith:
    """Click an element with another button, more often, for longer, or with keys held.

    The right button opens a context menu, and three clicks at once select a paragraph.
    """

    element: _Element
    button: Annotated[
        str, {"type": "string", "enum": list(BUTTONS)}, "the button; left if left out"
    ] = "left"
    times: Annotated[int, _TIMES, "how many clicks at once; one if left out"] = 1
    seconds: Annotated[
        float | None, _SECONDS, "how long the button stays down, for a long press"
    ] = None
    keys: _Held = ()
    at: _At = None

    def __str__(self) -> str:
        button = "" if self.button == "left" else f"{self.button} "
        clicked = f"{_with(self.keys, f'{button}click')} {_at(self.element, self.at)}"
        times = f" x {self.times}" if self.times > 1 else ""
        return clicked + times + (f" for {_seconds(self.seconds)}" if self.seconds else "")


@dataclass(frozen=True, slots=True)
class PressKeys:
    """Press any key, or several together, and release them."""

    keys: Annotated[
        str, {"type": "string", "maxLength": 40}, "a key such as F2, a or ENTER, or CTRL+SHIFT+K"
    ]
    times: Annotated[int, _TIMES, "how many times; once if left out"] = 1

    def __str__(self) -> str:
        return f"press {self.keys}" + (f" x {self.times}" if self.times > 1 else "")


@dataclass(frozen=True, slots=True)
class ScrollWith:
    """Turn the mouse wheel over an element with keys held: CTRL zooms on many pages."""

    element: _Element
    pixels: Annotated[int, _PIXELS, "how far: down if positive, up if negative"]
    keys: _Held

    def __str__(self) -> str:
        return f"{_with(self.keys, 'scroll')} id={self.element} by {self.pixels}"


@dataclass(frozen=True, slots=True)
class GoBack:
    """Go back to the page before this one."""

    def __str__(self) -> str:
        return "go back"


@dataclass(frozen=True, slots=True)
class GoForward:
    """Go forward again to the page after this one."""

    def __str__(self) -> str:
        return "go forward"


@dataclass(frozen=True, slots=True)
class Reload:
    """Load the page again."""

    def __str__(self) -> str:
        return "reload"


@dataclass(frozen=True, slots=True)
class CloseTab:
    """Close the tab that is shown, and go back to the one before."""

    def __str__(self) -> str:
        return "close tab"


@dataclass(frozen=True, slots=True)
class ByProgram:
    """What a program did on a page that was handed over to it.

    `what` is its written form, such as `click <button> "ONE"`, and `text` what was typed.
    """

    kind: ClassVar[str] = "by-program"
    what: str
    text: str | None = field(default=None, metadata={"optional": True})

    def __str__(self) -> str:
        return self.what


Action = (
    Click | Enter | Press | Hold | Release | Type
    | DoubleClick | Hover | Drag | Select | Scroll | Choose | Copy | Paste
    | ClickAt | HoverAt | DragFrom | Wait | Follow
    | Accept | Dismiss | Upload | Answer
    | ClickWith | PressKeys | ScrollWith | GoBack | GoForward | Reload | CloseTab
)  # fmt: skip
"""An action. The first five are those of the reflective agent's paper; agents may opt into the
others. `Accept` and `Dismiss` are possible while a dialog is open, and nothing else is then;
`Upload` where the task names files, `Answer` and `CloseTab` on apps, and the other
`NavigationAction`s on pages of your own and apps."""

InputAction = ClickWith | PressKeys | ScrollWith
"""Further input, which agents get where they ask for it, and on pages of your own and apps."""

NavigationAction = GoBack | GoForward | Reload | CloseTab
"""Ways to other pages of the trial."""

DialogAction = Accept | Dismiss
"""An answer to a dialog."""

AnyAction = Action | ByProgram
"""An action of a trial: of an agent, or of a program."""

NoVisibleEffect = (
    Hold | Release | Hover | Select | Scroll | Copy | HoverAt | Wait | Follow | ScrollWith | Reload
)
"""Actions that may work without changing the visible page."""


def dialog_error(action: Action, dialog: str | None) -> str | None:
    """The reason why an action is impossible while a dialog of a type is open, or none (None)."""
    if not isinstance(action, DialogAction):
        return dialog and f"the page's {dialog} is open: accept or dismiss it first"
    if dialog is None:
        return "the page has no dialog open"
    takes_text = dialog == "prompt" or getattr(action, "text", None) is None
    return None if takes_text else f"the page's {dialog} takes no text"


_ALIASES = {
    "CONTROL": "CTRL", "CONTROLORMETA": "CTRL", "CMD": "META", "COMMAND": "META", "OPTION": "ALT",
    "RETURN": "ENTER", "ESC": "ESCAPE", "DEL": "DELETE", "SPACEBAR": "SPACE", "UP": "ARROWUP",
    "DOWN": "ARROWDOWN", "LEFT": "ARROWLEFT", "RIGHT": "ARROWRIGHT",
}  # fmt: skip


def parse_keys(combination: str) -> tuple[str, ...] | None:
    """The keys of a combination such as `ctrl+b`, modifiers first; None if it is none.

    Letters are small, as SHIFT makes them large; a single character stays as it is.
    """
    *held, last = combination.rsplit("+", 1) if combination[1:] else [combination]
    if held and not last:  # the key + itself
        held, last = [combination[:-2]] if combination[:-2] else [], "+"
    names = [one.strip().upper() for one in held[0].split("+")] if held else []
    modifiers = tuple(_ALIASES.get(one, one) for one in names)
    name = re.sub(r"[\s_]", "", last).upper()
    name = _ALIASES.get(name, name)
    if name not in (*KEYS, *FURTHER_KEYS, *HELD):
        name = last.strip().lower() if modifiers else last.strip()
        if len(name) != 1 or not name.isprintable():
            return None
    return (*modifiers, name) if set(modifiers) <= set(HELD) else None


def element_ids(action: Action) -> tuple[int, ...]:
    """The ids of the elements that an action names."""
    ids = (getattr(action, name, None) for name in ("element", "to"))
    return tuple(id_ for id_ in ids if id_ is not None)
