"""Actions beyond the five of the paper, each on a task that needs it, in a real Chromium."""

import json
import math
import re

import pytest
from support.in_browser import run_script

from pytest_miniwob_agent.core.actions import (
    Choose,
    Click,
    Copy,
    DoubleClick,
    Drag,
    Enter,
    Hold,
    Hover,
    Paste,
    Press,
    Release,
    Scroll,
    Select,
    Type,
)

pytestmark = pytest.mark.integration


def find(observation, **wanted):
    return next(
        one.id
        for one in observation.elements
        if all(getattr(one, name) == value for name, value in wanted.items())
    )


def do(env, *actions):
    for action in actions:
        transition = env.step(action)
        assert transition.error is None
    return transition


class TestPlaces:
    def test_a_place_can_be_hovered_over_and_clicked(self, open_page):
        env, observation = open_page("hot-cold")
        area = find(observation, dom_id="touch-area")
        signals = [
            find(do(env, Hover(area, place)).observation, dom_id="signal", text=text)
            for place, text in (((90, 60), "ICE COLD"), ((36, 20), "WARM"), ((28, 24), "HOT"))
        ]
        assert all(signals)
        assert do(env, Click(area, (28, 24))).solved

    def test_the_place_is_counted_from_the_top_left_corner(self, open_page, browser):
        env, _ = open_page("hover-shape")
        run_script(
            browser,
            "document.body.insertAdjacentHTML('beforeend', `<div id=mark style='position: fixed;"
            "left: 200.5px; top: 300px; width: 44px; height: 44px'></div>`);"
            "addEventListener('click', (e) => { seen = [e.target.id, e.clientX, e.clientY] })",
        )
        mark = find(env.step(Press("TAB")).observation, dom_id="mark")
        for x, y in ((0, 0), (43.9, 21.9)):
            do(env, Click(mark, (x, y)))
            name, *seen = run_script(browser, "return seen")
            assert name == "mark"
            assert seen == pytest.approx([200.5 + x, 300 + y], abs=1)

    def test_a_drawing_can_be_clicked_beside_its_shapes(self, open_page):
        env, _ = open_page("circle-center")  # pays by distance, at whole pixels never all
        drawing = int(re.search(r'<svg data-ref="(\d+)"', env.html())[1])
        observation = do(env, Click(drawing, (47, 69))).observation
        assert do(env, Click(find(observation, tag="button"))).reward > 0.9


class TestDrag:
    def test_a_drag_ends_at_a_place_in_another_element(self, open_page):
        env, observation = open_page("drag-items")
        assert observation.goal == "Drag Gerda to the 3rd position."
        gerda, alvera = (find(observation, text=name) for name in ("Gerda", "Alvera"))
        assert do(env, Drag(gerda, alvera, end=(10, 12))).solved

    @pytest.mark.parametrize(
        ("seed", "moved", "other"),
        [
            (242082, "Brandea", "Jeane"),
            pytest.param(893523, "Marjorie", "Patrizia", marks=pytest.mark.sweep),
            pytest.param(993903, "Bernetta", "Ebba", marks=pytest.mark.sweep),
            pytest.param(875688, "Sisile", "Hayley", marks=pytest.mark.sweep),
        ],
    )
    def test_a_drag_to_an_item_of_a_list_takes_its_place(self, page, seed, moved, other):
        env = page("drag-items-grid", seed)
        seen = env.reset()
        assert do(env, Drag(find(seen, text=moved), find(seen, text=other))).solved

    def test_a_drag_by_pixels(self, open_page):
        env, observation = open_page("draw-line")
        observation = do(env, Drag(find(observation, tag="circle"), end=(0, 35))).observation
        assert do(env, Click(find(observation, text="Submit"))).solved

    def test_what_its_list_has_scrolled_out_of_sight_is_scrolled_into_it(self, page):
        env = page("daily-calendar", 316213)
        seen = env.reset()
        start, end = (find(seen, dom_id=f"hh-{half}") for half in (18, 20))
        drawn = do(env, Drag(start, end)).observation
        assert find(drawn, text="New event")

    def test_both_ends_of_a_drag_are_scrolled_into_sight(self, open_page):
        env, observation = open_page("daily-calendar")
        noon = find(observation, dom_id="hh-23")
        assert next(e.y for e in observation.elements if e.id == noon) > 480
        drawn = do(env, Drag(find(observation, dom_id="hh-22"), noon)).observation
        assert find(drawn, text="New event")


