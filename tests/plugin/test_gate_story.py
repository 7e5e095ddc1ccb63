"""A prompt is changed, recorded and judged, as docs/gate-a-prompt-change.md describes.

The project is a git repository with a baseline on main and a branch for each change. The model is a
server over real HTTP; the wording of the prompt decides which items it does not solve.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from projects import solve_menu

import pytest_miniwob_agent
from pytest_miniwob_agent.results.file import read_results

PLAN = (
    Path(pytest_miniwob_agent.__file__)
    .parent.joinpath("agents/reflective/prompts/plan.txt")
    .read_text("utf-8")
)

SUITE = """
    import pytest

    @pytest.mark.miniwob(
        "click-dialog*", "click-menu-2", "click-pie", "email-inbox", "email-inbox-nl-turk",
        "navigate-tree", seeds=[1, 2], trials=1,
    )
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""

INI = """[pytest]
miniwob_model = m
miniwob_prompts = prompts
miniwob_baseline = results.jsonl
addopts = -p no:randomly
"""

ITEMS = 14
"""7 tasks at 2 seeds."""

WEAK = {"click-pie/1", "email-inbox/1", "navigate-tree/1"}
"""The items that the model does not solve with the prompt of main."""

LAST_STEP = PLAN[PLAN.index(" Do not leave out a last step") : PLAN.index("\n\nAnswer with")]
PLAN_ALL = "Plan all the actions towards the goal"

CHANGES = {
    "worse": (
        PLAN.replace(LAST_STEP, ""),
        WEAK | {
            "click-menu-2/1", "click-menu-2/2", "email-inbox/2", "email-inbox-nl-turk/1",
            "email-inbox-nl-turk/2", "navigate-tree/2",
        },
    ),
    "better": (PLAN.replace(PLAN_ALL, "Think first. " + PLAN_ALL), {"click-pie/1"}),
}  # fmt: skip
"""Each branch: its plan.txt, and the items that the model does not solve with that."""


def answer(prompt):
    """Reply as the model: for the items that it does not solve, it clicks the wrong entry."""
    lost = WEAK
    if "Think first." in prompt:
        lost = CHANGES["better"][1]
    elif "Plan all" in prompt and LAST_STEP not in prompt:
        lost = CHANGES["worse"][1]
    goal = re.search(r"click Save, for (\S+) (\d+)", prompt)
    fails = goal is not None and f"{goal[1]}/{goal[2]}" in lost
    reply = solve_menu(prompt)
    return reply.replace("id=2", "id=3") if fails else reply


def cases(items):
    """The ids of items that are given as task and seed."""
    tasks = {"click-dialog": "1-screen-1-step", "click-dialog-2": "1-screen-1-step"}
    return {f"{tasks.get(item.partition('/')[0], 'n-screen-n-step')}/{item}" for item in items}


def unsolved(path):
    return {result.case for result in read_results(path).results if not result.solved}


@pytest.fixture
def story(project, chat_server, monkeypatch):
    """The project with its recorded suite and baseline, committed on main; the model is running."""
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "a")
        monkeypatch.setenv(f"{name}_EMAIL", "a@example.com")
    chat_server.reply = answer
    return Story(project, chat_server)


