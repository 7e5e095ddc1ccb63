"""The gates on two set-ups of one run, as two folders of prompts, fixed and in rounds."""

import shutil

import pytest
from support.projects import REFLECTIVE_PROMPTS
from support.sweeps import swept

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.results.file import read_results

from .many_items import CHANGED, PAGE, SUITE, fail, judged, solve


def fail_if_changed(prompt):
    return fail(prompt) if CHANGED in prompt else solve(prompt)


@pytest.fixture
def two(project):
    """The same items with both wordings of the prompt, each a set-up of its own."""
    old = project.mkdir("old") / "plan.txt"
    shutil.copy(REFLECTIVE_PROMPTS / "plan.txt", old)
    text = (REFLECTIVE_PROMPTS / "plan.txt").read_text("utf-8")
    new = project.mkdir("new") / "plan.txt"
    new.write_text(text.replace("Plan all the actions", CHANGED), "utf-8")
    project.write(conftest=PAGE)
    project.server.reply = fail_if_changed

    def write(agents='("reflective", {"prompts": "old"}), ("reflective", {"prompts": "new"})'):
        project.makepyfile(SUITE.replace("trials=1", f"trials=1, agents=[{agents}]"))

    write()
    project.write_agents = write
    return project


OLD, NEW = "reflective-old/m", "reflective-new/m"
SMALL = "--miniwob-seeds=0-9"  # 30 items, in three rounds
GATE = "--miniwob-gate=until-decided"


@pytest.mark.parametrize("workers", ["-n0", *swept("-n2")])
def test_two_of_one_run_are_compared_round_by_round_and_replay_to_the_same(two, workers):
    result = two.record(GATE, "--miniwob-results=new.jsonl", workers)
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert sum(outcomes.values()) == 120
    assert 20 <= outcomes["xfailed"] <= 24
    text = judged(result)
    assert "agent: reflective-old -> reflective-new prompt plan.txt: " in text
    assert "FAILED whole: the solved rate fell from 100 to 0 % over 20 items" in text
    assert "decided in round 2 of 6, 20 of 60 items" in text
    assert "baseline again" not in text
    lines = result.stdout.str().partition("MiniWoB++ gate =")[2].splitlines()
    assert max(map(len, lines)) <= 80
    found = read_results(two.path / "new.jsonl")
    assert {setup: len(own.items) for setup, own in found.by_setup.items()} == {
        OLD: 20,
        NEW: 20,
    }
    again = two.runpytest(GATE, "--miniwob-results=again.jsonl")
    assert again.ret == 1
    assert judged(again).count("decided in round 2 of 6") == 1
    written = [(two.path / f"{name}.jsonl").read_bytes() for name in ("new", "again")]
    assert written[0] == written[1]


@pytest.mark.sweep
def test_the_first_is_that_of_the_marker_or_the_one_that_is_named(two, capsys):
    two.record(SMALL, "--miniwob-results=r.jsonl")
    named = f"--miniwob-baseline=setup:{NEW}"
    for gate in ("until-decided", "paired:by-task"):
        result = two.runpytest(SMALL, f"--miniwob-gate={gate}")
        assert result.ret == 1
        assert "agent: reflective-old -> reflective-new" in judged(result)
        result = two.runpytest(SMALL, f"--miniwob-gate={gate},lenient", named)
        assert result.ret == 0
        assert "agent: reflective-new -> reflective-old" in judged(result)
        file = str(two.path / "r.jsonl")
        assert main(["compare", file, f"--first={OLD}", "--gate", gate]) == 1
        assert main(["compare", file, f"--first={NEW}", "--gate", f"{gate},lenient"]) == 0
    result = two.runpytest(SMALL, GATE, "--miniwob-results=r.jsonl")
    capsys.readouterr()
    assert main(["compare", file, f"--first={OLD}", "--gate", "until-decided"]) == 2
    assert "partial run (decided by 10 items, others" in capsys.readouterr().err


@pytest.mark.sweep
def test_more_seeds_are_for_both(two):
    two.server.reply = solve
    result = two.record(SMALL, GATE)
    assert result.ret == 1
    text = judged(result)
    assert "0 worse, 0 better: too few items" in text
    assert "-> record more seeds, for instance twice as many" in text
    assert "--miniwob-gate=until-decided" in text
    assert "--miniwob-seeds=0-19" in text  # instead of those that were given


def test_deferred_calls_are_those_of_one_round_of_both(two):
    result = two.runpytest(SMALL, GATE, "--miniwob-record=defer")
    assert result.parseoutcomes() == {"waiting": 20, "skipped": 40}
    assert "10 items inconclusive: waiting" in judged(result)


def test_a_budget_that_ends_says_which_round_was_reached(two):
    result = two.record(SMALL, GATE, "--miniwob-max-calls=10")
    assert result.ret == 1
    assert "inconclusive: budget" in judged(result)
    assert "not decided in round 1 of 3, 10 of 30 items" in judged(result)


def test_a_run_that_stops_within_a_round_has_not_decided(two):
    result = two.record(SMALL, GATE, "--maxfail=1", "--runxfail")
    assert result.ret == 1
    assert "9 items did not run with both set-ups" in judged(result)
    assert "not decided in round 1 of 3" in judged(result)


@pytest.mark.parametrize(
    ("agents", "options", "message"),
    [
        ('"reflective"', [GATE], "gate=until-decided:0.05 has nothing to compare with: name a"),
        (
            '"reflective", ("reflective", {"memory": "none"}), ("reflective", {"actions": "all"})',
            [GATE],
            "compares two set-ups, not 3: select two of",
        ),
        (None, [GATE, "-k", "old or menu"], "one does not have 1-screen-1-step/click-dialog/0"),
        (
            None,
            ["--miniwob-baseline=setup:old/m"],
            "setup:old/m is no set-up of this run, which has",
        ),
        (None, [GATE, "--miniwob-shard=1/2"], "can't compare two set-ups of a run in shards"),
        (None, [GATE, "--miniwob-plan"], "--miniwob-plan needs the results of an earlier run"),
    ],
    ids=["one", "three", "other items", "unknown", "shard", "plan"],
)
def test_what_can_not_be_compared_is_an_error(two, agents, options, message):
    two.write_agents(*filter(None, [agents]))
    result = two.record(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()
    assert not two.server.requests


def test_workers_report_what_can_not_be_compared_too(two):
    two.write_agents('"reflective"')
    result = two.record(GATE, "-n1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in result.stdout.str()
    assert "has nothing to compare with" in result.stdout.str()
