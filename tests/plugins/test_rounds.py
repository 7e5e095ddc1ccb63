"""The gate `until-decided` in runs: rounds of items, and what is not needed after the decision."""

import re
import shutil
from itertools import chain
from textwrap import dedent

import pytest
from filelock import FileLock
from support.projects import REFLECTIVE_PROMPTS
from support.sweeps import swept

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.results.file import read_results
from pytest_miniwob_agent.results.rounds import plan_rounds

from .many_items import CHANGED, ITEMS, PAGE, SUITE, fail, judged, solve

JUDGED = "--miniwob-baseline=base.jsonl", "--miniwob-gate=until-decided"


@pytest.fixture
def project(project, recordings):
    """Sixty items that were solved, and then another wording of the prompt."""
    kept = recordings / "until-decided.jsonl"
    project.write(SUITE, PAGE, ini="miniwob_prompts = prompts\n")
    prompts = project.mkdir("prompts") / "plan.txt"
    text = (REFLECTIVE_PROMPTS / "plan.txt").read_text("utf-8")
    prompts.write_text(text, "utf-8")
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            project.server.reply = solve
            project.record(f"--miniwob-results={kept}").assert_outcomes(passed=ITEMS)
            shutil.rmtree(project.path / "cassettes")
    shutil.copy(kept, project.path / "base.jsonl")
    prompts.write_text(text.replace("Plan all the actions", CHANGED), "utf-8")
    assert CHANGED in prompts.read_text("utf-8")
    return project


def record_baseline(project):
    """Record all items with the wording of the baseline, as it is in most projects."""
    changed = (project.path / "prompts/plan.txt").read_text("utf-8")
    shutil.copy(REFLECTIVE_PROMPTS / "plan.txt", project.path / "prompts")
    project.server.reply = solve
    project.record()
    (project.path / "prompts/plan.txt").write_text(changed, "utf-8")


class TestDecision:
    @pytest.mark.parametrize("workers", ["-n1", *swept("-n2")])
    def test_a_run_ends_with_the_round_that_shows_a_fall(self, project, workers):
        """By hand: √10 = 3.16 is below the first bound of 3.20 for six looks, √20 above 2.84."""
        project.server.reply = fail
        result = project.record(*JUDGED, "--miniwob-results=new.jsonl", workers)
        assert result.ret == 1
        outcomes = result.parseoutcomes()
        assert outcomes["regressed"] + outcomes["skipped"] == ITEMS
        assert 20 <= outcomes["regressed"] <= 24  # workers do not wait for each other
        assert "gate until-decided:0.05: FAILED whole: the solved rate fell" in judged(result)
        assert "decided in round 2 of 6, 20 of 60 items" in judged(result)
        found = read_results(project.path / "new.jsonl")
        assert len(found.results) == 20
        assert found.partial == ("decided by 20 items, others not needed",)
        again = project.runpytest(*JUDGED, "--miniwob-results=again.jsonl")
        assert again.ret == 1
        assert again.parseoutcomes() == {"regressed": 20, "skipped": 40}
        assert judged(again).count("decided in round 2 of 6") == 1
        written = [(project.path / f"{name}.jsonl").read_bytes() for name in ("new", "again")]
        assert written[0] == written[1]

    @pytest.mark.sweep
    def test_a_run_ends_with_the_round_that_rules_a_loss_out(self, project):
        """By hand: with nothing lost of n, 10 points are ruled out from 9 z² items; z is 2.27."""
        project.server.reply = solve
        result = project.record(*JUDGED, "-rs")
        assert (result.ret, result.parseoutcomes()) == (0, {"passed": 50, "skipped": 10})
        assert "not needed: round 5 of 6 has decided" in result.stdout.str()
        assert "decided in round 5 of 6, 50 of 60 items" in judged(result)
        assert "not decided" not in judged(result)
        again = project.runpytest(*JUDGED)
        assert (again.ret, again.parseoutcomes()) == (0, {"passed": 50, "skipped": 10})

    @pytest.mark.sweep
    def test_what_all_rounds_do_not_decide_is_inconclusive(self, project):
        lost = re.compile(r"Save, for click-tab 1?[12]\b")
        project.server.reply = lambda prompt: (fail if lost.search(prompt) else solve)(prompt)
        result = project.record(*JUDGED)
        assert result.ret == 1
        assert result.parseoutcomes() == {"passed": 56, "regressed": 4}
        assert "inconclusive, which fails the run" in judged(result)
        assert "-> record more seeds, at the baseline's commit first" in judged(result)
        assert "not decided in round 6 of 6, 60 of 60 items" in judged(result)

    @pytest.mark.sweep
    def test_at_the_commit_of_the_baseline_more_seeds_are_recorded(self, project):
        shutil.rmtree(project.path / "prompts")
        shutil.copytree(REFLECTIVE_PROMPTS, project.path / "prompts")
        project.server.reply = solve
        result = project.record(*JUDGED, "--miniwob-seeds=0-20", "--miniwob-results=new.jsonl")
        assert (result.ret, result.parseoutcomes()) == (0, {"passed": ITEMS + 3})
        assert "every item ran as in the baseline, call by call" in judged(result)
        assert len(read_results(project.path / "new.jsonl").results) == ITEMS + 3

    def test_items_that_are_left_out_on_purpose_are_in_no_round(self, project):
        project.server.reply = fail
        result = project.record(*JUDGED, "-k", "click-menu-2 or click-tab")
        assert "decided in round 1 of 4, 10 of 40 items" in judged(result)
        assert "left out on purpose: 20 items of the baseline" in judged(result)

    @pytest.mark.sweep
    def test_what_workers_play_ahead_does_not_drift(self, project):
        """Rounds that were not recorded again have the tapes of the baseline."""
        record_baseline(project)
        project.server.reply = fail
        project.record(*JUDGED, "--miniwob-results=new.jsonl")
        order = list(chain(*plan_rounds(read_results(project.path / "base.jsonl").items)))
        project.makeconftest(
            f"{dedent(PAGE)}{dedent(PACE).format(last=order[19], first=order[:20])}"
        )
        replayed = project.runpytest(*JUDGED, "-n2", "--miniwob-results=again.jsonl")
        assert replayed.parseoutcomes() == {"regressed": 20, "skipped": 40}
        assert "decided in round 2 of 6" in judged(replayed)
        written = [(project.path / f"{name}.jsonl").read_bytes() for name in ("new", "again")]
        assert written[0] == written[1]


