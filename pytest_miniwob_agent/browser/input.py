"""An action as native input: events of the mouse and keys, aimed at the page."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from pytest_miniwob_agent.browser.process import Browser, Step
from pytest_miniwob_agent.core import actions
from pytest_miniwob_agent.core.data import well_formed
from pytest_miniwob_agent.core.text import sanitize_line

DRAG_MOVES = 10
"""Moves of the mouse from the start of a drag to its end. Pages recognise a drag by the first, and
sort dragged elements by the others."""

MODIFIERS = {"ALT": 1, "CTRL": 2, "META": 4, "SHIFT": 8}
"""The bits of keys that are held in events of the mouse and of other keys."""

BUTTONS = {"": 0, "left": 1, "right": 2, "middle": 4}
"""The bits of the mouse's buttons that are down."""

NAMED = {
    "ENTER": ("Enter", "NumpadEnter", 13, "\r"),
    "TAB": ("Tab", "Tab", 9, "\t"),
    "SPACE": (" ", "Space", 32, " "),
    "ESCAPE": ("Escape", "Escape", 27, ""),
    "BACKSPACE": ("Backspace", "Backspace", 8, ""),
    "DELETE": ("Delete", "Delete", 46, ""),
    "HOME": ("Home", "Home", 36, ""),
    "END": ("End", "End", 35, ""),
    "PAGEUP": ("PageUp", "PageUp", 33, ""),
    "PAGEDOWN": ("PageDown", "PageDown", 34, ""),
    "ARROWUP": ("ArrowUp", "ArrowUp", 38, ""),
    "ARROWDOWN": ("ArrowDown", "ArrowDown", 40, ""),
    "ARROWLEFT": ("ArrowLeft", "ArrowLeft", 37, ""),
    "ARROWRIGHT": ("ArrowRight", "ArrowRight", 39, ""),
    "CTRL": ("Control", "ControlLeft", 17, ""),
    "SHIFT": ("Shift", "ShiftLeft", 16, ""),
    "ALT": ("Alt", "AltLeft", 18, ""),
    "META": ("Meta", "MetaLeft", 91, ""),
    **{f"F{number}": (f"F{number}", f"F{number}", 111 + number, "") for number in range(1, 13)},
}
"""The `key`, `code`, `keyCode` and text of keys, by their names in actions."""

MODIFIER_KEYS = {NAMED[name][0] for name in MODIFIERS}
"""The `key` of the keys of `MODIFIERS`."""

NAMES = {"\n": "ENTER", "\t": "TAB", " ": "SPACE"}
"""The names of the keys that type these characters."""

WITH_SHIFT = dict(zip("`1234567890-=[]\\;',./", '~!@#$%^&*()_+{}|:"<>?', strict=True))
WITHOUT_SHIFT = {typed: plain for plain, typed in WITH_SHIFT.items()}
"""What a key of an American keyboard types with SHIFT, and without it."""

SIGNS = {
    ";": ("Semicolon", 186), "=": ("Equal", 187), ",": ("Comma", 188), "-": ("Minus", 189),
    ".": ("Period", 190), "/": ("Slash", 191), "`": ("Backquote", 192), "[": ("BracketLeft", 219),
    "\\": ("Backslash", 220), "]": ("BracketRight", 221), "'": ("Quote", 222),
}  # fmt: skip
"""The `code` and `keyCode` of keys that type neither letters nor digits."""

EDITING = {"a": "SelectAll", "c": "Copy", "v": "Paste", "x": "Cut", "y": "Redo", "z": "Undo"}
EDITING |= {"A": "SelectAll", "Z": "Redo"}
"""What an editor does for a key with CTRL."""

