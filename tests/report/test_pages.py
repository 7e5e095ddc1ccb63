"""The pages of a report of made-up outcomes, in a real Chromium."""

from dataclasses import replace

import pytest
from selenium.webdriver import Keys
from support.made_report import HOSTILE, UNSEEN, made_up, without_result

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.chat import Message, ToolCall
from pytest_miniwob_agent.core.events import Called, Completion, Remark
from pytest_miniwob_agent.core.grades import Grade
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.plugins.report.folder import Report

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_complaints")]


def test_items_are_filtered_opened_stepped_through_and_linked(window, made):
    window.open(made)
    assert window.texts(".figure strong") == ["75%"]
    assert len(window.shown(".items tbody tr")) == len(window.shown("a.cell")) == 6
    for status, count in (("solved", 3), ("", 6), ("unsolved", 1)):
        window.find(f'[data-status="{status}"]').click()
        window.wait(lambda count=count: len(window.shown(".items tbody tr")) == count)
    assert window.texts("a.cell") == ["×"]
    assert window.texts("#found") == ["1 of 6 items"]
    window.find(".items tbody a").click()
    window.wait(lambda: window.shown("#item h1"))
    assert window.texts("#item h1") == ["click-pie 7"]
    assert window.texts(".steps h2") == ["Trial 1, action 0"]
    assert window.shown(".stage .marks rect")
    assert window.texts(".typed") == ["click id=1"]
    window.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    window.wait(lambda: window.texts(".steps h2") == ["Trial 1, action 2"])
    assert window.place == "#/item/n-screen-n-step/click-pie/7/1/2"
    assert window.texts(".action") == ["click id=1"]
    assert window.texts(".result") == ["The page judged: reward \N{MINUS SIGN}1"]
    assert window.shown(".stage .marks polyline")
    window.press(Keys.ARROW_RIGHT)
    window.wait(lambda: window.texts(".steps h2") == ["Trial 1, end"])
    window.press(Keys.ARROW_RIGHT)
    window.wait(lambda: window.texts(".reflection h3"))
    enforced = "click id=1, as action 2 of this trial"
    assert window.texts(".reflection dd") == ["Not click id=1", enforced, "clicks on id=1"]
    window.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    window.wait(lambda: window.texts(".action") == ["click id=1"])
    place = window.place
    window.find(".path a").click()
    window.wait(lambda: len(window.shown(".items tbody tr")) == 1)
    assert window.place == "#/?status=unsolved"
    window.open(made, place)  # as somebody who was sent the link
    assert window.texts(".steps h2") == ["Trial 1, action 2"]
    assert window.find('.frame[aria-current="step"]').get_attribute("href").endswith(place)


def test_an_item_without_a_result_shows_the_reason_and_how_to_get_pictures(window, made):
    window.open(made, "#/item/1-screen-1-step/click-test/1000")
    assert window.texts(".badge") == ["drifted"]
    assert window.texts(".reason .minus") == ["- old"]
    command = '-k "click-test/1000" --miniwob-report=DIR --miniwob-trace=on'
    assert window.texts(".without code") == [command]
    assert window.texts(".frame .caption")[0].startswith("0 enter")
    window.look_like(390, "dark")
    assert window.violations() == []
    assert window.wide() == 390
    window.open(made, "#/item/n-screen-n-step/click-pie/8")
    assert window.texts(".reason pre") == ["no disk"]


def test_an_item_that_graders_and_its_test_object_to_shows_why(window, tmp_path):
    outcome = made_up(Case("shop", "apps", 1), None)
    judge = "gpt, compared with no labels of people"
    grades = (Grade(1.0, "", "calm", judge), Grade(0.5, "no please", "polite"))
    result = replace(outcome.result, grades=grades, assertion="assert calls < 3")
    Report(tmp_path).write([replace(outcome, result=result)], judged=False)
    window.open(tmp_path, "#/item/apps/shop/1")
    assert window.texts(".reason h2") == ["Why it is unsolved"]
    assert window.texts(".reason pre") == ["polite: failed with 0.5, no please; assert calls < 3"]
    assert window.texts(".grades dt") == ["passed", "0.5"]
    assert window.texts(".grades dd") == [f"calm\n\njudged by {judge}", "polite\n\nno please"]
    assert window.violations() == []


def test_an_item_leads_to_its_twins(window, tmp_path):
    tasks = ("shop", "shop~overlay", "shop~late", "shop-2")
    cases = [Case(task, "apps", seed) for task in tasks for seed in (1, 2)]
    Report(tmp_path).write([made_up(case) for case in cases], judged=False)
    window.open(tmp_path, "#/item/apps/shop~overlay/1")
    assert sorted(window.texts(".path .twin")) == ["shop", "shop~late"]
    window.find('.twin[title="apps/shop/1"]').click()
    window.wait(lambda: sorted(window.texts(".path .twin")) == ["shop~late", "shop~overlay"])


