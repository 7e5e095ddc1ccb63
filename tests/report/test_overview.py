"""The overview of a report of made-up outcomes, in a real Chromium."""

import itertools

import pytest
from selenium.webdriver.common.by import By
from support.made_report import index, made_up, without_result

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.outcome import Change, Status
from pytest_miniwob_agent.plugins.report.folder import Report
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_complaints")]


def test_the_list_begins_with_failures_and_is_sorted_by_each_column(window, made):
    rows = {row["id"]: row for row in index(made)["items"]}

    def shown():
        links = [row.get_attribute("href") for row in window.shown(".items tbody a")]
        return [rows[link.partition("/item/")[2]] for link in links]

    window.open(made)
    assert shown()[0]["change"] == "regressed"
    solved = [row["status"] == "solved" for row in shown()]
    assert solved == sorted(solved)
    for name in ("tokens", "ending"):
        for direction in ("ascending", "descending"):
            window.find(f'[data-sort="{name}"]').click()
            window.wait(lambda d=direction: window.shown(f'th[aria-sort="{d}"] .sort'))
            values = [row[name] or ("" if name == "ending" else -1) for row in shown()]
            assert len(values) == len(rows)
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
    none = "\N{EN DASH}"
    assert [row.split() for row in window.texts(".rates tbody tr")] == [
        ["1-screen-1-step", "4", "25%", "50%", "50%"],
        ["n-screen-n-step", "1", "100%", none, none],
        ["all", "5", "40%", "50%", "50%"],
    ]
    lines = window.driver.find_elements(By.CSS_SELECTOR, ".chart polyline")
    assert [len(line.get_attribute("points").split()) for line in lines] == [3, 1, 3]
    circles = window.driver.find_elements(By.CSS_SELECTOR, ".chart circle")
    assert len(circles) == 7


@pytest.mark.sweep
def test_the_list_is_searched_and_the_address_holds_the_filters(window, made):
    window.open(made, "#/?q=wheel")
    assert window.texts(".items tbody a") == ["click-pie 1000"]
    window.find("#by-text").clear()
    window.find("#by-text").send_keys("regressed pie")
    window.wait(lambda: window.texts(".items tbody a") == ["click-pie 7"])
    window.find("#by-text").clear()
    window.find("#by-text").send_keys("solved")
    window.wait(lambda: window.texts("#found") == ["3 of 6 items"])  # without the unsolved one
    window.open(made, "#/?category=1-screen-1-step&sort=trials&down=1")
    assert window.texts(".items tbody a")[0] == "click-test 8"
    assert window.texts(".heat caption") == ["1-screen-1-step"]
    window.open(made, "#/?status=progressed")
    assert window.texts(".items tbody a") == ["click-test 8"]
    window.find("#by-text").send_keys("100%41&?")
    window.wait(lambda: window.texts("#found") == ["0 of 6 items"])
    window.open(made, window.place)
    assert window.find("#by-text").get_attribute("value") == "100%41&?"


@pytest.mark.sweep
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
            beside = above["x"] + above["width"] <= below["x"]
            assert beside or above["y"] + above["height"] <= below["y"]
        assert window.wide() == width


@pytest.mark.sweep
def test_1075_items_are_shown_and_found(window, tmp_path):
    outcomes = [
        made_up(Case(task, category, seed), [1, 1, 2, 4, None][(seed + len(task)) % 5])
        for category, tasks in CATEGORIES.items()
        for task in tasks
        for seed in range(1000, 1025)
    ]
    Report(tmp_path).write(outcomes, judged=False)
    window.open(tmp_path)
    assert len(window.driver.find_elements(By.CSS_SELECTOR, "a.cell")) == 1075
    window.find("#by-text").send_keys("click-pie unsolved")
    window.wait(lambda: window.texts("#found") == ["5 of 1,075 items"])
    window.find(".items tbody a").click()
    window.wait(lambda: window.texts(".steps h2") == ["Trial 1, action 0"])


def test_a_run_without_results_says_why_and_draws_no_chart(window, errors):
    window.open(errors)
    assert window.texts(".figure") == ["No result of 5 items"]
    assert not window.shown(".chart, .rates")
    assert window.texts(".causes h2") == ["Why 5 items have no result"]
    assert [text.split("\n") for text in window.texts(".cause")] == [
        ["3", "error", "there is no cassette cassettes/reflective/m/….yaml"],
        ["1", "drifted", "the page changed"],
        ["1", "waiting", "It waits for a completion."],
    ]
    window.find(".cause").click()
    window.wait(lambda: window.texts("#found") == ["3 of 5 items"])
    window.open(errors, window.place)  # as somebody who was sent the link
    assert window.texts("#found") == ["3 of 5 items"]
    window.find('.cause[aria-pressed="true"]').click()
    window.wait(lambda: window.texts("#found") == ["All 5 items"])
    assert window.violations() == []


def test_rates_are_compared_with_the_baseline(window, compared):
    window.open(compared)
    assert [row.split() for row in window.texts(".against tbody tr")] == [
        ["1-screen-1-step", "3", "66.7%", "33.3%", "\N{MINUS SIGN}33.3", "2", "1"],
        ["n-screen-n-step", "1", "50%", "100%", "+50", "0", "0"],
        ["all", "4", "62.5%", "50%", "\N{MINUS SIGN}12.5", "2", "1"],
    ]
    assert window.texts(".gate") == ["Gate items: failed"]
    (remark,) = window.texts(".remarks li")
    assert remark.startswith("2 items solved before and no longer; fix the change")
    assert window.texts(".changed li") == [
        "click-test 1 solved in trial 1 → unsolved (failed)",
        "click-test 2 solved in trial 1 → unsolved (failed)",
        "click-test 3 unsolved (failed) → solved",
    ]
    assert "solved in trial 1 in the baseline" in window.find("a.cell").get_attribute("title")
    assert window.texts(".completion tbody tr")[0] == "1-screen-1-step\t3\t33.3%"
    assert not window.shown(".chart")  # of one trial
    for cell in window.shown("a.cell.regressed, a.cell.progressed"):
        # Inside of it, so that frames of neighbours do not meet.
        shadows = cell.value_of_css_property("box-shadow").split(", rgb")
        assert [shadow.endswith(" inset") for shadow in shadows] == [True, True]
    window.find(".changed a").click()
    window.wait(lambda: window.shown("#item h1"))
    assert window.texts(".state .hint") == ["1-screen-1-step", "in the baseline: solved in trial 1"]


def test_nothing_is_cut_on_a_narrow_phone(window, made, compared, errors):
    """No part of a table may stick out of it, or be out of sight."""
    window.look_like(360, "light")
    for folder in (made, compared, errors):
        window.open(folder)
        assert window.wide() == 360
        cut = window.driver.execute_script(
            "return [...document.querySelectorAll('.items :is(td, th), .rates :is(td, th),"
            " .heat :is(td, th), .badge, .cause')].filter((one) => one.checkVisibility()).filter("
            "(one) => { const { left, right } = one.getBoundingClientRect();"
            " return left < 0 || right > 360 || one.scrollWidth > one.clientWidth + 1"
            "   && !one.matches('.badge') && one.clientWidth; }).map((one) => one.outerHTML)"
        )
        assert cut == []