class TestNumbers:
    def test_clicks_and_drags_of_a_narrow_field_for_numbers_keep_off_its_buttons(self, open_page):
        """The browser repeats what they do while they are held, by real time."""
        env, seen = open_page("guess-number")
        field = find(seen, dom_id="tt")
        for number in ("5", "7"):
            seen = do(env, Enter(number, field)).observation
            assert find(seen, dom_id="tt", value=number)
            do(env, Select(field), Press("BACKSPACE"))
        seen = do(env, Drag(field, find(seen, text="Submit"))).observation
        assert find(seen, dom_id="tt", value="")

    def test_a_spinner_that_takes_no_keys_but_arrows_goes_to_a_number(self, open_page, browser):
        env, seen = open_page("use-spinner")
        for number, step in (("9", 1), ("-10", 1), ("0", 1), ("-12", 3)):
            run_script(browser, "$('#spinner').spinner('option', 'step', arguments[0])", step)
            seen = do(env, Enter(number, find(seen, dom_id="spinner"))).observation
            assert find(seen, dom_id="spinner", value=number)

    def test_a_spinner_that_takes_keys_has_what_was_typed(self, open_page, browser):
        env, seen = open_page("use-spinner")
        run_script(browser, "$('#spinner').off('keydown').val('')")
        seen = do(env, Enter("4", find(seen, dom_id="spinner")), Type("2")).observation
        assert find(seen, dom_id="spinner", value="42")


class TestSelect:
    def test_a_paragraph_is_selected_in_place_of_what_was(self, open_page, browser):
        """A drag over selected text would move it."""
        env, observation = open_page("highlight-text-2")
        other = find(observation, text="Dis urna proin placerat neque,")
        for text in ("proin placerat", "urna proin", "Dis urna proin placerat neque,"):
            do(env, Select(other, text))
            assert run_script(browser, "return getSelection().toString()") == text
        number = int(re.search(r"the (\d)", observation.goal)[1])
        paragraph = [e for e in observation.elements if e.tag == "p"][number - 1]
        do(env, Select(paragraph.id))
        assert do(env, Click(find(observation, text="Submit"))).solved

    def test_text_in_a_field_is_selected(self, open_page, browser):
        env, observation = open_page("copy-paste")
        field = find(observation, dom_id="to-copy")
        for text, marked in (("aliquam", [10, 17]), ("Facilisis", [0, 9]), (None, [0, 72])):
            do(env, Select(field, text))
            assert (
                run_script(
                    browser,
                    "const { selectionStart, selectionEnd } = document.activeElement;"
                    "return [selectionStart, selectionEnd]",
                )
                == marked
            )
        letters = "\U0001f600 e\u0301"  # of several code units
        do(env, Enter(f"a\n{letters}b", field), Select(field, letters), Copy(), Press("DELETE"))
        pasted = do(env, Paste()).observation
        assert letters in next(e.value for e in pasted.elements if e.id == field)


def test_a_double_click_selects_a_word(open_page, browser):
    """No task listens to double clicks; in the text editor they select words."""
    env, observation = open_page("text-editor", 3)
    text = next(e for e in observation.elements if e.tag == "p")
    do(env, DoubleClick(text.id, (12, 8)))
    marked = run_script(browser, "return getSelection().toString()")
    assert marked.strip() == text.text.split()[0].strip(".,")