def test_a_missing_item_and_an_unfinished_report_say_so(window, made, tmp_path):
    window.open(made, "#/item/../../etc")
    assert window.texts("#trouble") == ["There is no item ../../etc in this report."]
    Report(tmp_path).prepare()
    window.open(tmp_path)
    assert "has not finished" in window.find("#trouble").text


def test_the_theme_can_be_chosen_and_is_remembered(window, made):
    window.open(made)
    colour = "return getComputedStyle(document.documentElement).backgroundColor"
    light = window.driver.execute_script(colour)
    window.find("#theme").click()
    window.find("#theme").click()
    assert window.find("#theme").text == "Theme: dark"
    dark = window.driver.execute_script(colour)
    assert dark != light
    window.open(made)
    assert window.driver.execute_script(colour) == dark
    window.find("#theme").click()
    assert window.driver.execute_script(colour) == light


def test_the_keyboard_alone_is_enough(window, made):
    window.open(made)
    window.press(Keys.TAB, Keys.ENTER)  # past the head of the page
    window.wait(lambda: window.driver.switch_to.active_element.get_attribute("id") == "main")
    link = window.find(".items tbody a")
    window.driver.execute_script("arguments[0].focus()", link)
    window.press(Keys.ENTER)
    window.wait(lambda: window.shown("#item h1"))
    assert window.driver.switch_to.active_element.tag_name == "h1"
    window.press(Keys.ARROW_RIGHT)
    window.wait(lambda: window.find("#said").text != "")
    window.driver.back()
    window.wait(lambda: window.shown("#overview h2"))
    assert window.driver.switch_to.active_element == link


def test_focus_stays_where_two_changes_of_the_address_are_told_late(window, made):
    window.open(made)
    window.find(".items tbody a").click()
    window.wait(lambda: window.shown("#item h1"))
    told = "addEventListener('hashchange', () => { told = (window.told ?? 0) + 1; });"
    window.driver.execute_script(
        told + "location.replace(location.hash + '/1/1'); location.hash = '#/'"
    )
    window.wait(lambda: window.driver.execute_script("return window.told") == 2)
    assert window.driver.switch_to.active_element == window.find(".items tbody a")


def test_text_of_pages_and_models_never_becomes_markup_or_script(window, tmp_path):
    case = Case("click-test", "1-screen-1-step", 1)
    outcome = made_up(case, None, goal=HOSTILE, text=HOSTILE, trials=2)
    events = list(outcome.history)
    events.insert(1, Remark(HOSTILE, HOSTILE, 1, 0))
    outcome = replace(outcome, episode=replace(outcome.episode, events=tuple(events)))
    texts = {"message": HOSTILE, "error": HOSTILE, "model": HOSTILE}
    other = without_result(replace(case, seed=2), Status.ERROR, prompts={HOSTILE: HOSTILE}, **texts)
    Report(tmp_path).write([outcome, other], judged=False)
    places = ["#/", "#/item/1-screen-1-step/click-test/2", f"#/{HOSTILE[:25]}"]
    places += [f"#/item/{case.id}/{step}" for step in ("2/0", "1/0")]
    for place in places:
        window.open(tmp_path, place)
        foreign = window.driver.execute_script(
            "return document.querySelectorAll('img, iframe, object, embed, form[action],"
            ' script:not([src]), a:not([href^="#"])\').length'
        )
        assert foreign == 0, place
        found = window.driver.execute_script("return document.body.textContent")
        assert not set(found) & set(UNSEEN)
    assert "<script>alert(1)</script>" in window.find("#item > .goal").text
    window.find(".prompt summary").click()
    asked = window.find("pre.asked").text
    assert "[U+202E]back" in asked
    assert "".join(f"[U+{ord(char):04X}]" for char in UNSEEN) + "." in asked


@pytest.mark.sweep
def test_an_accessibility_checker_finds_nothing_in_the_overview(window, made):
    window.look_like(390, "dark")
    window.open(made)
    assert window.violations() == []
    assert window.wide() == 390


def conversation():
    """The outcome of an item whose agent calls tools, with all that an answer may hold."""
    case = Case("click-test", "1-screen-1-step", 1)
    outcome = made_up(case)
    started, plan, *rest = outcome.history
    click = ToolCall("c1", "click", '{"element": 1}')
    first = (Message("system", "You work on a web page."), Message("user", "Click Save."))
    result = Message("tool", "It is grey now.", (), "c1")
    second = (*first, Message("assistant", "", (click,)), result)
    tools = ("click", "enter")
    one = replace(plan.completion, text="", tool_calls=(click,))
    two = replace(one, tool_calls=(click, ToolCall("c2", "<b>", "{")), model="m-2026-01-01")
    several = replace(two, reasoning="Save is grey.\nIt may be too early.")
    other = (Completion("Or not."),)
    last = Completion("Done", 40, 5, refusal="No.", finish_reason="length", others=other)
    calls = (
        Called(1, 0, "act", "", several, first, tools),
        Called(1, 0, "act", "", one, first, tools),
        Called(1, 1, "act", "", last, second, tools),
    )
    events = (started, *calls[:2], rest[0], calls[2], *rest[1:])
    return replace(outcome, episode=replace(outcome.episode, events=events))


