"""An action that has come to nothing of what it was for is an error."""

import re
from dataclasses import replace

import pytest
from support.own_pages import TASK

from pytest_miniwob_agent import (
    Choose,
    Click,
    Copy,
    DoubleClick,
    Drag,
    Enter,
    Hover,
    Paste,
    Press,
    Select,
    Type,
)

from .bodies import Bodies

pytestmark = pytest.mark.integration


def tried(pages, browser, cases):
    """Of each body and action, the error, with ids as on a page of its own, and whether all has
    its value still."""
    shown = Bodies(pages, browser)
    for body, action in cases:
        before = shown.show(body).elements
        others = next(one.id for one in before if one.id) - 1
        if hasattr(action, "element"):
            action = replace(action, element=others + action.element)
        done = shown.env.step(action)
        values = [[one.value for one in part] for part in (before, done.observation.elements)]
        numbers = re.split(r"(?<=id=)(\d+)", done.error or "")
        numbers[1::2] = (str(int(number) - others) for number in numbers[1::2])
        yield "".join(numbers), values[0] == values[1]


COVER = "<div class=veil style='position: fixed; inset: 0'></div>"
FOCUSED = "the field that has the focus has not taken the text"
UNTAKEN = "the field with id=1 has not taken the text"


def stacked(body):
    return f"""<style>.over {{ position: absolute; inset: 0; width: 100% }}</style>
        <div style="position: relative; width: 200px">{body}</div><p id=out></p>"""


COVERING = "<button class=over onclick=\"out.textContent = 'B'\">B</button>"

ROOM = "<div style='height: 1000px'></div>"

VAIN = [
    (
        f"<button>B</button>{COVER}",
        Click(1), 'the click went to what covers the element with id=1: div "veil"',
    ),
    (
        f"<iframe srcdoc='<button>B</button>'></iframe>{COVER}",
        Click(2), "the click went to what covers the frame of the element with id=2",
    ),
    (
        f"{ROOM}<button>B</button>{ROOM}{COVER}",
        Click(1), 'the click went to what covers the element with id=1: div "veil"',
    ),
    ("<p>Text</p>", Enter("x", 1), "the element with id=1 takes no text"),
    ("<p>Text</p>", Type("x"), "no field has the focus"),
    ("<input id=f readonly><script>f.focus()</script>", Type("x"), FOCUSED),
    ("<input readonly>", Enter("x", 1), UNTAKEN),
    ("<input disabled>", Enter("x", 1), UNTAKEN),
    ("<input maxlength=2 value=ab>", Enter("c", 1), UNTAKEN),
    ("<input type=number>", Enter("abc", 1), UNTAKEN),
    ("<input oninput=\"value = value.replace(/\\D/g, '')\">", Enter("x", 1), UNTAKEN),
    ("<textarea onkeydown=\"event.preventDefault()\"></textarea>", Enter("x", 1), UNTAKEN),
    ("<div contenteditable onbeforeinput=\"return false\">a</div>", Enter("x", 1), UNTAKEN),
    ("<input type=color oninput=\"value = '#000000'\">", Enter("#00cc88", 1), UNTAKEN),
    ("<input type=date oninput=\"value = ''\">", Enter("2024-02-29", 1), UNTAKEN),
    (
        "<input onmousedown=\"event.preventDefault()\">",
        Click(1), "the field with id=1 has not got the focus",
    ),
    (
        "<input type=checkbox onclick=\"event.preventDefault()\">",
        Click(1), "the element with id=1 is still not checked",
    ),
    (
        "<div role=switch aria-checked=true tabindex=0>On</div>",
        Click(1), "the element with id=1 is still checked",
    ),
    (
        "<input type=radio onclick=\"return false\">",
        Click(1), "the element with id=1 is still not checked",
    ),
    ("<button disabled>B</button>", Click(1), "the element with id=1 is disabled"),
    ("<button aria-disabled=true>B</button>", DoubleClick(1), "the element with id=1 is disabled"),
    (
        """<form><x-in></x-in><button>Go</button></form><script>
          customElements.define("x-in", class extends HTMLElement {
            static formAssociated = true;
            connectedCallback() {
              const root = this.attachShadow({ mode: "open", delegatesFocus: true });
              root.innerHTML = "<input placeholder=Nick>";
              this.attachInternals().setValidity({ customError: true }, "No.", root.firstChild);
            }
          });
        </script>""",
        Click(2), 'textbox "Nick" id=1 is not valid',
    ),
    (
        "<select onchange=\"selectedIndex = 0\"><option>A<option>B</select>",
        Choose("B", 1), 'the list with id=1 still has "A"',
    ),
    *(
        (
            stacked(
                f"<label><input type={kind} style='opacity: 0; pointer-events: none'>Wifi</label>"
                "<div class=over role=option>B</div>"
            ),
            Click(1), 'the element with id=1 is covered by option "B" id=2',
        )
        for kind in ("checkbox", "radio")
    ),
]  # fmt: skip


