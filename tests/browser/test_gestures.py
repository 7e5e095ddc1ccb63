"""Mouse and keyboard do to a page what the driver's do, through CDP."""

import re
from contextlib import closing

import pytest
from selenium.webdriver import ActionChains, Keys

from pytest_miniwob_agent.browser.input import Gesture
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core import actions


@pytest.fixture(scope="module")
def browser():
    with closing(Browser()) as browser:
        yield browser


LISTEN = """(() => {
  window.heard = [];
  const types = ["mousemove", "mousedown", "mouseup", "click", "dblclick", "mouseover", "mouseout",
    "pointermove", "pointerdown", "pointerup", "pointerover", "selectstart", "wheel"];
  const wanted = ["type", "clientX", "clientY", "screenX", "screenY", "movementX", "movementY",
    "button", "buttons", "detail", "ctrlKey", "shiftKey", "altKey", "metaKey", "pressure", "width",
    "pointerType", "pointerId", "isPrimary", "deltaX", "deltaY", "deltaMode", "isTrusted"];
  const hear = (event) => window.heard.push([
    event.target.id || event.target.tagName, ...wanted.map((name) => event[name]),
  ]);
  for (const type of types) document.addEventListener(type, hear, true);
})"""

POINT = (60, 100)
PATH = [(60 + 3 * step, 100 + 2 * step) for step in range(1, 11)]


class DriversMouse:
    """The interface of a `Gesture`, by the driver's actions."""

    def __init__(self, driver):
        self.keys = ActionChains(driver, duration=0)
        self.press = self.keys.click_and_hold
        self.release = self.keys.release
        self._at = None

    def move(self, point):
        self._at = point
        self.keys.w3c_actions.pointer_action.move_to_location(*point)
        self.keys.w3c_actions.key_action.pause()

    def click(self, times=1):
        for _ in range(times):
            self.keys.click()

    def scroll(self, pixels):
        wheel = self.keys.w3c_actions.wheel_action
        wheel.pause()
        wheel.scroll(*self._at, delta_y=pixels)


def double_click(mouse):
    mouse.move(POINT)
    mouse.click(2)


def drag(mouse):
    mouse.move(POINT)
    mouse.press()
    for point in PATH:
        mouse.move(point)
    mouse.release()


def scroll(mouse):
    mouse.move(POINT)
    mouse.scroll(120)


@pytest.mark.parametrize(
    ("act", "last"),
    [(double_click, "dblclick"), (drag, "click"), (scroll, "wheel")],
)
def test_a_page_hears_the_same_events_as_from_the_driver(browser, page, act, last):
    def listen():
        page("click-button").reset()
        beside = Gesture()
        beside.move((-1, -1))
        browser.perform(beside.steps)
        browser.call(LISTEN)

    def heard():
        for _ in range(20):  # the browser turns a wheel with a frame, which may be a later one
            browser.call("miniwobAgent.ask", "frame")
            events = browser.call("(() => heard)")
            if last in [event[1] for event in events]:
                break
        return events

    listen()
    mouse = DriversMouse(browser.driver)
    act(mouse)
    mouse.keys.perform()
    expected = heard()
    listen()
    gesture = Gesture()
    act(gesture)
    browser.perform(gesture.steps)
    assert heard() == expected
    assert last in [event[1] for event in expected]


def test_a_page_that_is_slow_hears_of_each_move(browser, page):
    page("click-button").reset()
    browser.call("""(() => {
      window.moves = 0;
      document.onmousemove = () => {
        moves += 1;
        for (let count = 0; count < 3e6; count += 1);
      };
    })""")
    gesture = Gesture()
    drag(gesture)
    browser.perform(gesture.steps)
    assert browser.call("(() => moves)") == 1 + len(PATH)


LISTEN_TO_KEYS = """(() => {
  window.heard = [];
  const types = ["keydown", "keypress", "beforeinput", "input", "keyup", "copy", "focusin"];
  const wanted = ["type", "key", "code", "keyCode", "charCode", "location", "ctrlKey", "shiftKey",
    "altKey", "metaKey", "repeat", "data", "inputType", "isTrusted"];
  const hear = (event) => heard.push(wanted.map((name) => event[name]));
  for (const type of types) document.addEventListener(type, hear, true);
  document.getElementById("tt").focus();
})"""

TYPED = [*map(chr, range(32, 127)), "\u00fc", "\u20ac", "\U0001f600", "\u0301"]
TYPED.remove(">")  # the driver has a code for it that American keyboards lack

KEYS = {name: getattr(Keys, re.sub("^(PAGE|ARROW)", r"\1_", name)) for name in actions.KEYS}
MODIFIERS = {"CTRL": Keys.CONTROL, "SHIFT": Keys.SHIFT, "ALT": Keys.ALT}


def test_a_page_hears_the_same_keys_as_from_the_driver(browser, page):
    with_modifiers = [(name, key) for name in MODIFIERS for key in ["a", "B", "1", "HOME"]]
    with_modifiers += [("CTRL", key) for key in "aczZ"]
    chain, gesture = ActionChains(browser.driver, duration=0), Gesture()
    for key in [*TYPED, *KEYS]:
        chain.send_keys(KEYS.get(key, key))
        gesture.type(key)
    for name, key in with_modifiers:
        chain.key_down(MODIFIERS[name]).send_keys(KEYS.get(key, key)).key_up(MODIFIERS[name])
        gesture.hold(name)
        gesture.type(key)
        gesture.let_go(name)

    def heard(perform):
        page("enter-text").reset()
        browser.call(LISTEN_TO_KEYS)
        perform()
        return browser.call("(() => heard)")

    expected = heard(chain.perform)
    assert heard(lambda: browser.perform(gesture.steps)) == expected
    assert len(expected) > 500
