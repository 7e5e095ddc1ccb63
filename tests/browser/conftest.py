"""Pages in the shared browser."""

import pytest
from support.own_pages import Pages

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import installed_tasks


@pytest.fixture
def pages(tmp_path, browser):
    return Pages(tmp_path / "pages", browser)


@pytest.fixture
def page(browser):
    def make(task, seed=1, browser=browser):
        return MiniwobPage(browser, Case(task, installed_tasks()[task], seed))

    return make


@pytest.fixture
def open_page(page):
    def make(task, seed=1):
        env = page(task, seed)
        return env, env.reset()

    return make
