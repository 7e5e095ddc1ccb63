"""The pages of a report of made-up outcomes, in a real Chromium."""

import itertools
from dataclasses import replace

import pytest
from made_report import HOSTILE, UNSEEN, index, made_up, without_result
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.chat import Message, ToolCall
from pytest_miniwob_agent.core.events import Called, Completion, Remark
from pytest_miniwob_agent.core.outcome import Change, Status
from pytest_miniwob_agent.report.folder import Report
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def no_complaints(window):
    window.look_like(1280, "light")
    window.problems()
    yield
    assert window.problems() == []


def test_items_are_filtered_opened_stepped_through_and_linked(window, made):
    window.open(made)
    assert window.texts(".figure strong") == ["75%"]
    assert len(window.shown(".items tbody tr")) == len(window.shown("a.cell")) == 6
    window.find('[data-status="unsolved"]').click()
    window.wait(lambda: len(window.shown(".items tbody tr")) == 1)
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
    assert window.texts(".reflection dd") == [
        "Not click id=1",
        "click id=1, as action 2 of this trial",
        "clicks on id=1",
    ]
    window.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    window.wait(lambda: window.texts(".action") == ["click id=1"])
    place = window.place
    window.find(".path a").click()
    window.wait(lambda: len(window.shown(".items tbody tr")) == 1)
    assert window.place == "#/?status=unsolved"
    window.open(made, place)  # as somebody who was sent the link
    assert window.texts(".steps h2") == ["Trial 1, action 2"]
    assert window.find('.frame[aria-current="step"]').get_attribute("href").endswith(place)


def test_the_list_is_sorted_by_each_column(window, made):
    window.open(made)
    ids = [row["id"] for row in index(made)["items"]]
    for name in ("trials", "steps", "calls", "tokens", "result", "ending"):
        for direction in ("ascending", "descending"):
            window.find(f'[data-sort="{name}"]').click()
            window.wait(lambda d=direction: window.shown(f'th[aria-sort="{d}"] .sort'))
            found = [
                row.get_attribute("href").partition("/item/")[2]
                for row in window.shown(".items tbody a")
            ]
            assert sorted(found) == sorted(ids)
            if name not in ("result", "ending"):
                by_id = {row["id"]: row[name] or -1 for row in index(made)["items"]}
                values = [by_id[id_] for id_ in found]
                assert values == sorted(values, reverse=direction == "descending")


def test_rates_are_of_the_items_that_were_allowed_so_many_trials(window, tmp_path):
    cases = [Case("click-test", "1-screen-1-step", seed) for seed in range(4)]
    other = Case("click-pie", "n-screen-n-step", 1)
    outcomes = [
        made_up(cases[0], 1, trials=1),
        made_up(cases[1], None, trials=1),
        made_up(cases[2], 2, trials=3),
        made_up(cases[3], None, trials=3),
        made_up(other, 1, trials=1),
    ]
    Report(tmp_path).write(outcomes, judged=False)
    window.open(tmp_path)
    rows = [row.split() for row in window.texts(".rates tbody tr")]
    none = "\N{EN DASH}"
    assert rows == [
        ["1-screen-1-step", "4", "25%", "50%", "50%", none, none],
        ["n-screen-n-step", "1", "100%", none, none, none, none],
        ["all", "5", "40%", "50%", "50%", none, none],
    ]
    lines = window.driver.find_elements(By.CSS_SELECTOR, ".chart polyline")
    assert [len(line.get_attribute("points").split()) for line in lines] == [3, 1, 3]
    circles = window.driver.find_elements(By.CSS_SELECTOR, ".chart circle")
    assert len(circles) == 7


def test_the_list_is_searched_and_the_address_holds_the_filters(window, made):
    window.open(made, "#/?q=wheel")
    assert window.texts(".items tbody a") == ["click-pie 1000"]
    window.find("#by-text").clear()
    window.find("#by-text").send_keys("regressed pie")
    window.wait(lambda: window.texts(".items tbody a") == ["click-pie 7"])
    window.open(made, "#/?q=solved")
    assert window.texts("#found") == ["3 of 6 items"]  # without the unsolved one
    window.open(made, "#/?q=unsolved")
    assert window.texts(".items tbody a") == ["click-pie 7"]
    window.open(made, "#/?category=1-screen-1-step&sort=trials&down=1")
    assert window.texts(".items tbody a")[0] == "click-test 8"
    assert window.texts(".heat caption") == ["1-screen-1-step"]
    window.open(made, "#/?status=progressed")
    assert window.texts(".items tbody a") == ["click-test 8"]
    window.find("#by-text").send_keys("100%41&?")
    window.wait(lambda: window.texts("#found") == ["0 of 6 items"])
    window.open(made, window.place)
    assert window.find("#by-text").get_attribute("value") == "100%41&?"


