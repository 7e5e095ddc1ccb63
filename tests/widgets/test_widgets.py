"""Components of modern libraries: used by actions and by programs, certified, equal at each run."""

from functools import partial

import pytest
from support.own_pages import Pages
from support.projects import ROOT

from pytest_miniwob_agent import Case, Limits, run_episode
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.plugins.certify.certification import certify
from pytest_miniwob_agent.testing import ScriptedLLM

from .widget_steps import STEPS, Actions, Program, parse_steps

playwright = pytest.importorskip("playwright.sync_api")

NAMES = [*STEPS]

FOLDER = ROOT / ".cache" / "widgets" / "pages"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sweep,
    pytest.mark.skipif(not FOLDER.exists(), reason="no pages: run make widgets"),
]


@pytest.fixture
def pages(browser):
    return Pages(FOLDER, browser)


@pytest.mark.parametrize("name", STEPS)
def test_a_page_is_completed_by_actions_on_its_tree_alike_at_each_run(pages, name):
    def play():
        actions = Actions(pages.open(name))
        screens = [actions.seen]
        for verb, target in parse_steps(name):
            getattr(actions, verb)(target)
            screens.append(actions.last)
        assert actions.last.solved
        return screens

    assert play() == play()


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started:
        yield started.chromium


@pytest.mark.parametrize("name", STEPS)
def test_a_page_is_completed_by_a_program(pages, chromium, name):
    class Agent:
        name = "script"

        def solve(self, env, llm, note):
            env.reset()
            with env.hand_over() as handed:
                page = chromium.connect_over_cdp(handed.cdp_url).contexts[0].pages[0]
                page.set_default_timeout(10_000)  # ms
                program = Program(page)
                for verb, target in parse_steps(name):
                    getattr(program, verb)(target)

    model, limits = ScriptedLLM([]), Limits(steps=100)
    page = pages.open(name)
    case = Case(name, "pages", 1)
    assert run_episode(case, Agent(), page, model, limits, model="m", raising=True).solved


@pytest.mark.parametrize(
    ("screen", "names"), [("compact", NAMES[::12]), ("full", NAMES[6::12]), ("tree", NAMES[1::12])]
)
def test_the_pages_are_the_same_in_any_order_and_at_any_pace(screen, names):
    # Own pages are read as a tree unless something else is asked for.
    verdicts = certify(
        [Case(name, "pages", 1) for name in names],
        lambda browser, case: Pages(FOLDER, browser).open(case.task),
        partial(Browser),
        {},
        screen=screen,
        pixels=screen == "tree",  # a picture is the same however its page is read
    )
    differ = {one.case.task: one.difference for one in verdicts if one.difference}
    assert differ == {}
