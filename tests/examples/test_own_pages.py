"""The tasks of examples/pages can be solved, on each of their pages."""

import re

import pytest
from support.in_browser import run_script
from support.projects import ROOT
from support.visitor import Visitor

from pytest_miniwob_agent.tasks.catalogue import Catalogue

CATALOGUE = Catalogue([ROOT / "examples" / "pages"])

ORDER = re.compile(
    r"Order (\d) of the product \".*\" and nothing else, by (\w+) delivery to "
    r"([^,]*), ([^,]*), ([^,]*), and pay by (\w+)\."
)


@pytest.mark.parametrize(("seed", "wrong"), [(1000, False), (1002, True)])
def test_the_shop_pays_for_the_order_that_it_asks_for(browser, seed, wrong):
    visitor = Visitor(browser, CATALOGUE, "shop", seed)
    count, way, *address, payment = ORDER.fullmatch(visitor.seen.goal).groups()
    for _ in range(int(count) - 1 + wrong):
        visitor.click(r"\+$")
    visitor.click("Remove$", 1)
    visitor.click("Continue to delivery")
    for field, text in zip(("name", "street", "town"), address, strict=True):
        visitor.enter("", text, dom_id=field)
    visitor.click("", ("standard", "express").index(way), tag="input_radio")
    visitor.click("Continue to payment")
    visitor.click("", ("card", "invoice").index(payment), tag="input_radio")
    visitor.click("Place the order")
    assert (visitor.last.done, visitor.last.reward) == (True, -1 if wrong else 1)
    assert visitor.page.remarks() == []


def test_the_login_takes_the_code_of_the_picture_alone(browser):
    rewards = []
    for right in (True, False):
        visitor = Visitor(browser, CATALOGUE, "login-code", 1000)
        user, password = re.search(
            r"as (\w+) with the password (\S+) and", visitor.seen.goal
        ).groups()
        code = run_script(browser, "return code")
        for field, text in (("user", user), ("password", password), ("code", code)):
            visitor.enter("", text, dom_id=field)
        if not right:
            visitor.enter("", "0000", dom_id="code")
        rewards.append(visitor.click("Log in$", -1).reward)
    assert rewards == [1, -1]
