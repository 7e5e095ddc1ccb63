"""The suite `apps`, perturbed: solved by what is on the screen, which the perturbation changes."""

import functools
from collections import Counter

import pytest

from pytest_miniwob_agent.tasks.perturbations import NEEDS

from .solutions import open_item, play

BASES = ("bank", "issues", "login", "mail", "shop")
KINDS = [kind for kind in NEEDS if kind != "attacked"]
SEEDS = range(1000, 1008)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("browser")]


def items():
    """Each twin at one seed; all are sweeps but five, each of another page and of another kind."""
    for place, kind in enumerate(KINDS):
        for number, base in enumerate(BASES):
            taken = place % 2 == 0 and number == place // 2
            seed = SEEDS[(place + number) % len(SEEDS)]
            yield pytest.param(base, kind, seed, marks=[] if taken else pytest.mark.sweep)


@pytest.fixture(scope="module")
def clean(browser):
    return functools.cache(lambda base, seed: open_item(browser, base, seed).reset(screen="tree"))


@pytest.mark.parametrize(("base", "kind", "seed"), list(items()))
def test_it_is_solved_by_script_and_perturbed_on_its_first_screen(browser, clean, base, kind, seed):
    (first, *_), reward, page = play(browser, f"{base}~{kind}", seed)
    assert (reward, page.remarks()) == (1, [])
    twin = clean(base, seed)
    assert first.goal == twin.goal
    before, after = shown(twin), shown(first)
    gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
    match kind:
        case "overlay":
            assert not gone
            assert {role for role, *_ in come} == {"dialog", "text", "button"}
        case "late":
            assert {role for role, *_ in gone} <= {"button", "textbox", "radio", "combobox"}
            assert {role for role, *_ in come} <= {"status", "text"}  # labels of what is gone
            assert ("status", "Loading…", None) in come
        case "moved":
            assert not gone + come
        case "reworded" | "language":
            assert [role for role, *_ in before] == [role for role, *_ in after]
            assert gone
        case "twins":
            assert not gone
            assert all(text.startswith(("in ", "from ")) or (role, text, value) in before
                       for role, text, value in come)  # fmt: skip
        case "slow" if base != "login":
            assert after == [("status", "Please wait…", None)]
        case "zoomed":
            assert [one for one in after if one[0] != "page"] == before  # it may scroll now
        case _:
            assert after == before


def shown(seen):
    return [(one.role, one.text, one.value) for one in seen.elements]
