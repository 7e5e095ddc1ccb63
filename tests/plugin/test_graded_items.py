"""Items on apps and own pages that graders alone judge, and what graders see of pages."""

import json

import pytest

from pytest_miniwob_agent.results.file import read_results

PAGES = {
    "/": """<button onclick="fetch('/save', { method: 'POST', body: 'name=Ann',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' } })">Save</button>
        <a href=/next?page=2>Next</a>""",
    "/save": "saved",
    "/next": "<a href=/file download>Get</a>",
    "/file": "abc",
}
GRADED = """
    import re
    import pytest
    from pytest_miniwob_agent import AppTask, trajectory

    def saved(episode):
        return episode.asked("post", "/save", {{"name": "Ann"}})

    TASK = AppTask("task", app="app", goal="Do it.", {graders})

    @pytest.mark.miniwob(TASK, seeds=[1])
    def test_task(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
        assert {check}
"""


@pytest.fixture
def graded(app_pages):
    """Record a task on the app that has no judge but graders, and replay it; its row."""

    def graded(graders, *plans, check="True", passes=True):
        app_pages.write_task(PAGES, *plans)
        app_pages.makepyfile(GRADED.format(graders=graders, check=check))
        outcomes = {"passed": 1} if passes else {"failed": 1}
        app_pages.record().assert_outcomes(**outcomes)
        app_pages.replay("--miniwob-results=r.jsonl", **outcomes)
        return read_results(str(app_pages.path / "r.jsonl")).results[0]

    return graded


@pytest.mark.sweep
def test_an_item_of_an_app_without_a_judge_has_one_trial_and_is_no_playwright_test(graded, call):
    row = graded("graders=[saved]", ["click id=1"])
    assert (row.outcome, row.rewards, row.endings, row.limits.trials) == (
        "solved", (1.0,), ("correct",), 1,
    )  # fmt: skip
    status, _, said = call("show", "apps/task/1", "--as", "playwright")
    assert status
    assert "apps/task/1 can't be a Playwright test: graders alone judge it" in said


SEEN = (
    """graders=[trajectory.visited("/next"), trajectory.visited("/next?page=2"),"""
    """trajectory.visited(re.compile("page=[0-9]")), trajectory.visited("/other"),"""
    """trajectory.asked("POST", "/save"), trajectory.asked("POST", "/save", {"name": "Bob"})]"""
)


def test_graders_alone_decide_by_the_requests_that_they_see(graded):
    row = graded(SEEN, ["click id=1", "click id=2"], passes=False)
    assert (row.outcome, row.rewards, row.endings) == ("unsolved", (1.0,), ("correct",))
    assert [str(grade) for grade in row.grades] == [
        "visited '/next': passed",
        "visited '/next?page=2': passed",
        "visited /page=[0-9]/: passed",
        "visited '/other': failed, no page is '/other'",
        "asked POST /save: passed",
        "asked POST /save with {'name': 'Bob'}: failed, no request is POST /save with "
        "{'name': 'Bob'}",
    ]


def test_a_test_sees_requests_and_downloads_and_results_do_not(graded, app_pages):
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc"
    check = f"""miniwob_episode.downloads == {{'file': '{digest}'}}
        assert miniwob_episode.asked('GET', '/next?page=2')"""
    graded("graders=[lambda episode: bool(episode.requests)]", ["click id=2"], ["click id=3"],
           check=check)  # fmt: skip
    assert "/next" not in (app_pages.path / "r.jsonl").read_text()


PAGE = """
    <!DOCTYPE html><body><button>Go</button> <a href=other.html>Other</a>
    <script>const task = { goal: "Look at the other page.", reward: null };</script>
"""
OWN = """
    import pytest
    from pytest_miniwob_agent import trajectory

    GRADERS = [trajectory.visited("/other.html"), trajectory.only("Click")]

    @pytest.mark.miniwob("first", pages="web", seeds=[1], {arguments})
    def test_task(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


INI = "miniwob_agent = mine:Agent\n"
AGENT = """
    class Agent:
        name = "clicks"

        def solve(self, env, llm, note):
            seen = env.reset()
            llm.complete(seen.goal, "plan")
            env.call("click", {"element": seen.elements[-1].id})
"""


@pytest.fixture
def own(project):
    pages = project.mkdir("web").joinpath("first")
    pages.mkdir()
    pages.joinpath("index.html").write_text(PAGE)
    pages.joinpath("other.html").write_text("<p>Other</p>")
    return project


def test_the_end_of_the_agents_work_ends_the_only_trial_of_a_page_without_a_judge(own):
    arguments = 'reward="graders", graders=GRADERS'
    own.write(
        OWN.format(arguments=arguments),
        ini="miniwob_results = r.jsonl\n" + INI,
        conftest="",
        mine=AGENT,
    )
    own.record_and_replay("-v", passed=1)
    [row] = read_results(str(own.path / "r.jsonl")).results
    assert (row.rewards, row.endings, row.steps) == ((1.0,), ("correct",), 1)
    [line] = [json.loads(line) for line in (own.path / "r.jsonl").read_text().splitlines()[1:]]
    assert line["limits"]["graded"] is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('reward="graders"', "*first*has neither a judge nor graders*"),
        ("graders=GRADERS", "*1 failed*"),
        ('reward="none"', "*reward must be one of full, any, graders, not 'none'*"),
    ],
)
def test_what_nobody_judges_is_no_success(own, arguments, said):
    own.write(OWN.format(arguments=arguments), ini=INI, conftest="", mine=AGENT)
    own.record().stdout.fnmatch_lines([said])


def test_pages_that_judge_are_not_left_to_graders(own):
    test = OWN.format(arguments='reward="graders"').replace('"first"', '"click-test"')
    own.write(test, ini=INI, conftest="", mine=AGENT)
    own.runpytest().stdout.fnmatch_lines(['*reward="graders" is for pages of your own*'])
