"""The pages with two choices of the suite `reflection` can be solved, by somebody who tries."""

import re
from itertools import product

import pytest

from pytest_miniwob_agent.browser.own_page import open_page
from pytest_miniwob_agent.core.actions import Click, Enter
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import PAGE_SUITES, find_pages

pytestmark = pytest.mark.integration

PAGES = {page.task: page for page in find_pages(PAGE_SUITES / "reflection")}

LISTS = {
    "rehearsal": (9, 3, 9, 3), "parcel": (12, 4, 9, 3), "garden": (8, 2, 8, 2),
    "excursion": (9, 3, 12, 4), "oven": (9, 3, 10, 3), "radio": (9, 3, 10, 3),
    "loan": (9, 3, 10, 3), "darkroom": (9, 3, 10, 3),
}  # fmt: skip
"""The number of texts in the two lists of each page, and of those that do equally well."""

GOAL = re.compile(r".* Enter (.*), tick (.*), and press (\w+)\.")


class Visitor:
    """Knows what the goal says, and nothing of the choices."""

    def __init__(self, browser, task, seed):
        self.env = open_page(browser, Case(task, "reflection", seed), PAGES[task])
        self.goal = self.begin().goal
        texts, boxes, self.send = GOAL.fullmatch(self.goal).groups()
        self.fields = [part.split(" as ") for part in texts.split(" and ")]
        self.boxes = boxes.split(" and ")

    def begin(self):
        self.seen, self.steps = self.env.reset(), 0
        return self.seen

    def do(self, action):
        done = self.env.step(action)
        assert done.error is None
        self.seen, self.steps = done.observation, self.steps + 1
        return done

    def click(self, text):
        [id_] = [one.id for one in self.seen.elements if (one.tag, one.text) == ("button", text)]
        return self.do(Click(id_))

    def choose(self, *texts):
        """Begin a trial and choose; what the page says of it."""
        self.begin()
        for text in texts:
            self.click(text)
        return [one.text for one in self.seen.elements if one.tag == "p"][2:]

    def finish(self):
        for text, name in self.fields:
            [id_] = [one.id for one in self.seen.elements if one.placeholder == name]
            self.do(Enter(text, id_))
        for name in self.boxes:
            [place] = [at for at, one in enumerate(self.seen.elements) if one.text == name]
            self.do(Click(self.seen.elements[place - 1].id))
        return self.click(self.send)


@pytest.mark.parametrize(
    ("task", "seed"),
    [
        pytest.param(task, seed, marks=[pytest.mark.sweep] * (seed > 1000))
        for task in LISTS
        for seed in (1000, 1003)
    ],
)
def test_a_page_is_solved_by_two_choices_of_which_the_second_depends_on_the_first(
    browser, task, seed
):
    visitor = Visitor(browser, task, seed)
    texts = [one.text for one in visitor.seen.elements if one.tag == "button"][:-1]
    count, alike, others, others_alike = LISTS[task]
    firsts, seconds = texts[:count:alike], texts[count::others_alike]
    assert len(texts) == count + others
    first, second = next(pair for pair in product(firsts, seconds) if not visitor.choose(*pair))
    assert visitor.finish().solved
    assert 8 <= visitor.steps <= 12
    assert not visitor.choose(first, second)
    assert visitor.click(visitor.send).reward == -1
    for other in firsts:
        assert bool(visitor.choose(other, second)) is (other != first)
