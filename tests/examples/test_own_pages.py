"""The tasks of examples/pages can be solved, on each of their pages."""

import re

import pytest
from support.projects import ROOT

from pytest_miniwob_agent.browser.own_page import open_page
from pytest_miniwob_agent.core.actions import Click, Enter
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import Catalogue


class Player:
    """Plays one of the tasks, as somebody who knows it."""

    def __init__(self, browser, task, seed):
        page = Catalogue([ROOT / "examples" / "pages"]).pages[task]
        self.page = open_page(browser, Case(task, page.category, seed), page)
        self._seen = self.page.reset()
        self.goal = self._seen.goal
        self.last = None

    def _do(self, action):
        self.last = self.page.step(action)
        assert self.last.error is None
        self._seen = self.last.observation

    def click(self, text, place=0):
        self._do(Click([one.id for one in self._seen.elements if one.text == text][place]))

    def choose(self, place):
        radios = [one.id for one in self._seen.elements if one.tag == "input_radio"]
        self._do(Click(radios[place]))

    def enter(self, dom_id, text):
        [field] = [one.id for one in self._seen.elements if one.dom_id == dom_id]
        self._do(Enter(text, field))


ORDER = re.compile(
    r"Order (\d) of the product \".*\" and nothing else, by (\w+) delivery to "
    r"([^,]*), ([^,]*), ([^,]*), and pay by (\w+)\."
)


@pytest.mark.parametrize(("seed", "wrong"), [(1000, False), (1002, True)])
def test_the_shop_pays_for_the_order_that_it_asks_for(browser, seed, wrong):
    player = Player(browser, "shop", seed)
    count, way, *address, payment = ORDER.fullmatch(player.goal).groups()
    for _ in range(int(count) - 1 + wrong):
        player.click("+")
    player.click("Remove", 1)
    player.click("Continue to delivery")
    for field, text in zip(("name", "street", "town"), address, strict=True):
        player.enter(field, text)
    player.choose(("standard", "express").index(way))
    player.click("Continue to payment")
    player.choose(("card", "invoice").index(payment))
    player.click("Place the order")
    assert (player.last.done, player.last.reward) == (True, -1 if wrong else 1)
    assert player.page.remarks() == []


def test_the_login_takes_the_code_of_the_picture_alone(browser):
    rewards = []
    for right in (True, False):
        player = Player(browser, "login-code", 1000)
        user, password = re.search(r"as (\w+) with the password (\S+) and", player.goal).groups()
        code = browser.driver.execute_script("return code")
        for field, text in (("user", user), ("password", password), ("code", code)):
            player.enter(field, text)
        if not right:
            player.enter("code", "0000")
        player.click("Log in", -1)
        rewards.append(player.last.reward)
    assert rewards == [1, -1]
