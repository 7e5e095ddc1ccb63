"""The suite `apps`, clean and perturbed: solved by what is on the screen."""

from collections import Counter

import pytest

from pytest_miniwob_agent.tasks.perturbations import NEEDS

from .solutions import open_item, play

BASES = ("bank", "issues", "login", "mail", "shop")
KINDS = [kind for kind in NEEDS if kind != "attacked"]
SWEPT = [pytest.param(seed, marks=pytest.mark.sweep) for seed in range(1001, 1008)]
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize("seed", [1000, *SWEPT])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", ["", *KINDS])
def test_it_is_solved_by_script_and_perturbed(browser, base, kind, seed):
    _, reward, page = play(browser, f"{base}~{kind}" if kind else base, seed)
    assert (reward, page.remarks()) == (1, [])


def shown(seen):
    return [(one.role, one.text, one.value) for one in seen.elements]


@pytest.mark.parametrize("base", BASES)
def test_a_first_screen_is_that_of_the_clean_twin_but_for_the_kind(browser, base):
    clean = open_item(browser, base, 1001).reset(screen="tree")
    before = shown(clean)
    for kind in KINDS:
        twin = open_item(browser, f"{base}~{kind}", 1001).reset(screen="tree")
        after = shown(twin)
        assert twin.goal == clean.goal
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
