"""How the pages are completed: steps, each on what has a role and a name, for two drivers.

A step is `VERB ROLE NAME`, with `#2` the second of several; what has no name goes by its classes.
What `enter` writes, where a drag ends and what is chosen come after ` > `. Driver `Actions` takes
the screen's tree, `Program` a Playwright page.
"""

import re

from playwright.sync_api import Error

from pytest_miniwob_agent import (
    Choose,
    Click,
    ClickWith,
    DoubleClick,
    Drag,
    Enter,
    Hover,
    Press,
    PressKeys,
    Scroll,
    Select,
    Type,
    Upload,
)

STEPS = {
    "ag-grid": "click columnheader Age; double gridcell Bern; mark textbox Input Editor; "
    "type Rome; press ENTER 1",
    "anchor": "click button Menu; click button Edit",
    "animationend": "click button Next; click button Finish",
    "antd-datepicker": "click textbox Select date; click cell 15",
    "antd-form": "enter spinbutton * Quantity > 5; click checkbox Agree; click switch Notify; "
    "click radio star star #4; click radio Large; click button Submit; click button OK",
    "antd-range": "click textbox Start date; click cell 10; click cell 20",
    "antd-select": "click combobox; type Lucy; click text Lucy",
    "antd-upload": "upload button Click to Upload",
    "aria-div": "click checkbox Accept",
    "bootstrap": "click button Launch; click button Save; click button Menu; click link Action; "
    "click button Next >; click button Panel; click button Close",
    "chartjs": "at 330,200 img Sales by month",
    "closed-shadow": "click button Buy",
    "codemirror": "mark textbox; type let y = 2;",
    "datatables": "enter searchbox Search: > Tokyo; click button Age: Activate to sort; click cell",
    "day-picker": "click button Monday, June 10th, 2024; click button Thursday, June 20th, 2024",
    "details": "click button More; click button Go",
    "dialog": "click button Open; click button OK",
    "dnd-kit": "drag button Item A > button Item C",
    "fixed-in-hidden": "click button Save",
    "flatpickr": "click textbox Pick a date; choose combobox Month > June; click text 15",
    "framer-wizard": "click button Next; click button Next; click button Finish",
    "hover-card": "hover link @radix; click button Follow",
    "icon-toolbar": "mark textbox; click button format_bold; click button format_align_right",
    "iframe": "enter textbox Name > Bob; click button Send",
    "infinite-scroll": "scroll 900; scroll 900; scroll 900; scroll 900; click text Item 35",
    "invoker": "click button Show; click button Close it",
    "leaflet": "click button Zoom in; drag generic > -100,0; click button London",
    "lexical-rich": "mark listitem Eggs; click button Bold; click listitem Eggs; press END 1; "
    "press ENTER 1; type Flour",
    "monaco": "click text return 1; press END 1; keys SHIFT+HOME; type return 2",
    "mui-autocomplete": "enter combobox Country > Bel; click option Belgium",
    "mui-data-grid": "click columnheader Age; click checkbox Select row; "
    "double gridcell Bern; mark textbox; type Rome; press ENTER 1",
    "mui-datepicker": "click button Choose date, selected date is Jun 3, 2024; click gridcell 15",
    "mui-dialog": "click button Open dialog; click button Agree; click button Undo",
    "mui-form": "click checkbox Terms; click switch Wifi; click radio Express; click tab Two",
    "mui-select": "click combobox Fruit; click option Cherry",
    "mui-slider": "click slider Volume; press ARROWRIGHT 4",
    "nouislider": "click slider lower; press ARROWRIGHT 2; click slider upper; press ARROWLEFT 4",
    "popover": "click button Open; click button OK",
    "quill": "enter textbox > Hello; mark textbox; click button bold",
    "quill-rich": "click listitem • Eggs; press END 1; press ENTER 1; type Flour; "
    "mark listitem • Flour; click button link; type /flour; press ENTER 1",
    "radix-context": "context text Photo; click menuitem Share; click menuitem Mail",
    "radix-dropdown": "click button Options; click menuitem More tools; click menuitem Developer",
    "radix-select": "click combobox Food; click option Banana",
    "react-aria": "click button Increase Width; click button Increase Width; "
    "click button Show suggestions Favorite animal; click option Panda; "
    "click button System requirements",
    "react-flow": "drag generic react-flow__handle-bottom source > "
    "generic react-flow__handle-top target #2",
    "react-hook-form": "enter textbox Name > Ann; enter textbox Email > ann@x.org; "
    "click button Send",
    "react-suspense": "click button Open; click button Save",
    "resize-observer": "click button Widen; click button Wide",
    "select2": "click combobox; click option Ohio",
    "shoelace": "click combobox Pick; click option Option 2; click checkbox Agree; "
    "click button Open dialog; click button Confirm",
    "slots": "click button Inner",
    "sortablejs": "drag listitem Item A > listitem Item C",
    "tanstack-virtual": "scroll 15000; click text Row 500",
    "tiptap": "enter textbox > # Title; press ENTER 1; type text",
    "tiptap-rich": "mark cell Ann; type Eve; click listitem Eggs for @Ann; press END 1; "
    "press ENTER 1; type @B; click option Ben",
    "transitionend": "click button Next; click button Finish",
    "view-transition": "click button Next; click button Finish now",
    "virtua": "scroll 5000; click text Row 200",
    "waapi": "click button Next; click button Finish now",
}

UNNAMED = {"generic": ".leaflet-container, x-buy", "textbox": "[contenteditable=true]"}
KEYS = {
    "ARROWLEFT": "ArrowLeft",
    "ARROWRIGHT": "ArrowRight",
    "END": "End",
    "ENTER": "Enter",
    "HOME": "Home",
    "SHIFT": "Shift",
}