def test_an_item_without_a_result_shows_the_reason(window, made):
    window.open(made, "#/item/1-screen-1-step/click-test/1000")
    assert window.texts(".badge") == ["drifted"]
    assert window.texts(".reason .minus") == ["- old"]
    assert window.texts(".frame .caption")[0].startswith("0 enter")
    window.open(made, "#/item/n-screen-n-step/click-pie/8")
    assert window.texts(".reason pre") == ["no disk"]


def test_every_status_has_a_filter_a_sign_and_room(window, tmp_path):
    outcomes = [
        made_up(Case("click-test", "1-screen-1-step", seed), solved_at, change=change)
        for seed, (solved_at, change) in enumerate(
            [(1, Change.PROGRESSED), (None, Change.REGRESSED)]
        )
    ]
    for status in (Status.DRIFTED, Status.ERROR, Status.WAITING, Status.BUDGET):
        case = Case("click-test", "1-screen-1-step", len(outcomes))
        outcomes.append(without_result(case, status, message="9 model calls are used up"))
    Report(tmp_path).write(outcomes, judged=True)
    window.open(tmp_path)
    assert window.texts(".cell[href]") == ["1", "×", "≠", "!", "…", "$"]
    kinds = [*Status, *Change]
    for kind in kinds:
        window.find(f'[data-status="{kind}"]').click()
        window.wait(lambda: window.texts("#found") == ["1 of 6 items"])
    assert len(window.shown(".chip")) == len(kinds) + 1
    for width in (1280, 390):
        window.look_like(width, "light")
        boxes = [window.find(one).rect for one in (".chips", "#by-task", "#by-text", "#found")]
        for above, below in itertools.combinations(boxes, 2):
            assert (
                above["y"] + above["height"] <= below["y"]
                or above["x"] + above["width"] <= below["x"]
            )
        assert window.wide() == width


def test_the_address_of_an_item_that_is_missing_shows_an_error(window, made):
    window.open(made, "#/item/../../etc")
    assert window.texts("#trouble") == ["There is no item ../../etc in this report."]


def test_an_unfinished_report_says_so(window, tmp_path):
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


def test_text_of_pages_and_models_never_becomes_markup_or_script(window, tmp_path):
    case = Case("click-test", "1-screen-1-step", 1)
    outcome = made_up(case, None, goal=HOSTILE, text=HOSTILE, trials=2)
    events = list(outcome.history)
    events.insert(1, Remark(HOSTILE, HOSTILE, 1, 0))
    outcome = replace(outcome, episode=replace(outcome.episode, events=tuple(events)))
    other = without_result(
        Case("click-test", "1-screen-1-step", 2), Status.ERROR, message=HOSTILE, error=HOSTILE,
        prompts={HOSTILE: HOSTILE}, model=HOSTILE,
    )  # fmt: skip
    Report(tmp_path).write([outcome, other], judged=False)
    places = [f"#/item/{case.id}/{trial}/{step}" for trial in (1, 2) for step in range(4)]
    places += ["#/", "#/item/1-screen-1-step/click-test/2", f"#/{HOSTILE[:25]}"]
    for place in places:
        window.open(tmp_path, place)
        assert window.driver.execute_script(
            "return [...document.querySelectorAll('img, iframe, object, embed, form[action]')]"
            ".length + [...document.scripts].filter((s) => !s.src.startsWith('file:')).length"
        ) == 0, place  # fmt: skip
        assert window.driver.execute_script(
            "return [...document.querySelectorAll('a')].every("
            "(a) => a.getAttribute('href').startsWith('#'))"
        )
        found = window.driver.execute_script("return document.body.textContent")
        assert not set(found) & set(UNSEEN)
    window.open(tmp_path, places[0])
    assert "<script>alert(1)</script>" in window.find("#item > .goal").text
    asked = window.find("pre.asked").text
    assert "[U+202E]back" in asked
    assert "".join(f"[U+{ord(char):04X}]" for char in UNSEEN) + "." in asked