def test_a_form_that_is_not_sent_says_why(pages):
    env, seen = pages.show(
        """<form><input required placeholder=Name><input type=email value=x><button>Send</button>
        </form><script>
          const form = document.querySelector("form");
          form.onsubmit = (event) => event.preventDefault();
          document.querySelector("button").insertAdjacentHTML(
            "afterend", "<button type=button onclick=form.checkValidity()>Check</button>");
          const task = { goal: "Send it.", reward: () => 0 };
        </script>""",
        screen="tree",
    )
    name, mail, send, check = (one.id for one in seen.elements)
    assert env.step(Click(check)).error is None
    fill = f'textbox "Name" id={name} is not valid: "Please fill out this field."'
    assert env.step(Click(send)).error == env.step(Press("ENTER")).error == fill
    assert env.step(Enter("Ann", name)).error is None
    assert f"textbox id={mail} is not valid: " in env.step(Click(send)).error
    assert env.step(Enter("@y.z", mail)).error is None
    assert env.step(Click(send)).error is None


def test_a_form_in_a_frame_that_is_not_sent_with_a_key_says_why(pages):
    form = "<form><input required placeholder=Name></form>"
    env, _ = pages.show(f"{TASK}<iframe srcdoc='{form}'></iframe>", screen="tree")
    env.step(Click(2))
    error = 'textbox "Name" id=2 is not valid: "Please fill out this field."'
    assert env.step(Press("ENTER")).error == error
    assert env.step(Press("HOME")).error is None


def test_what_has_come_to_nothing_is_an_error(pages, browser):
    found = tried(pages, browser, (case[:2] for case in VAIN))
    assert list(found) == [(error, True) for *_, error in VAIN]


def test_a_control_below_another_one_is_not_hit_at_all(pages):
    env, _ = pages.show(TASK + stacked(f"<input>{COVERING}"), screen="compact")
    for action in (
        Click(1), Click(1, at=(5, 5)), DoubleClick(1), Hover(1), Drag(1, end=(50, 0)), Enter("x", 1)
    ):  # fmt: skip
        done = env.step(action)
        assert done.error == 'the element with id=1 is covered by button "B" id=2'
        assert "B" not in [one.text for one in done.observation.elements if one.tag != "button"]


EFFECTIVE = [
    ("<label>Name <input></label>", Enter("x", 1)),
    ("<input value=5 onfocus=select()>", Enter("5", 1)),
    ("<input onchange=\"value = ''\">", Enter("x\n", 1)),
    ("<input id=f><script>f.focus()</script>", Type("x")),
    ("<input type=radio checked>", Click(1)),
    ("<select><option>A<option>B</select>", Choose("A", 1)),
    ("<label><input type=checkbox style='opacity: 0'><b>Drawn</b></label>", Click(1)),
    ('<button onclick="out.textContent = 1">B</button><p id=out></p>', Click(1)),
    ("<button onclick=remove()>B</button>", Click(1)),
    ("<p>Text</p>", Click(1)),
    (
        f"<button>B</button>{COVER}<script>onclick = () => document.body.append('!')</script>",
        Click(1),
    ),
    ("<canvas></canvas><script>onkeydown = () => {}</script>", Type("x")),
    (
        '<input onkeydown="event.preventDefault(); out.textContent = 1"><p id=out></p>',
        Enter("x", 1),
    ),
    (stacked("<label for=a class=over>L</label><input type=checkbox id=a>"), Click(1)),
    (
        stacked(
            f"<button>A</button>{COVERING.replace('class=over', 'class=over style=opacity:0')}"
        ),
        Click(1),
    ),
    (stacked(f"<span>A</span>{COVERING}"), Click(1)),
    (stacked(f"<div tabindex=0 role=button>A {COVERING}</div>"), Click(1)),
    (
        stacked(f"<button style='width: 300px; margin-right: -100px'>A</button>{COVERING}"),
        Click(1),
    ),
]
"""The last five: what stands for a control, or is over it, is hit."""


def test_what_has_come_to_something_is_none(pages, browser):
    found = tried(pages, browser, EFFECTIVE)
    assert [error for error, _ in found] == [""] * len(EFFECTIVE)


def test_a_field_that_takes_no_copied_text_says_so(pages):
    env, _ = pages.show(f"{TASK}<input value=a><input readonly>", screen="tree")
    for action in (Select(1), Copy(), Click(2)):
        assert env.step(action).error is None
    assert env.step(Paste()).error == FOCUSED


@pytest.mark.parametrize("screen", ["compact", "full"])
def test_other_screens_say_so_too(pages, screen):
    env, _ = pages.show(
        f'{TASK}<input type=checkbox onclick="event.preventDefault()">', screen=screen
    )
    assert "still not checked" in env.step(Click(1)).error


def test_the_first_version_of_screens_says_nothing(pages):
    env = pages.make(f"{TASK}<input readonly>")
    env.screen_version = 1
    env.reset(screen="tree")
    assert env.step(Enter("x", 1)).error is None


GROUPS = """
<select onchange="out.textContent = value">
  <optgroup label=Shapes><option value=round>Pear</optgroup>
  <optgroup label=Fruit><option>Apple<option value=ripe>Pear</optgroup>
  <option value=first>Plum<option value=second>Plum
</select><p id=out>.</p>"""


def test_options_of_one_name_are_told_apart(pages):
    env, seen = pages.show(TASK + GROUPS, screen="tree")
    options = "Shapes: Pear | Fruit: Apple | Fruit: Pear | Plum (1) | Plum (2)"
    assert dict(seen.elements[0].details)["options"] == options
    assert env.step(Choose("Pear", 1)).error == (
        'the list with id=1 has several options "Pear": "Shapes: Pear", "Fruit: Pear"'
    )
    for name, value in {"Fruit: Pear": "ripe", "Plum (2)": "second", "Apple": "Apple"}.items():
        assert env.step(Choose(name, 1)).observation.elements[-1].text == value