class TestScroll:
    def test_scrolling_to_the_end_enables_a_field(self, open_page):
        env, observation = open_page("sign-agreement", 3)
        name = re.search('"(.+?)"', observation.goal)[1]
        field = find(observation, dom_id="name")
        refused = env.step(Enter(name, field))
        assert refused.error == f"the field with id={field} has not taken the text"
        assert find(refused.observation, id=field, value="")
        do(env, Scroll(find(observation, tag="textarea"), 10_000), Enter(name, field))
        assert do(env, Click(find(observation, text="Cancel"))).solved


class TestChoose:
    def test_an_option_of_a_closed_list_is_chosen_past_disabled_and_hidden_ones(
        self, open_page, browser
    ):
        env, observation = open_page("choose-list")
        name = re.search("Select (.+?) from", observation.goal)[1]
        options = "document.querySelector('select').options"
        run_script(browser, f"{options}[1].disabled = true; {options}[2].hidden = true")
        chosen = do(env, Choose("Bobine", find(observation, tag="select"))).observation
        assert find(chosen, tag="select", value="Bobine")
        refused = env.step(Choose("Nobody", find(observation, tag="select")))
        assert refused.error == (
            'the list with id=1 has no option "Nobody"; it has "Aurora", "Emlynn", "Lorri", '
            '"Bobine", "Jyoti"'
        )
        assert refused.observation == chosen
        do(env, Choose(name, find(observation, tag="select")))
        assert do(env, Click(find(chosen, text="Submit"))).solved


CUT = Hold("CTRL"), Type("x"), Release("CTRL")


class TestClipboard:
    def test_copied_text_is_pasted(self, open_page, browser):
        env, observation = open_page("copy-paste-2")
        number = re.search(r"the (\d)", observation.goal)[1]
        run_script(
            browser,
            "seen = []; for (const type of ['copy', 'paste', 'input'])"
            "addEventListener(type, (e) => seen.push([type, e.isTrusted]), true)",
        )
        do(env, Select(find(observation, dom_id=f"text-{number}")), Copy())
        do(env, Click(find(observation, dom_id="answer-input")), Paste())
        seen = run_script(browser, "return seen")
        assert sorted(seen) == [["copy", True], ["input", True], ["paste", True]]
        assert do(env, Click(find(observation, text="Submit"))).solved

    def test_text_outside_a_field_can_not_be_cut_and_is_gone_with_its_page(self, open_page):
        env, observation = open_page("highlight-text")
        do(env, Select(find(observation, dom_id="randomText"), "urna proin"), *CUT)
        assert env.step(Paste()).error == "nothing was copied"
        do(env, Copy())
        env, observation = open_page("copy-paste")
        field = find(observation, dom_id="answer-input")
        do(env, Click(field))
        assert env.step(Paste()).error == "nothing was copied"

    def test_cut_text_is_pasted_and_never_reaches_the_clipboard_of_the_machine(
        self, open_page, browser
    ):
        env, observation = open_page("copy-paste")
        field, line = (find(observation, dom_id=name) for name in ("to-copy", "answer-input"))
        run_script(
            browser,
            "seen = []; for (const type of ['cut', 'input'])"
            "document.addEventListener(type, (e) =>"
            "seen.push([type, e.isTrusted, e.defaultPrevented]))",
        )
        do(env, Select(field), Press("DELETE"), Enter("one two", field), Select(field))
        run_script(browser, "seen.length = 0")
        cut = do(env, *CUT).observation
        assert find(cut, id=field, value="")
        seen = run_script(browser, "return seen")
        assert sorted(seen) == [["cut", True, True], ["input", True, False]]
        pasted = do(env, Click(line), Paste()).observation
        assert find(pasted, id=line, value="one two")
        do(env, Enter("a\nb", field), Select(field), Copy())
        pasted = do(env, Select(line), Paste(), Paste()).observation
        assert find(pasted, id=line, value="a ba b")  # lines become one in a field of one line

    def test_a_password_can_neither_be_copied_nor_cut(self, open_page):
        env, observation = open_page("enter-password")
        field = find(observation, dom_id="password")
        do(env, Enter("secret", field), Select(field))
        assert env.step(Copy()).error == "no text is selected"
        kept = do(env, *CUT).observation
        assert find(kept, id=field, value="secret")
        assert env.step(Paste()).error == "nothing was copied"