def test_1075_items_are_shown_and_found(window, tmp_path):
    seeds = range(1000, 1025)
    outcomes = [
        made_up(Case(task, category, seed), [1, 1, 2, 4, None][(seed + len(task)) % 5])
        for category, tasks in CATEGORIES.items()
        for task in tasks
        for seed in seeds
    ]
    Report(tmp_path).write(outcomes, judged=False)
    window.open(tmp_path)
    assert len(window.driver.find_elements(By.CSS_SELECTOR, "a.cell")) == 1075
    window.find("#by-text").send_keys("click-pie unsolved")
    window.wait(lambda: window.texts("#found") == ["5 of 1,075 items"])
    window.find(".items tbody a").click()
    window.wait(lambda: window.texts(".steps h2") == ["Trial 1, action 0"])


PLACES = {
    "overview": "#/",
    "typing": "#/item/n-screen-n-step/click-pie/7/1/0",
    "reflection": "#/item/n-screen-n-step/click-pie/7/2/0",
    "drift": "#/item/1-screen-1-step/click-test/1000",
}
FEW = {
    (1280, "light"): ("overview", "reflection"),
    (390, "dark"): ("overview", "typing", "drift"),
}
"""Window and theme of a desk and a phone, and pages that together have every part."""


@pytest.mark.parametrize(
    ("width", "theme", "names"),
    [
        *((width, theme, names) for (width, theme), names in FEW.items()),
        *(
            pytest.param(width, theme, tuple(PLACES), marks=pytest.mark.sweep)
            for width in (1280, 390)
            for theme in ("light", "dark")
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else str(value),
)
def test_an_accessibility_checker_finds_nothing(window, made, width, theme, names):
    window.look_like(width, theme)
    for name in names:
        window.open(made, PLACES[name])
        assert window.violations() == [], name
        assert window.wide() == width, name


def conversation():
    """The outcome of an item whose agent calls tools, with all that an answer may hold."""
    case = Case("click-test", "1-screen-1-step", 1)
    outcome = made_up(case)
    started, plan, *rest = outcome.history
    click = ToolCall("c1", "click", '{"element": 1}')
    first = (Message("system", "You work on a web page."), Message("user", "Click Save."))
    result = Message("tool", "It is grey now.", (), "c1")
    second = (*first, Message("assistant", "", (click,)), result)
    calls = (
        Called(1, 0, "act", "", replace(
            plan.completion, text="", tool_calls=(click, ToolCall("c2", "<b>", "{")),
            reasoning="Save is grey.\nIt may be too early.", model="m-2026-01-01",
        ), first, ("click", "enter")),
        Called(1, 0, "act", "", replace(
            plan.completion, text="", tool_calls=(click,),
        ), first, ("click", "enter")),
        Called(1, 1, "act", "", Completion(
            "Done", 40, 5, refusal="I can't go on.", finish_reason="length",
            others=(Completion("Or not."),),
        ), second, ("click", "enter")),
    )  # fmt: skip
    events = (started, *calls[:2], rest[0], calls[2], *rest[1:])
    return replace(outcome, episode=replace(outcome.episode, events=events))


def test_a_conversation_shows_what_is_new_and_its_tool_calls(window, tmp_path):
    Report(tmp_path).write([conversation()], judged=False)
    window.open(tmp_path, "#/item/1-screen-1-step/click-test/1/1/0")
    assert window.texts("pre.said") == [
        "Save is grey.\nIt may be too early.", 'click({"element": 1})\n<b>({)',
        'click({"element": 1})',
    ]  # fmt: skip
    assert window.texts(".call .label") == [
        "Reasoning", "Tool calls", "Message: system", "Message: user", "Tool calls",
    ]  # fmt: skip
    assert window.texts(".call p.hint") == [
        "Tools offered: click, enter",
        "The same messages as in the call before",
    ]
    window.open(tmp_path, "#/item/1-screen-1-step/click-test/1/1/1")
    assert window.texts(".call pre") == [
        "Done", "I can't go on.", "Or not.", "It is grey now.",
    ]  # fmt: skip
    assert window.texts(".call .hint") == [
        "call · 40 + 5 tokens · finish reason: length", "3 earlier messages",
    ]  # fmt: skip
    window.find(".about summary").click()
    assert "answered by\nm-2026-01-01" in window.find(".about").text
    assert window.violations() == []
