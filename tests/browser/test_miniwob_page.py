"""The MiniWoB++ page in a real Chromium: reading it, acting on it, and separate trials."""

import math
import time

import pytest
from lxml import html
from support.in_browser import run_script

from pytest_miniwob_agent import render
from pytest_miniwob_agent.core.actions import (
    Click,
    ClickAt,
    DragFrom,
    Enter,
    Hold,
    HoverAt,
    Press,
    Release,
    Type,
    Wait,
)
from pytest_miniwob_agent.core.observations import Transition

pytestmark = pytest.mark.integration


def find(observation, **wanted):
    [found] = [
        one
        for one in observation.elements
        if all(getattr(one, name) == value for name, value in wanted.items())
    ]
    return found


class TestReading:
    def test_elements_that_an_action_shows_are_not_read_before_it(self, page):
        env = page("social-media")
        before = env.reset()
        assert "Share via DM" not in render(before.elements) + env.html()
        more = next(element for element in before.elements if element.classes == "more")
        after = env.step(Click(more.id)).observation
        assert find(after, text="Share via DM").tag == "li"

    def test_shrunk_text_is_not_read(self, page):
        """Its boxes have 1 or 2 pixels, in one browser other ones than in another."""
        read = [(element.tag, element.text) for element in page("click-pie", 1001).reset().elements]
        assert read == [("path", ""), ("tspan", "+")]

    def test_specks_without_text_or_use_are_not_read(self, page, browser):
        env = page("click-test")
        before = env.reset().elements
        run_script(
            browser,
            """
            const small = 'display: block; padding: 0; border: 0; width: 2.2px; ';
            document.querySelector("#area").insertAdjacentHTML("beforeend",
              `<i style="${small} height: 2.4px"></i><i style="${small} height: 3px"></i>
               <i style="${small} height: 2px">some text</i>
               <button style="${small} height: 2px"></button>
               <b style="display: block; width: 40px; height: 1.4px"></b>`);
            """,
        )
        after = env.step(Press("HOME")).observation.elements
        read = [(element.tag, element.text) for element in after[len(before) :]]
        assert read == [("i", ""), ("i", "some text"), ("button", "")]

    def test_a_form_field_has_its_current_value_and_its_placeholder(self, page):
        env = page("email-inbox")
        opened = env.step(Click(find(env.reset(), dom_id="open-search").id)).observation
        field = next(element for element in opened.elements if element.placeholder)
        assert field.value == ""
        written = env.step(Enter("Cathrine", field.id)).observation
        assert find(written, id=field.id).value == "Cathrine"

    def test_html_has_the_visible_elements_with_their_current_values(self, page):
        env = page("login-user")
        names = {element.dom_id: element.id for element in env.reset().elements}
        env.step(Enter('<a> & "b"', names["username"]))
        shown = html.fromstring(env.html())
        (field,) = shown.xpath('//input[@id="username"]')
        assert field.get("value") == '<a> & "b"'
        assert field.get("data-ref") == str(names["username"])
        assert shown.xpath("//label/text()") == ["Username", "Password"]
        assert not shown.xpath("//script | //style | //*[@id='query' or @id='reward-display']")
        assert not shown.xpath("//@style | //@onclick")
        env = page("choose-list")
        env.reset()
        options = html.fromstring(env.html()).xpath("//select/option")
        assert len(options) > 2
        assert [option.get("selected") for option in options].count("") == 1

    def test_an_action_can_name_every_element_in_the_html(self, page):
        env = page("click-checkboxes")
        seen = env.reset()
        assert not [one for one in seen.elements if one.value is True]
        (label, *_) = html.fromstring(env.html()).xpath("//label[@data-ref]")
        inside = label.find("input").get("data-ref")
        ticked = env.step(Click(int(label.get("data-ref")))).observation
        assert find(ticked, value=True).tag == "input_checkbox"
        assert html.fromstring(env.html()).xpath("//input[@checked]/@data-ref") == [inside]

    def test_reading_html_changes_no_ids(self, page):
        env = page("click-tab-2")
        plain = env.reset()
        env.reset()
        env.html()
        assert env.step(Press("HOME")).observation == plain

    def test_ids_are_kept_for_a_trial(self, page):
        env = page("click-collapsible-2")
        before = env.reset()
        after = env.step(Click(1)).observation
        texts = {element.id: element.text for element in after.elements}
        for element in before.elements:
            assert texts[element.id] == element.text