@pytest.mark.sweep
def test_a_conversation_shows_what_is_new_and_its_tool_calls(window, tmp_path):
    Report(tmp_path).write([conversation()], judged=False)
    window.open(tmp_path, "#/item/1-screen-1-step/click-test/1/1/0")
    assert window.texts("pre.said") == [
        "Save is grey.\nIt may be too early.", 'click({"element": 1})\n<b>({)',
        'click({"element": 1})',
    ]  # fmt: skip
    assert window.texts(".call .label") == ["Reasoning", "Tool calls", "Tool calls"]
    earlier = "Prompt no new message, after 2 earlier messages"
    assert window.texts(".prompt") == ["Prompt 2 new messages", earlier]
    for summary in window.shown(".prompt summary"):
        summary.click()
    assert window.texts(".prompt .label") == ["Message: system", "Message: user"]
    same = "The same messages as in the call before"
    assert window.texts(".call p.hint") == ["Tools offered: click, enter", same]
    window.open(tmp_path, "#/item/1-screen-1-step/click-test/1/1/1")
    window.find(".prompt summary").click()
    assert window.texts(".call pre") == ["Done", "No.", "Or not.", "It is grey now."]
    assert window.texts(".call .hint") == [
        "call · 40 + 5 tokens · finish reason: length",
        "1 new message, after 3 earlier messages",
    ]
    window.find(".about summary").click()
    assert "answered by\nm-2026-01-01" in window.find(".about").text
    assert window.violations() == []


@pytest.mark.sweep
def test_prompts_are_closed_until_a_reader_opens_them(window, made):
    window.open(made, "#/item/n-screen-n-step/click-pie/1000/2/0")
    assert window.texts(".call .label") == ["Completion", "Completion"]
    assert not window.shown("pre.asked")
    window.find(".prompt summary").click()
    assert window.texts("pre.asked") == ["What was wrong?"]
    window.press(Keys.ARROW_RIGHT, Keys.ARROW_LEFT)  # and stay open from then on
    window.wait(lambda: len(window.shown("pre.asked")) == 2)
    assert window.violations() == []


def test_trials_are_jumped_over_by_list_and_keyboard(window, made):
    window.open(made, "#/item/n-screen-n-step/click-pie/1000")
    assert [text.replace("\n", " ") for text in window.texts(".jumps li")] == [
        *(f"Trial {trial} 3 actions failed" for trial in range(1, 5)), "Trial 5 3 actions correct",
    ]  # fmt: skip
    at = lambda: (window.texts(".steps h2"), window.texts(".jumps .current")[0][:7])  # noqa: E731
    window.press((Keys.SHIFT, Keys.ARROW_RIGHT), (Keys.SHIFT, Keys.ARROW_RIGHT), Keys.ARROW_RIGHT)
    window.wait(lambda: at() == (["Trial 3, action 1"], "Trial 3"))
    window.press((Keys.SHIFT, Keys.ARROW_LEFT))
    window.wait(lambda: at() == (["Trial 3, action 0"], "Trial 3"))
    window.find('[aria-label="Previous trial"]').click()
    window.wait(lambda: at() == (["Trial 2, action 0"], "Trial 2"))
    window.find('[data-trial="5"] .ending').click()
    window.wait(lambda: at() == (["Trial 5, end"], "Trial 5"))
    assert window.shown('.frame[aria-current="step"]')
    assert not window.find('[aria-label="Next trial"]').is_enabled()


def test_pictures_are_sharp_and_marks_leave_the_label_legible(window, made):
    """What the action points at has a height of 20, from (10, 90) to (150, 110)."""
    place = "#/item/n-screen-n-step/click-pie/7/1/0"
    window.look_like(390, "light")
    window.open(made, place)
    for width in (390, 1280):
        window.look_like(width, "light")
        sizes = window.driver.execute_script(
            "return [...document.images].map((one) => { const { width, height } ="
            " one.getBoundingClientRect(); return [one.closest('.small') ? 1 : 2,"
            " width / 160, height / 210, getComputedStyle(one).imageRendering]; })"
        )
        assert len(sizes) == 4
        for times, wide, high, rendering in sizes:
            assert (wide, high, rendering) == (times, times, "pixelated")
        assert window.wide() == width
    boxes = window.driver.execute_script(
        "return [...document.querySelectorAll('.stage .marks > :not(rect)')].map((one) => {"
        " const { x, y, width, height } = one.getBBox(); return [x, y, x + width, y + height]; })"
    )
    assert boxes == [[152, 96, 158, 104]] * 2, "an arrow on the right"
    assert not window.shown(".without")