PACE = """
    import time
    from pathlib import Path

    @pytest.fixture(autouse=True)
    def pace(miniwob_case):
        'The last item of the round that decides ends after a further one has begun.'
        begun = Path("begun")
        if miniwob_case.item not in {first}:
            begun.touch()
        while miniwob_case.item == "{last}" and not begun.exists():
            time.sleep(0.01)
"""


class TestRecording:
    @pytest.mark.sweep
    def test_a_budget_that_ends_within_a_round_says_what_is_left(self, project):
        project.server.reply = fail
        result = project.record(*JUDGED, "--miniwob-max-calls=15")
        assert result.ret == 1
        assert "not decided in round 2 of 6, 20 of 60 items" in judged(result)
        assert "inconclusive: budget" in judged(result)
        assert "-> raise the budget and run these items again" in judged(result)
        done = project.record(*JUDGED)
        assert "decided in round 2 of 6, 20 of 60 items" in judged(done)

    def test_deferred_calls_are_those_of_one_round(self, project):
        result = project.runpytest(*JUDGED, "--miniwob-record=defer", "-rs")
        assert result.parseoutcomes() == {"waiting": 10, "skipped": 50}
        assert "not run: round 1 of 6 has items without an outcome" in result.stdout.str()
        (pending,) = project.path.glob("**/*pending*.jsonl")
        assert len(pending.read_text("utf-8").splitlines()) == 10

    @pytest.mark.sweep
    def test_a_round_that_is_not_recorded_is_no_error_in_a_replay(self, project):
        project.server.reply = solve
        project.record(*JUDGED, "--miniwob-max-calls=20")
        result = project.runpytest(*JUDGED)
        assert "errors" not in result.parseoutcomes()
        assert result.ret == 1

    @pytest.mark.sweep
    @pytest.mark.parametrize("old", [False, True], ids=["no tapes", "tapes of the baseline"])
    def test_shards_record_a_round_each_time(self, project, capsys, monkeypatch, old):
        monkeypatch.chdir(project.path)
        if old:
            record_baseline(project)
        project.server.reply = fail

        def shards():
            for group in (1, 2):
                split = f"--splits=2 --group={group} --splitting-algorithm=least_duration"
                project.record(*JUDGED, *split.split(), f"--miniwob-results={group}.jsonl")
            assert main(["results", "merge", "1.jsonl", "2.jsonl", "-o", "all.jsonl"]) == 0
            capsys.readouterr()
            gate = "--gate", "until-decided"
            status = main(["compare", "base.jsonl", "all.jsonl", *gate])
            return status, " ".join(capsys.readouterr().out.split())

        status, text = shards()
        assert status == 1
        assert "not decided in round 1 of 6, 10 of 60 items" in text
        assert "-> run the next round; what is recorded replays" in text
        status, text = shards()
        assert status == 1
        assert "decided in round 2 of 6, 20 of 60 items" in text
        assert len(read_results("all.jsonl").results) == 20


class TestPlan:
    def test_it_is_a_table_of_items_and_money_and_runs_nothing(self, project):
        prices = "--miniwob-prices=m 1000000 0"
        result = project.runpytest(*JUDGED, prices, "--miniwob-plan")
        assert result.ret == 0
        lines = result.stdout.lines
        assert max(map(len, lines)) <= 80
        text = " ".join(" ".join(lines).split())
        assert text.startswith("base.jsonl: 60 items, 100 % solved; without repeats, two runs are")
        rows = [line.split() for line in lines if "points  " in line]
        # Without a flip, McNemar's test needs z² / d items to find a loss of d, and power for it.
        assert [row[0] for row in rows] == ["5", "10", "20"]
        for _, _, items, money, most, mean, cost, found in rows:
            assert int(items) < int(most)
            assert int(mean) <= int(most)
            assert float(money.strip("$")) / int(items) == pytest.approx(
                float(cost.strip("$")) / int(mean), rel=0.05
            )
            assert 40 <= int(found.strip("%")) <= 100

    def test_it_needs_a_gate_of_pairs(self, project):
        result = project.runpytest("--miniwob-baseline=base.jsonl", "--miniwob-plan")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "--miniwob-plan is for the gates paired and until-decided" in result.stderr.str()


def test_a_run_without_the_plugin_judges_alike_and_skips_nothing(project):
    project.server.reply = fail
    result = project.record(*JUDGED, "-k", "click-tab", "-pno:miniwob-rounds")
    assert result.parseoutcomes() == {"regressed": 20, "deselected": 40}
    assert "decided in round 1 of 2, 10 of 20 items" in judged(result)