class TestActing:
    def test_ctrl_selects_several_entries_of_a_native_list(self, page):
        env = page("click-scroll-list", 1000)
        options = {e.text: e.id for e in env.reset().elements if e.tag == "option"}
        assert len(options) == 10  # the last ones are below the list's lower edge
        names = list(options)
        for action in (Hold("CTRL"), Click(options[names[0]]), Click(options[names[-1]])):
            env.step(action)
        observation = env.step(Release("CTRL")).observation
        assert {e.text for e in observation.elements if e.value is True} == {names[0], names[-1]}

    def test_elements_outside_the_viewport_can_be_clicked_and_are_read_alike(self, page, browser):
        env = page("social-media-all", 1001)
        before = env.reset()
        last = [element for element in before.elements if element.classes == "like"][-1]
        submit = find(before, text="Submit")
        assert submit.y > 480
        name = [element for element in before.elements if element.classes == "name"][-1]
        after = env.step(Click(name.id)).observation
        assert run_script(
            browser,
            "return [...document.querySelectorAll('*')].some((element) => element.scrollTop > 0)",
        )
        assert render(after.elements) == render(before.elements)
        assert not env.step(Click(last.id)).done
        assert env.step(Click(submit.id)).done

    def test_delays_and_animations_are_over_when_the_page_is_read(self, page, browser):
        env = page("use-autocomplete")
        field = find(env.reset(), tag="input_text")
        listed = env.step(Enter("Ce", field.id)).observation
        assert "Central African Republic" in render(listed.elements)
        env = page("click-collapsible-2")
        env.reset()
        env.step(Click(1))
        assert run_script(browser, "return $(':animated').length") == 0

    def test_an_impossible_action_is_an_error_in_the_transition(self, page):
        env = page("click-menu-2")
        before = env.reset()
        for action, error in (
            (Release("CTRL"), "CTRL is not held"),
            (Press("F5"), "there is no key F5"),
            (Hold("META"), "there is no key META"),
            (Press("ENTER", 101), "a key can be pressed 1 to 100 times, not 101"),
            (Press("ENTER", 0), "a key can be pressed 1 to 100 times, not 0"),
            (ClickAt((700, 5)), "the point 700,5 is outside the page's 640 x 480 pixels"),
            (HoverAt((5, math.nan)), "the point 5,nan is outside the page's 640 x 480 pixels"),
            (DragFrom(((5, 5),)), "a drag has 2 to 100 points"),
            (Wait(61), "time can pass for up to 60 seconds, not for 61"),
            (Wait(0), "time can pass for up to 60 seconds, not for 0"),
            (Type("\x00"), "no key types the character U+0000"),
            (Type("a\ud800"), "no key types the character U+D800"),
            (Enter("\ue009a", 1), "no key types the character U+E009"),
            (Enter("x" * 2001, 1), "a text can have 2000 characters, not 2001"),
        ):
            assert env.step(action) == Transition(before, error=error)
        assert env.step(Click(1)).error is None

    @pytest.mark.parametrize("change", ["disabled = true", "style.display = 'none'"])
    def test_a_field_that_can_not_be_used_any_more_has_no_focus(self, page, browser, change):
        """Chromium takes the focus away with its next frame, before or after the screen is read."""
        page("enter-text", 1).reset()
        focused = browser.call(
            "(() => { const field = document.getElementById('tt'); field.focus();"
            "const before = miniwobAgent.focused();"
            f"field.{change}; return [before, miniwobAgent.focused()]; }})"
        )
        assert focused == [1, None]

    def test_any_text_is_typed_and_goes_to_the_element_with_the_focus(self, page):
        env = page("enter-text")
        field = find(env.reset(), tag="input_text")
        env.step(Type("lost"))
        written = env.step(Enter("", field.id))
        assert written.error is None
        for text in ("ab", "\u00fc \u20ac \u6f22", "\U0001f600 e\u0301"):
            written = env.step(Type(text))
            assert written.error is None
        assert find(written.observation, id=field.id).value == (
            "ab\u00fc \u20ac \u6f22\U0001f600 e\u0301"
        )

    def test_the_reward_is_that_of_the_page(self, page):
        env = page("click-checkboxes", 1000)
        submit = find(env.reset(), text="Submit")
        assert env.step(Click(submit.id)).solved  # "Select nothing"
        env = page("click-checkboxes", 1)
        submit = find(env.reset(), text="Submit")
        failed = env.step(Click(submit.id))
        assert failed.done
        assert not failed.solved
        assert failed.observation.elements == ()


class TestFlights:
    def test_a_list_that_is_loaded_late_is_read(self, page):
        env = page("flight.AA")
        field = find(env.reset(), dom_id="segments0.destination")
        listed = env.step(Enter("Boston", field.id)).observation
        assert any("BOS" in element.text for element in listed.elements)

    def test_time_passes_in_the_frame_for_a_person_too(self, page, browser):
        env = page("flight.AA")
        env.reset()
        now = "return document.querySelector('iframe').contentWindow.performance.now()"
        before = run_script(browser, now)
        env.live(0.5)
        assert run_script(browser, now) == before + 500

    def test_leaving_the_page_ends_the_trial(self, page):
        env = page("flight.AA")
        first = env.reset()
        away = env.step(Click(find(first, text="Full site").id))
        assert (away.done, away.reward) == (True, -1)
        assert env.reset() == first


class TestIsolation:
    def test_a_page_that_asks_before_it_is_left_is_left(self, page, browser):
        env = page("click-test-2")
        first = env.reset()
        env.step(Click(first.elements[-1].id))  # only pages that somebody has used may ask
        run_script(browser, "onbeforeunload = (event) => event.preventDefault()")
        assert env.reset() == first

    def test_held_keys_are_released_at_the_next_trial(self, page):
        env = page("click-scroll-list")
        env.reset()
        env.step(Hold("CTRL"))
        env.reset()
        env.step(Click(1))
        observation = env.step(Click(2)).observation
        assert [e.id for e in observation.elements if e.value is True] == [2]

    def test_the_clock_is_frozen(self, page, browser):
        page("click-button").reset()
        read = "return [Date.now(), new Date().getTimezoneOffset(), navigator.language]"
        first = run_script(browser, read)
        time.sleep(0.05)
        assert run_script(browser, read) == first
        page("click-link").reset()
        assert run_script(browser, read) == first
        assert first[1:] == [0, "en-US"]
