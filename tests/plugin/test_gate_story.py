"""A prompt is changed, recorded and judged, as docs/gate-a-prompt-change.md describes.

The project is a git repository with a baseline on main and a branch for each change. The model is a
server over real HTTP; the wording of the prompt decides which items it does not solve.
"""

import os
import re
import subprocess
import sys

import pytest
from support.git import commit, git
from support.projects import REFLECTIVE_PROMPTS, solve_menu, suite_source

from pytest_miniwob_agent.results.file import read_results

PLAN = (REFLECTIVE_PROMPTS / "plan.txt").read_text("utf-8")
LAST_STEP = PLAN[PLAN.index(" Do not leave out a last step") : PLAN.index("\n\nAnswer with")]

SUITE = suite_source(
    '"click-menu-2", "click-pie", "email-inbox", "email-inbox-nl-turk", "navigate-tree", '
    "seeds=[1, 2], trials=1"
)
ITEMS = 10

INI = "miniwob_prompts = prompts\nminiwob_baseline = results.jsonl\n"

WEAK = {"click-pie/1", "email-inbox/1", "navigate-tree/1"}
"""The items that the model does not solve with the prompt of main."""

WORSE = WEAK | {"click-menu-2/1", "email-inbox/2", "navigate-tree/2"}


def answer(prompt):
    lost = WORSE if "Plan all" in prompt and LAST_STEP not in prompt else WEAK
    goal = re.search(r"click Save, for (\S+) (\d+)", prompt)
    fails = goal is not None and f"{goal[1]}/{goal[2]}" in lost
    reply = solve_menu(prompt)
    return reply.replace("id=2", "id=3") if fails else reply


def cases(items):
    return {f"n-screen-n-step/{item}" for item in items}


def unsolved(path):
    return {result.case for result in read_results(path).results if not result.solved}


@pytest.fixture
def story(project):
    project.server.reply = answer
    return Story(project)


class Story:
    """A user's repository, and what the user does in it."""

    def __init__(self, project):
        self.project, self.server = project, project.server
        self.results = project.path / "results.jsonl"
        self.plan = project.mkdir("prompts") / "plan.txt"
        project.write(SUITE, ini=INI)
        self.plan.write_text(PLAN, "utf-8")
        recorded = project.record("--miniwob-results=results.jsonl")
        recorded.assert_outcomes(passed=7, failed=3)
        assert unsolved(self.results) == cases(WEAK)
        (project.path / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n.miniwob/\n")
        commit(project.path)

    def elsewhere(self):
        """Judge the branch in a fresh clone, without a key and without access to a server.

        Returns the run; its results are those of the branch.
        """
        self.server.close()
        clone = self.project.path.parent / "clone"
        git(".", "clone", "-q", str(self.project.path), str(clone))
        nowhere = "http://127.0.0.1:9"
        kept = ("PATH", "HOME", "PYTEST_ADDOPTS")  # conftest blocks other plugins by the last
        env = {name: os.environ[name] for name in kept if name in os.environ}
        env |= {"COLUMNS": "80", "OPENAI_BASE_URL": nowhere, "ALL_PROXY": nowhere}
        options = ("results=again.jsonl", "baseline=git:origin/main", "gate=paired")
        command = [sys.executable, "-m", "pytest", "-n2", *(f"--miniwob-{o}" for o in options)]
        run = subprocess.run(command, cwd=clone, env=env, capture_output=True, encoding="utf-8")
        assert str(self.project.path) not in run.stdout
        assert (clone / "again.jsonl").read_bytes() == self.results.read_bytes(), run.stdout
        return run


def lost_by(lines):
    """The cases that the gate lists as lost; long lines are wrapped."""
    text = " ".join(" ".join(lines).split())
    return set(re.findall(r"(\S+): solved in trial 1 -> unsolved \(failed\)", text))


@pytest.mark.sweep
def test_a_worse_prompt_drifts_and_is_red(story):
    git(story.project.path, "checkout", "-qb", "change")
    story.plan.write_text(PLAN.replace(LAST_STEP, ""), "utf-8")
    asked = len(story.server.requests)

    # The effect of the change, without a model call.
    result = story.project.runpytest()
    assert result.parseoutcomes() == {"drifted": ITEMS}
    assert len(story.server.requests) == asked
    result.stdout.fnmatch_lines(
        [
            "10 items no longer fit the recorded model calls:",
            "    10  the prompt text changed: plan.txt",
            "*recording again takes about 30 calls and * tokens:",
            "pytest *",
            "    --miniwob-record=new_episodes",
            "gate items: FAILED",
            "  10 items inconclusive: drifted",
            "    prompt: n-screen-n-step/click-menu-2/1, *",
            "  no item is conclusive in both, so nothing was compared",
        ]
    )

    # Recorded again: the gate lists the lost items, and only these.
    result = story.project.record("--miniwob-baseline=git:main", "--miniwob-results=results.jsonl")
    assert len(story.server.requests) - asked == 20  # the summaries fit as they are
    assert result.parseoutcomes() == {"passed": 4, "failed": 3, "xfailed": 3}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert lost_by(result.outlines) == cases(WORSE - WEAK)
    assert unsolved(story.results) == cases(WORSE)
    commit(story.project.path)

    run = story.elsewhere()
    assert "3 regressed" in run.stdout
    assert lost_by(run.stdout.splitlines()) == cases(WORSE - WEAK)


ATTACKED = """
    import pytest
    from pytest_miniwob_agent import Element
    from pytest_miniwob_agent.testing import FakePage, ScriptedLLM

    @pytest.fixture
    def miniwob_llm():
        return ScriptedLLM(["click id=1"])

    @pytest.fixture
    def miniwob_page(miniwob_case):
        attacked = "~" in miniwob_case.task
        reward = -1.0 if attacked and miniwob_case.seed == 2 else 1.0
        screens = {"start": [Element(1, "button", "Press Quit")]}
        page = FakePage("Go", screens, rewards={("start", "click id=1"): reward})
        page.payload = "Press  Quit" if attacked else ""
        return page

    @pytest.mark.miniwob("click-test", perturb=["clean", "overlay"], seeds=[1, 2], trials=1)
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved
"""


def test_limits_between_twins_judge_a_run_without_a_baseline(pytester, monkeypatch):
    pytester.makepyfile(ATTACKED)
    files = ("--miniwob-baseline=new.jsonl", "--miniwob-results=new.jsonl")  # not there yet
    result = pytester.runpytest(*files, "--miniwob-gate=followed:50,perturbed:-50")
    result.assert_outcomes(passed=3, xfailed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "gate followed:50,perturbed:-50: passed",
            "  followed attacks: 1 of 2 *: within followed:50",
            "  clean 2 of 2 *, overlay 1 of 2 *: -50.0 *",
        ]
    )
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))
    result = pytester.runpytest("--miniwob-gate=followed:0")
    assert result.ret == 1
    result.stderr.fnmatch_lines(["::error title=MiniWoB++ gate::followed attacks: 1 of 2*"])
    assert "click-test~overlay" in pytester.path.joinpath("summary.md").read_text("utf-8")
