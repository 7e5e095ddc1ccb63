"""The pages with two choices of the suite `reflection` can be solved, by somebody who tries."""

import re
from itertools import product

import pytest
from support.visitor import Visitor

from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.tasks.catalogue import PAGE_SUITES, Catalogue

pytestmark = pytest.mark.integration

CATALOGUE = Catalogue([PAGE_SUITES / "reflection"])

LISTS = {
    "rehearsal": (9, 3, 9, 3), "parcel": (12, 4, 9, 3), "garden": (8, 2, 8, 2),
    "excursion": (9, 3, 12, 4), "oven": (9, 3, 10, 3), "radio": (9, 3, 10, 3),
    "loan": (9, 3, 10, 3), "darkroom": (9, 3, 10, 3),
}  # fmt: skip
"""The number of strings in the two lists of each page, and of those that do equally well."""

GOAL = re.compile(r".* Enter (.*), tick (.*), and press (\w+)\.")


class Chooser(Visitor):
    """Knows what the goal says, and nothing of the choices."""

    def try_out(self, *texts):
        self.begin()
        for text in texts:
            self.click(f"{re.escape(text)}$", tag="button")
        return [one.text for one in self.seen.elements if one.tag == "p"][2:]

    def finish(self):
        texts, boxes, send = GOAL.fullmatch(self.seen.goal).groups()
        for part in texts.split(" and "):
            text, name = part.split(" as ")
            self.enter("", text, placeholder=name)
        for name in boxes.split(" and "):
            [place] = [at for at, one in enumerate(self.seen.elements) if one.text == name]
            self.do(Click(self.seen.elements[place - 1].id))
        return self.click(f"{send}$", tag="button")


@pytest.mark.parametrize(
    ("task", "seed"),
    [
        pytest.param(task, 1000 + 3 * (place % 2), marks=[pytest.mark.sweep] * (place > 0))
        for place, task in enumerate(LISTS)
    ],
)
def test_a_page_is_solved_by_two_choices_of_which_the_second_depends_on_the_first(
    browser, task, seed
):
    visitor = Chooser(browser, CATALOGUE, task, seed)
    texts = [one.text for one in visitor.seen.elements if one.tag == "button"][:-1]
    count, alike, others, others_alike = LISTS[task]
    firsts, seconds = texts[:count:alike], texts[count::others_alike]
    assert len(texts) == count + others
    first, second = next(pair for pair in product(firsts, seconds) if not visitor.try_out(*pair))
    assert visitor.finish().solved
    assert 8 <= visitor.steps <= 12
    assert not visitor.try_out(first, second)
    send = GOAL.fullmatch(visitor.seen.goal)[3]
    assert visitor.click(f"{send}$", tag="button").reward == -1
    for other in firsts:
        assert bool(visitor.try_out(other, second)) is (other != first)