def parse_steps(name):
    return [step.strip().partition(" ")[::2] for step in STEPS[name].split("; ")]


class Missing(Exception):
    """There is nothing of this role and name."""


def _read(target):
    found = re.fullmatch(r"(\w+) ?(.*?)(?: #(\d))?", target)
    role, name, number = found.groups()
    return role, name, int(number or 1)


class Actions:
    """Steps as actions on the screen's tree."""

    def __init__(self, env):
        self.env = env
        self.last = None
        self.seen = env.reset(screen="tree")

    def find(self, target):
        role, name, number = _read(target)
        found = [
            one.id
            for one in self.seen.elements
            if one.id is not None
            and one.role == role
            and name in ("", one.text, *map(dict(one.details).get, ("shows", "class")))
        ]
        if len(found) < number:
            raise Missing(target)
        return found[number - 1]

    def act(self, action):
        self.last = self.env.step(action)
        self.seen = self.last.observation
        assert self.last.error is None, f"{action}: {self.last.error}"

    def click(self, target):
        self.act(Click(self.find(target)))

    def double(self, target):
        self.act(DoubleClick(self.find(target)))

    def context(self, target):
        self.act(ClickWith(self.find(target), button="right"))

    def hover(self, target):
        self.act(Hover(self.find(target)))

    def at(self, target):
        place, _, what = target.partition(" ")
        x, y = map(int, place.split(","))
        self.act(Click(self.find(what), (x, y)))

    def enter(self, target):
        what, _, text = target.partition(" > ")
        self.act(Enter(text, self.find(what)))

    def type(self, text):
        self.act(Type(text))

    def press(self, target):
        key, _, times = target.partition(" ")
        self.act(Press(key, int(times)))

    def keys(self, keys):
        self.act(PressKeys(keys))

    def mark(self, target):
        self.act(Select(self.find(target)))

    def upload(self, target):
        self.act(Upload(self.seen.files[0], self.find(target)))

    def choose(self, target):
        what, _, option = target.partition(" > ")
        self.act(Choose(option, self.find(what)))

    def scroll(self, distance):
        [box] = [one.id for one in self.seen.elements if "scroll" in dict(one.details)]
        self.act(Scroll(box, int(distance)))

    def drag(self, target):
        start, _, end = target.partition(" > ")
        if re.fullmatch(r"-?\d+,-?\d+", end):
            x, y = map(int, end.split(","))
            self.act(Drag(self.find(start), end=(x, y)))
        else:
            self.act(Drag(self.find(start), self.find(end)))


class Program:
    """Steps as commands of Playwright."""

    def __init__(self, page):
        self.page = page

    def find(self, target):
        """The element, in any frame; where Playwright has another role or name, by its text."""
        role, name, number = _read(target)
        for frame in self.page.frames:
            named = {"name": name, "exact": True} if name else {}
            others = [frame.get_by_label, frame.get_by_text] if name else []
            text = name.removeprefix("• ")  # which a style sheet draws
            classes = ".".join(["", *name.split()]) if role == "generic" else ""
            for found in (
                frame.get_by_role(role, **named),
                *(other(text, exact=True) for other in others),
                frame.locator(classes or UNNAMED.get(role, "no-such")),
            ):
                if found.count():
                    return found.nth(number - 1)
        return self.page.get_by_role(role, **named).nth(number - 1)

    def click(self, target):
        """Click what is found, or its text where that is what is drawn of it."""
        try:
            self.find(target).click()
        except Error:
            name = _read(target)[1]
            text = self.page.get_by_text(name, exact=True).last
            (text if name and text.count() else self.find(target)).click(force=True)

    def double(self, target):
        self.find(target).dblclick()

    def context(self, target):
        self.find(target).click(button="right")

    def hover(self, target):
        self.find(target).hover()

    def at(self, target):
        place, _, what = target.partition(" ")
        x, y = map(int, place.split(","))
        self.find(what).click(position={"x": x, "y": y})

    def enter(self, target):
        what, _, text = target.partition(" > ")
        self.find(what).click(force=True)
        self.page.keyboard.type(text)

    def type(self, text):
        self.page.keyboard.type(text)

    def press(self, target):
        key, _, times = target.partition(" ")
        for _ in range(int(times)):
            self.page.keyboard.press(KEYS[key])

    def keys(self, keys):
        self.page.keyboard.press("+".join(KEYS[key] for key in keys.split("+")))

    def mark(self, target):
        """Mark all of a field, or the paragraph in anything else."""
        if target.startswith("textbox"):
            self.find(target).click()
            self.page.keyboard.press("ControlOrMeta+a")
        else:
            self.find(target).click(click_count=3)

    def upload(self, target):
        with self.page.expect_file_chooser() as chooser:
            self.click(target)
        chooser.value.set_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"})

    def choose(self, target):
        what, _, option = target.partition(" > ")
        self.find(what).select_option(option)

    def scroll(self, distance):
        self.page.mouse.move(50, 100)
        self.page.mouse.wheel(0, int(distance))
        self.page.wait_for_timeout(1000)

    def drag(self, target):
        start, _, end = target.partition(" > ")
        self.find(start).hover()
        box = self.find(start).bounding_box()
        left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        if re.fullmatch(r"-?\d+,-?\d+", end):
            x, y = map(int, end.split(","))
        else:
            there = self.find(end).bounding_box()
            x, y = there["x"] - box["x"], there["y"] - box["y"]
        self.page.mouse.down()
        self.page.mouse.move(left + x, top + y, steps=10)
        self.page.wait_for_timeout(100)
        self.page.mouse.up()