class TestErrors:
    """On `highlight-text-2` and its first paragraph, 136 x 11 pixels."""

    def test_an_impossible_action_is_an_error_and_changes_nothing(self, open_page):
        env, before = open_page("highlight-text-2")
        for action, error in (
            (Click(2, (136, 5)), r"the place 136,5 is not inside .*, which is 136 x \d+ pixels"),
            (Hover(2, (-1, 5)), "the place -1,5 is not inside"),
            (DoubleClick(2, (5, 1e9)), "there is no such place"),
            (Click(2, (math.nan, 5)), "there is no such place"),
            (Click(2, (5, math.inf)), "there is no such place"),
            (Click(2, (10**400, 5)), "there is no such place"),
            (Drag(2, 3, (1, 1), (500, 1)), "the place 500,1 is not inside the element with id=3"),
            (Drag(2, end=(600, 0)), "the drag would end outside the page's 640 x 480 pixels"),
            (Drag(2, end=(math.nan, 0)), "a drag can't begin or end there"),
            (Select(2, "no such words"), 'has no text "no such words" that can be selected'),
            (Select(2, ""), 'has no text "" that can be selected'),
            (Select(2, "\ud800"), 'has no text "\ufffd" that can be selected'),
            (Select(2, "x" * 100_000), "has no text .* that can be selected"),
            (Select(1), "id=1 has no text that can be selected"),  # it would be pressed
            (Scroll(2, 0), "a wheel can't be turned by 0 pixels"),
            (Scroll(2, 10**400), "a wheel can't be turned by 1000"),
            (Scroll(2, math.nan), "a wheel can't be turned by nan"),
            (Choose("\ud800", 2), "the element with id=2 is no drop-down list"),
            (Choose("x", 2), "the element with id=2 is no drop-down list"),
            (Copy(), "no text is selected"),
            (Paste(), "nothing was copied"),
        ):
            transition = env.step(action)
            assert re.search(error, transition.error)
            assert transition.observation == before
        do(env, Hold("CTRL"))
        assert env.step(Select(2)).error == "release CTRL first"
        do(env, Release("CTRL"), Select(2))

    def test_an_element_that_changed_since_it_was_read_is_an_error(self, open_page, browser):
        for change, error, actions in (
            ("style.display = 'none'", "sight", [Select(2), Click(2, (1, 1)), Drag(2, 3)]),
            ("style.userSelect = 'none'", "id=2 has no text that can be selected", [Select(2)]),
            ("remove()", "id=2 can't be brought into sight", [Select(2), Drag(3, 2)]),
        ):
            env, _ = open_page("highlight-text-2")
            run_script(browser, f"document.querySelector('#randomText p').{change}")
            for action in actions:
                env._points[2] = None  # as in the instant before it is read again
                assert error in env.step(action).error


class TestIsolation:
    def test_an_action_leaves_nothing_for_the_next_trial(self, open_page, browser):
        env, first = open_page("highlight-text-2")
        count = "return document.querySelectorAll(':hover').length + getSelection().toString()"
        for actions in (
            [Hover(2), Drag(2, 3)],
            [Scroll(2, 50), Select(2)],
            [DoubleClick(2, (5, 5))],
        ):
            do(env, *actions)
            assert env.reset() == first
            run_script(
                browser, "addEventListener('mousemove', (e) => { buttons = e.buttons }, true)"
            )
            assert run_script(browser, count) == "0"
            do(env, Hover(3))
            assert run_script(browser, "return buttons") == 0


def test_actions_work_in_the_frame_of_a_flight_task(open_page):
    env, observation = open_page("flight.Alaska-auto-medium", 1000)
    assert json.loads(observation.goal)
    field = find(observation, dom_id="geo-from")
    written = do(env, Enter("Phoenix", field), Select(field), Copy(), Press("DELETE"), Paste())
    assert find(written.observation, id=field, value="Phoenix")