SHOWN = {
    "date": ("%Y-%m-%d", ["%m/%d/%Y", "%m%d%Y"]),
    "time": ("%H:%M", ["%I:%M%p", "%I%M%p"]),
    "datetime-local": ("%Y-%m-%dT%H:%M", ["%m/%d/%Y%I:%M%p", "%m%d%Y%I%M%p"]),
    "month": ("%Y-%m", ["%B%Y", "%b%Y", "%m%Y", "%m/%Y"]),
    "week": ("%G-W%V", ["Week%V%G%u", "%V%G%u"]),
}
"""The value of a field by its type, and how it is shown and typed, without spaces and commas."""

_NUMBER = re.compile(r"[-+]?\d{1,9}(\.\d{1,9})?")

# Characters that no key types; WebDriver takes those from U+E000 on for keys such as CTRL.
_UNTYPABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ue000-\uf8ff]")


class Gesture:
    """Input for the browser, as commands of its protocol.

    Scripts of the page have no part in it, as they would in the driver's own input.

    Attributes:
        steps: lists of commands that are sent at once (`Step`).
        points: the points that the mouse goes to.
    """

    def __init__(self, held: Iterable[str] = ()) -> None:
        self.steps: list[Step] = []
        self.points: list[tuple[int, int]] = []
        self._modifiers = sum(MODIFIERS.get(key, 0) for key in held)
        self._at = (0, 0)
        self._pressed = ""

    def let_time_pass(self) -> None:
        """Let a frame of the page's clock pass before what follows."""
        self.steps.append([])

    def hold(self, key: str) -> None:
        self._modifiers |= MODIFIERS.get(key, 0)
        self._key("keyDown", key)

    def let_go(self, key: str) -> None:
        self._modifiers &= ~MODIFIERS.get(key, 0)
        self._key("keyUp", key)

    def type(self, *keys: str) -> None:
        """Press and release keys: names, or characters."""
        for key in keys:
            self._key("keyDown", key)
            self._key("keyUp", key)

    def _key(self, event: str, key: str) -> None:
        modifiers = self._modifiers
        if named := NAMED.get(NAMES.get(key, key)):
            name, code, number, text = named
            plain = text
        else:
            shift = modifiers & MODIFIERS["SHIFT"] and key.isascii()
            name = text = WITH_SHIFT.get(key, key.upper()) if shift else key
            plain = WITHOUT_SHIFT.get(name, name.lower() if name.isascii() else name)
            modifiers |= MODIFIERS["SHIFT"] if name != plain else 0
            code, number = SIGNS.get(plain, ("", 0))
            if plain.isascii() and plain.isalnum():
                code = f"{'Digit' if plain.isdigit() else 'Key'}{plain.upper()}"
                number = ord(plain.upper())
        params = {
            "type": event, "key": name, "code": code, "windowsVirtualKeyCode": number, "text": text,
            "unmodifiedText": plain, "modifiers": modifiers,
            "location": int(name in MODIFIER_KEYS or code == "NumpadEnter"),
        }  # fmt: skip
        if modifiers & MODIFIERS["CTRL"] and name in EDITING:
            params["commands"] = [EDITING[name]]
        self.steps.append([("Input.dispatchKeyEvent", params)])  # each is awaited

    def move(self, point: Sequence[int]) -> None:
        self._at = (point[0], point[1])
        self.points.append(self._at)
        self._mouse("mouseMoved")

    def press(self, count: int = 1, button: str = "left") -> None:
        """Press a button of the mouse; `count` is 2 for the second press of a double click."""
        self._pressed = button
        self._mouse("mousePressed", clickCount=count)

    def release(self, count: int = 1, button: str = "left") -> None:
        self._pressed = ""
        self._mouse("mouseReleased", button=button, clickCount=count)

    def click(self, times: int = 1, button: str = "left") -> None:
        """Click where the mouse is; twice is a double click."""
        for count in range(1, times + 1):
            self.press(count, button)
            self.release(count, button)

    def scroll(self, pixels: int) -> None:
        """Turn the wheel where the mouse is, downwards by so many pixels."""
        self._mouse("mouseWheel", deltaX=0, deltaY=pixels)

    def _mouse(self, event: str, **more: Any) -> None:
        x, y = self._at
        state: dict[str, Any] = {"buttons": BUTTONS[self._pressed], "modifiers": self._modifiers}
        if self._pressed:
            state |= {
                "button": self._pressed,
                "force": 0.5,
            }  # the pressure of devices that don't measure it
        params = {"type": event, "x": x, "y": y, **state, **more}
        last = self.steps[-1] if self.steps else []
        # Chromium may merge moves that arrive together.
        if not last or last[-1][1]["type"] == event == "mouseMoved":
            last = []
            self.steps.append(last)
        last.append(("Input.dispatchMouseEvent", params))