class Story:
    """A user's repository, and what the user does in it."""

    def __init__(self, project, server):
        self.project, self.server = project, server
        self.results = project.path / "results.jsonl"
        self.plan = project.path / "prompts" / "plan.txt"
        for path in project.path.glob("test_*.py"):
            path.unlink()
        self.project.makepyfile(test_of_mine=SUITE)
        self.project.makeini(INI)
        self.plan.parent.mkdir()
        self.plan.write_text(PLAN, "utf-8")
        self.record("--miniwob-results=results.jsonl").assert_outcomes(
            passed=ITEMS - len(WEAK), failed=len(WEAK)
        )
        assert unsolved(self.results) == cases(WEAK)
        (self.project.path / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n.miniwob/\n")
        self.git("init", "-q", "-b", "main")
        self.commit("A suite and its baseline")

    def git(self, *args):
        subprocess.run(["git", *args], cwd=self.project.path, check=True, capture_output=True)

    def commit(self, message):
        self.git("add", ".")
        self.git("commit", "-qm", message)

    def change(self, branch):
        self.git("checkout", "-qb", branch)
        self.plan.write_text(CHANGES[branch][0], "utf-8")

    def record(self, *args):
        url = f"--miniwob-base-url={self.server.url}"
        return self.project.runpytest(*args, "--miniwob-record=new_episodes", url)

    def elsewhere(self, *args):
        """Replay the branch in a fresh clone, without a key and without access to a server.

        Returns the run and the bytes of its results file.
        """
        self.server.close()
        clone = self.project.path.parent / "clone"
        shutil.rmtree(clone, ignore_errors=True)
        self.git("clone", "-q", str(self.project.path), str(clone))
        nowhere = "http://127.0.0.1:9"
        kept = ("PATH", "HOME", "PYTEST_ADDOPTS")  # conftest blocks other plugins by the last
        env = {name: os.environ[name] for name in kept if name in os.environ}
        env |= {"COLUMNS": "80", "OPENAI_BASE_URL": nowhere, "ALL_PROXY": nowhere}
        command = [sys.executable, "-m", "pytest", "--miniwob-results=again.jsonl", *args]
        run = subprocess.run(command, cwd=clone, env=env, capture_output=True, encoding="utf-8")
        assert str(self.project.path) not in run.stdout
        again = clone / "again.jsonl"
        assert again.exists(), run.stdout + run.stderr
        return run, again.read_bytes()


def counts(run):
    return pytest.RunResult.parse_summary_nouns(run.stdout.splitlines())


def section(lines, title):
    """The lines of one part of the terminal's summary."""
    found = None
    for line in lines:
        if found is not None:
            if line.startswith("==="):
                break
            found.append(line)
        elif line.startswith("===") and f" {title} " in line:
            found = []
    return found or []


def named(lines, change):
    """The cases that the gate lists with this change; long lines are wrapped."""
    text = " ".join(" ".join(section(lines, "MiniWoB++ gate")).split())
    return set(re.findall(rf"(\S+): {re.escape(change)}", text))


LOST = "solved in trial 1 -> unsolved (failed)"
WON = "unsolved (failed) -> solved in trial 1"


def test_a_worse_prompt_drifts_and_is_red(story):
    story.change("worse")
    asked = len(story.server.requests)

    # The effect of the change, without a model call.
    result = story.project.runpytest()
    assert result.parseoutcomes() == {"drifted": ITEMS}
    assert len(story.server.requests) == asked
    result.stdout.fnmatch_lines(
        [
            "14 items no longer fit the recorded model calls:",
            "    14  the prompt text changed: plan.txt",
            "By the old cassettes, recording again takes about 42 calls and * tokens:",
            "pytest *--miniwob-record=new_episodes",
            "gate items: FAILED",
            "  14 items inconclusive: drifted",
            "    prompt: 1-screen-1-step/click-dialog-2/1, *",
            "  no item is conclusive in both, so nothing was compared",
        ]
    )

    # Recorded again: the gate lists the lost items, and only these.
    lost = cases(CHANGES["worse"][1] - WEAK)
    result = story.record("--miniwob-baseline=git:main", "--miniwob-results=results.jsonl")
    assert len(story.server.requests) - asked == 28  # the summaries fit as they are
    assert result.parseoutcomes() == {"passed": ITEMS - 9, "failed": 6, "xfailed": 3}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert named(result.outlines, LOST) == lost
    assert named(result.outlines, WON) == set()
    assert unsolved(story.results) == cases(CHANGES["worse"][1])
    story.commit("Shorten the plan prompt")

    recorded = story.results.read_bytes()
    run, again = story.elsewhere(
        "--miniwob-baseline=git:origin/main", "--miniwob-gate=paired", "-n2"
    )
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    assert counts(run) == {"passed": ITEMS - 9, "regressed": 6, "xfailed": 3}
    assert named(run.stdout.splitlines(), LOST) == lost
    assert again == recorded


def test_progress_of_a_better_prompt_becomes_the_baseline(story):
    story.change("better")
    won = cases(WEAK - CHANGES["better"][1])
    result = story.record("--miniwob-results=head.jsonl")
    assert result.parseoutcomes() == {"passed": ITEMS - 3, "progressed": 2, "xfailed": 1}
    assert result.ret == pytest.ExitCode.OK
    assert named(result.outlines, WON) == won
    result.stdout.fnmatch_lines(
        [
            "  2 items solved now and not in the baseline",
            "if the change is kept, replay this run with --miniwob-results=results.jsonl and*",
        ]
    )
    story.project.runpytest("-k", "email-inbox").stdout.fnmatch_lines(
        ["if the change is kept, run all items with --miniwob-results=results.jsonl and*"]
    )

    # Commit it as the baseline, so that losing an item again is a regression.
    result = story.project.runpytest("--miniwob-results=results.jsonl")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "if the change is kept, this run is the next baseline: commit results.jsonl",
            "results: results.jsonl",
        ]
    )
    assert unsolved(story.results) == cases(CHANGES["better"][1])
    story.project.runpytest().assert_outcomes(passed=ITEMS - 1, xfailed=1)
    story.commit("Let the model think first")

    recorded = story.results.read_bytes()
    run, again = story.elsewhere("--miniwob-baseline=git:origin/main", "--miniwob-gate=paired")
    assert run.returncode == pytest.ExitCode.OK, run.stdout
    assert again == recorded
