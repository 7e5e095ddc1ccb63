"""The marker's `perturb`: ids, kinds that fit, and kinds of one's own."""

import pytest

from pytest_miniwob_agent.core.case import Case

PAGE = """
    <!DOCTYPE html><body><button onclick="done = 1">Go</button>
    <script>
      let done = 0;
      const task = { goal: "Click Go.", reward: () => done, perturb: { language: { Go: "Los" } } };
    </script>
"""

TEST_FILE = """
    import pytest
    from pytest_miniwob_agent import Perturbation
    from pytest_miniwob_agent.testing import ScriptedLLM

    @pytest.fixture
    def miniwob_llm():
        return ScriptedLLM(["click id=1"] * 3)

    @pytest.mark.miniwob("page", seeds=[3, 4], trials=1, pages="pages", perturb=PERTURB)
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""

BANNER = (
    """[Perturbation("banner", "page.begin(() => { document.title = 'Hi'; page.applied(); });")]"""
)


@pytest.fixture
def collect(pytester):
    pytester.mkdir("pages").joinpath("page.html").write_text(PAGE)
    pytester.makeini("[pytest]\naddopts = -p no:randomly\n")

    def run(perturb, *args, selector='"page"'):
        text = TEST_FILE.replace("PERTURB", perturb).replace('"page"', selector)
        pytester.makepyfile(text)
        result = pytester.runpytest(*args or ("--collect-only", "-q"))
        lines = [line for line in result.outlines if "::test_solves[" in line]
        return result, [line.partition("[")[2].rstrip("]") for line in lines]

    return run


def test_the_kind_is_in_the_task_of_the_id_and_selectable(collect):
    _, ids = collect('["clean", "overlay"]')
    tasks = ["page", "page~overlay"]
    assert ids == [f"pages/{task}/{seed}" for task in tasks for seed in (3, 4)]
    _, ids = collect('["clean", "overlay"]', "--collect-only", "-q", "-k", "overlay")
    assert ids == ["pages/page~overlay/3", "pages/page~overlay/4"]
    case = Case.from_id(ids[0])
    assert (case.base, case.perturbation) == ("page", "overlay")


def test_all_are_those_that_fit(collect):
    _, ids = collect('"all"')
    kinds = {id_.split("/")[1].partition("~")[2] for id_ in ids}
    assert {"", "overlay", "slow", "language"} < kinds
    assert not {"moved", "reworded", "twins", "expired"} & kinds


WRONG = [
    ('["moved"]', '"page"', "page can't have the perturbation 'moved': the page declares no "),
    ('["slow"]', '"click-test"', "'slow': the pages of the miniwob package make no requests"),
    ('["language"]', '"click-test"', "the pages of the miniwob package declare nothing for it"),
    ('"overlai"', '"page"', "no perturbation is called 'overlai' (did you mean overlay"),
    ('"late"', '"perturbed"', 'the suite perturbed has all perturbations: name "apps" to'),
    ("[1]", '"page"', "the miniwob marker's perturb must be names and Perturbations"),
    ('"overlay"', '"browsergym"', "a list of problems can't be perturbed"),
    ('Perturbation("A b", "")', '"page"', "a perturbation can't be called 'A b'"),
    ('[Perturbation("late", "")]', '"page"', "two perturbations are called 'late'"),
]


def test_a_kind_that_can_not_be_is_an_error(collect, pytester):
    for number, (perturb, selector, _) in enumerate(WRONG):
        text = TEST_FILE.replace("PERTURB", perturb).replace('"page"', selector)
        pytester.makepyfile(**{f"test_{number}": text})
    result, _ = collect('"clean"')
    said = result.stdout.str()
    assert [message for *_, message in WRONG if message not in said] == []


def test_a_kind_of_ones_own_is_run_and_recorded_in_a_folder_of_its_name(collect, pytester):
    result, _ = collect(BANNER, "--miniwob-results=out.jsonl")
    result.assert_outcomes(passed=2)
    rows = pytester.path.joinpath("out.jsonl").read_text()
    assert "page~banner" in rows
    assert "changed nothing" not in rows