class _Impossible(Exception):
    """The action can't be carried out; the message is the `error` of its transition."""


class NativeInput:
    """The native input of one action, aimed at the page as it is now.

    Making it scrolls the action's elements into sight and asks the page for points. A key to hold
    counts as held from here on.

    Args:
        action: the action to carry out.
        browser: the browser of the page.
        points: the points to click of the elements on the page, by id; None if unknown.
        slow: True to let time pass between the moves of a drag.
        files: the paths of files that can be uploaded.
        checks: True to have `missed` say that the action has come to nothing.

    Attributes:
        gesture: what to perform.
        error: the reason why the action is impossible, or None.
    """

    def __init__(
        self,
        action: actions.Action,
        browser: Browser,
        points: Mapping[int, list[int] | None],
        slow: bool = False,
        files: Sequence[str] = (),
        checks: bool = False,
    ) -> None:
        self.action = action
        self.gesture = Gesture(browser.held)
        self.error: str | None = None
        self._browser = browser
        self._points = points
        self._held = browser.held
        self._slow = slow
        self._files = files
        # The number of a spinner before another one is typed.
        self._stood: float | None = None
        # The number of steps after which a button of the mouse stays down for some time.
        self._kept_down: int | None = None
        # The value that a field is set to, which takes no free text.
        self._value: str | None = None
        # What the action is for, if that can be checked (`page/effect.js`).
        self._expected: tuple[int | None, str, Any] | None = None
        try:
            self._add()
            named = actions.element_ids(action)
            if checks and named and self.gesture.points:
                self._aim("covered", named[0], self.gesture.points[0])
            if checks and self._expected:
                self._ask("expect", *self._expected)
        except _Impossible as reason:
            self.error = str(reason)

    @property
    def first(self) -> list[Step]:
        """The steps to carry out, but for those that come after some time (`further`)."""
        return self.gesture.steps[: self._kept_down]

    @property
    def pointed(self) -> list[tuple[int, int]]:
        """The point that the pointer goes to; of a drag both ends, or all its points."""
        if self.error is not None:
            return []
        if isinstance(self.action, actions.DragFrom):
            return [(int(x), int(y)) for x, y in self.action.points]
        points = self.gesture.points
        return list(dict.fromkeys([points[0], points[-1]])) if points else []

    def _add(self) -> None:
        for id_ in actions.element_ids(self.action):
            _require(id_ in self._points, f"there is no element with id={id_} on the screen")
        if isinstance(self.action, actions.Select | actions.Choose | actions.Copy | actions.Paste):
            _require(not self._held, f"release {' and '.join(sorted(self._held))} first")
        match self.action:
            case actions.Click(element, at):
                self._click(element, at)
                self._expected = (element, "once", None)
            case actions.DoubleClick(element, at):
                self._click(element, at, times=2)
                self._expected = (element, "more often", None)
            case actions.Hover(element, at):
                self._click(element, at, times=0)
            case actions.Drag():
                self._drag(self.action)
            case actions.ClickAt(point):
                self.gesture.move(self._inside(point))
                self.gesture.click()
            case actions.HoverAt(point):
                self.gesture.move(self._inside(point))
            case actions.DragFrom(drag_points):
                fits = 2 <= len(drag_points) <= actions.MAX_POINTS
                _require(fits, f"a drag has 2 to {actions.MAX_POINTS} points")
                self._drag_along([self._inside(point) for point in drag_points])
            case actions.Wait(seconds) | actions.Follow(seconds=seconds):
                limit = f"time can pass for up to {actions.MAX_SECONDS} seconds"
                _require(0 < seconds <= actions.MAX_SECONDS, f"{limit}, not for {seconds:g}")
                if isinstance(self.action, actions.Follow):
                    self._click(self.action.element, times=0)
            case actions.Select():
                self._select(self.action)
            case actions.Scroll(element, pixels):
                self._scroll(element, pixels)
            case actions.Upload(path, element):
                named = ", ".join(self._files) or "none"
                _require(path in self._files, f"the task has no file {path!r}; it names {named}")
                self._click(element)
            case actions.ClickWith():
                self._click_with(self.action)
            case actions.ScrollWith(element, pixels, keys):
                self._scroll(element, pixels, keys)
            case actions.GoBack() | actions.GoForward() | actions.Reload() | actions.CloseTab():
                raise _Impossible("only pages of your own and apps lead to others")
            case actions.Accept() | actions.Dismiss():
                raise _Impossible(actions.dialog_error(self.action, None))
            case actions.Answer():
                raise _Impossible("only tasks on apps take an answer")
            case _:
                self._add_keys()

    def _add_keys(self) -> None:
        match self.action:
            case actions.Enter(text) | actions.Type(text):
                limit = f"a text can have {actions.MAX_TEXT} characters"
                _require(len(text) <= actions.MAX_TEXT, f"{limit}, not {len(text)}")
                for letter in _UNTYPABLE.findall(text):
                    raise _Impossible(f"no key types the character U+{ord(letter):04X}")
                # A page may take the text away for these, and keys with CTRL are no text.
                if text and not re.search(r"[\t\n]", text) and not self._held & {"CTRL", "ALT"}:
                    self._expected = (getattr(self.action, "element", None), "text", text)
                if isinstance(self.action, actions.Enter):
                    element = self.action.element
                    if kind := self._ask("setType", element):
                        self._value = _field_value(kind, text.strip())
                        self._expected = (element, "text", self._value)
                        self.gesture.move(self._aim("settable", element, self._value))
                        return
                    self.gesture.move(self._ask("caret", element, self._point(element)))
                    self.gesture.click()
                    if _NUMBER.fullmatch(text):
                        self._stood = self._ask("spinner", element)
                self.gesture.type(*text)
            case actions.Press(key, times):
                limit = f"a key can be pressed 1 to {actions.MAX_PRESSES} times"
                _require(1 <= times <= actions.MAX_PRESSES, f"{limit}, not {times}")
                self.gesture.type(*[_known_key(actions.KEYS, key)] * times)
                if key in ("ENTER", "SPACE"):  # which may send a form
                    self._expected = (None, "keys", None)
            case actions.PressKeys(keys, times):
                pressed = actions.parse_keys(keys)
                _require(pressed, f"there is no key {sanitize_line(keys)}")
                *held, last = pressed or ()
                limit = f"a key can be pressed 1 to {actions.MAX_PRESSES} times"
                _require(1 <= times <= actions.MAX_PRESSES, f"{limit}, not {times}")
                self._holding(held, lambda: self.gesture.type(*[last] * times))
            case actions.Hold(key):
                self.gesture.hold(_known_key(actions.MODIFIERS, key))
                self._held.add(key)
            case actions.Release(key):
                _require(key in self._held, f"{key} is not held")
                self.gesture.let_go(key)
                self._held.remove(key)
            case actions.Choose(option, element):
                found = self._aim("option", element, option)
                self.gesture.move(found["point"])
                self.gesture.click(0 if found["open"] else 1)
                self.gesture.type("HOME", *["ARROWDOWN"] * found["down"])
                self._expected = (element, "option", found["down"])
                self.gesture.hold("ENTER")  # by which the list is gone; some pages misread its end
            case actions.Copy():
                _require(self._ask("marked"), "no text is selected")
                self._press_with("CTRL", "c")
            case actions.Paste():
                copied = self._ask("copied")
                _require(copied, "nothing was copied")
                self._expected = (None, "text", copied)
                self._press_with("CTRL", "v")

    def _click(self, element: int, at: actions.Place | None = None, times: int = 1) -> None:
        self.gesture.move(self._point(element, at))
        self.gesture.click(times)

    def _scroll(self, element: int, pixels: float, keys: Sequence[str] = ()) -> None:
        fits = 0 < abs(pixels) <= actions.MAX_PIXELS
        _require(fits, f"a wheel can't be turned by {pixels} pixels")
        self.gesture.move(self._point(element))
        self._holding(keys, lambda: self.gesture.scroll(round(pixels)))

    def _click_with(self, click: actions.ClickWith) -> None:
        button, times = click.button, click.times
        _require(button in actions.BUTTONS, f"there is no button {sanitize_line(button)}")
        limit = f"a button can be pressed 1 to {actions.MAX_PRESSES} times"
        _require(1 <= times <= actions.MAX_PRESSES, f"{limit}, not {times}")
        seconds = click.seconds
        limit = f"a button can be down for up to {actions.MAX_SECONDS} seconds"
        _require(seconds is None or 0 < seconds <= actions.MAX_SECONDS, f"{limit}, not {seconds}")
        self.gesture.move(self._point(click.element, click.at))

        def press() -> None:
            self.gesture.click(times - 1, button)
            self.gesture.press(times, button)
            if seconds is not None:
                self.gesture.let_time_pass()  # and more of it in `further`
                self._kept_down = len(self.gesture.steps)
            self.gesture.release(times, button)

        self._holding(click.keys, press)
        self._expected = (click.element, "more often", None)

    def _holding(self, keys: Sequence[str], press: Callable[[], None]) -> None:
        wanted = [_known_key(NAMED, key) for key in dict.fromkeys(keys) if key not in self._held]
        for key in wanted:
            self.gesture.hold(key)
        press()
        for key in reversed(wanted):
            self.gesture.let_go(key)

    def _drag(self, drag: actions.Drag) -> None:
        places = (place for place in (drag.at, drag.end) if place is not None)
        _require(all(map(_is_near, places)), "a drag can't begin or end there")
        if drag.to is not None:
            points = self._aim("aim", [[drag.element, drag.at], [drag.to, drag.end]])
        else:
            points = self._aim("aim", [[drag.element, drag.at]])
            points.append(
                [round(at + by) for at, by in zip(points[0], drag.end or (0, 0), strict=True)]
            )
        start, end = points[0], points[-1]
        width, height = self._browser.viewport
        _require(
            0 <= end[0] < width and 0 <= end[1] < height,
            f"the drag would end outside the page's {width} x {height} pixels: it begins at "
            f"{start[0]},{start[1]}",
        )
        self._drag_along(points)

    def further(self) -> Iterator[Gesture]:
        """What comes next: a button that stays down is released, a field that takes no free text
        is set, and a spinner that refuses typed digits by arrow keys. One press shows how far it
        moves, and the others follow.
        """
        if isinstance(self.action, actions.ClickWith) and self.action.seconds:
            self._browser.call("miniwobAgent.elapse", round(self.action.seconds * 1000), False)
            release = Gesture()
            release.steps = self.gesture.steps[self._kept_down :]
            yield release
        if self._value is not None:
            self._ask("set", *actions.element_ids(self.action), self._value)
        if self._stood is None or not isinstance(self.action, actions.Enter):
            return
        wanted, element = float(self.action.text), self.action.element
        if self._stood == wanted or self._ask("spinner", element) != self._stood:
            return
        key = "ARROWUP" if wanted > self._stood else "ARROWDOWN"
        yield self._presses(key, 1)
        now = self._ask("spinner", element)
        if now is not None and now != self._stood:
            presses = round((wanted - self._stood) / (now - self._stood))
            yield self._presses(key, presses - 1)

    def missed(self) -> str | None:
        """Why the action has come to nothing that it was for, as far as can be checked."""
        found = self._expected and self._ask("missed", self._expected[0])
        return found or None

    def _presses(self, key: str, times: int) -> Gesture:
        gesture = Gesture(self._held)
        gesture.type(*[key] * min(times, actions.MAX_PRESSES))
        return gesture

    def _drag_along(self, points: Sequence[Sequence[int]]) -> None:
        self.gesture.move(points[0])
        self.gesture.press()
        for (x, y), (end_x, end_y) in pairwise(points):
            for step in range(1, DRAG_MOVES + 1):
                share = step / DRAG_MOVES
                self._let_time_pass()
                self.gesture.move((round(x + (end_x - x) * share), round(y + (end_y - y) * share)))
        self._let_time_pass()
        self.gesture.release()

    def _let_time_pass(self) -> None:
        if self._slow:
            self.gesture.let_time_pass()

    def _inside(self, point: actions.Point) -> list[int]:
        width, height = self._browser.viewport
        x, y = point
        _require(
            0 <= x < width and 0 <= y < height,
            f"the point {x:g},{y:g} is outside the page's {width} x {height} pixels",
        )
        return [int(x), int(y)]

    def _select(self, select: actions.Select) -> None:
        found = self._aim("range", select.element, select.text)
        if "start" in found:
            self.gesture.move(found["start"])
            self.gesture.press()
            self.gesture.move(found["end"])
            self.gesture.release()
            return
        _require(
            found.get("skip", 0) + found.get("take", 0) <= actions.MAX_TEXT,
            f"only the first {actions.MAX_TEXT} characters of a field can be selected in part",
        )
        self.gesture.move(found["point"])
        self.gesture.click()
        if select.text is None:
            self._press_with("CTRL", "a")
        else:
            self._press_with("CTRL", "HOME")
            self.gesture.type(*["ARROWRIGHT"] * found["skip"])
            self._press_with("SHIFT", *["ARROWRIGHT"] * found["take"])

    def _point(self, id_: int, at: actions.Place | None = None) -> list[int]:
        """The point of an element, or of a place in it, which is scrolled into sight."""
        if at is None:
            point = self._points[id_] or self._ask("reach", id_)
            _require(point, f"the element with id={id_} can't be brought into sight")
            return list(point)
        _require(_is_near(at), f"there is no such place in the element with id={id_}")
        return list(self._aim("aim", [[id_, at]])[0])

    def _aim(self, name: str, *values: Any) -> Any:
        """Call a function of the page that returns its error as a string."""
        answer = self._ask(name, *values)
        if isinstance(answer, str):
            raise _Impossible(answer)
        return answer

    def _ask(self, name: str, *values: Any) -> Any:
        # The driver refuses half of a surrogate pair.
        return self._browser.call("miniwobAgent.ask", name, *well_formed(values))

    def _press_with(self, modifier: str, *keys: str) -> None:
        self.gesture.hold(modifier)
        self.gesture.type(*keys)
        self.gesture.let_go(modifier)


def _require(possible: Any, otherwise: str) -> None:
    if not possible:
        raise _Impossible(otherwise)


def _is_near(place: actions.Place) -> bool:
    # Neither NaN, nor far beyond a page's edges.
    return all(abs(number) <= actions.MAX_PIXELS for number in place)


def _field_value(kind: str, text: str) -> str:
    """The value of a field that takes no free text, from how it is shown, or the text itself."""
    form, shown = SHOWN.get(kind, ("", []))
    plain = re.sub(r"[\s,]", "", text) + ("1" if kind == "week" else "")  # its first day
    for one in shown:
        with contextlib.suppress(ValueError):
            return datetime.strptime(plain, one).strftime(form)
    return text


def _known_key(keys: Container[str], key: str) -> str:
    _require(key in keys, f"there is no key {sanitize_line(key)}")
    return key
