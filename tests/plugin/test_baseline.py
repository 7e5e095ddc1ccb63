"""Results, baseline and gate of pytest runs, on the fake pages of conftest."""

import re
import shutil
from dataclasses import replace

import pytest
from support.git import commit
from support.projects import FAKE_PAGE, solve_menu, suite_source

from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.outcome import Status, Tokens
from pytest_miniwob_agent.results.file import Results, read_results

MENU = "n-screen-n-step/click-menu-2/1"
OTHER_MENU = "n-screen-n-step/click-menu-2/2"


TASKS = '"click-menu-2", "click-tab"'


@pytest.fixture
def project(project):
    project.write(suite_source(f"{TASKS}, seeds=[1, 2]"))
    return project


def lose(*lost):
    def reply(prompt):
        if "Answer with one line of this form" in prompt:
            return "For action index=1, you should click id=3."
        if any(f"{goal}." in prompt or f"{goal}\n" in prompt for goal in lost):
            return solve_menu(prompt).replace("id=2", "id=3")
        return solve_menu(prompt)

    return reply


@pytest.fixture
def run(project, recordings):
    """Run the project's items, as a model was recorded that loses some of them.

    Without `lost` the cassettes are those of the call before.
    """

    def run(*args, lost=None):
        if lost is not None:
            kept = recordings / "-".join(["lost", *lost])
            project.use_recordings(kept, lose(*lost), "--miniwob-trials=2")
        return project.runpytest(*args, "--miniwob-trials=2")

    return run


@pytest.fixture
def baseline(run, project, recordings):
    kept, file = recordings / "base.jsonl", project.path / "base.jsonl"
    lost = ["click-menu-2 2"]
    if not kept.exists():
        run(f"--miniwob-results={kept}", lost=lost).assert_outcomes(passed=3, failed=1)
    project.use_recordings(recordings / "-".join(["lost", *lost]), None)
    shutil.copy(kept, file)
    return file


WITHOUT_OUTCOMES = """
    import pytest

    @pytest.mark.miniwob("click-test", seeds=[1])
    def test_without_an_episode(miniwob_case):
        assert miniwob_case.seed == 1

    @pytest.mark.skip
    @pytest.mark.miniwob("click-test", seeds=[2])
    def test_skipped(miniwob_episode):
        assert miniwob_episode.solved
"""


class TestResults:
    def test_there_is_one_line_an_item_with_its_outcome(self, baseline):
        results = read_results(baseline)
        assert len(results.results) == 4
        assert results.partial == ()
        by_case = {result.case: result for result in results.results}
        solved, failed = by_case[MENU], by_case[OTHER_MENU]
        assert (solved.outcome, solved.solved_at, solved.endings) == ("solved", 1, ("correct",))
        assert (failed.outcome, failed.solved_at) == ("unsolved", None)
        assert failed.endings == ("failed", "failed")
        assert solved.calls == {"plan": 2, "summarise": 1}
        assert (solved.steps, solved.tokens) == (2, Tokens(33, 9))
        assert solved.limits == Limits(trials=2)
        assert (solved.rewards, failed.rewards) == ((1.0,), (-1.0, -1.0))
        assert (solved.response_models, solved.system_fingerprints) == (("m",), ())
        assert (solved.agent, solved.model, solved.params) == ("reflective", "m", {})
        assert set(solved.prompts) == {"plan.txt", "actions.txt", "summarise.txt"}
        assert "reflect.txt" in failed.prompts

    def test_a_replay_in_another_order_writes_the_same_bytes(self, baseline, run, project):
        run("--miniwob-results=again.jsonl", "-p", "randomly")
        assert (project.path / "again.jsonl").read_bytes() == baseline.read_bytes()

    def test_items_that_were_deselected_or_did_not_run_make_a_run_partial(
        self, baseline, run, project
    ):
        project.makepyfile(test_other="def test_other(): pass")
        run("--miniwob-results=part.jsonl", "-k", "click-menu-2 or tab/2", "-x")
        partial = read_results(project.path / "part.incomplete.jsonl").partial
        assert partial == ("1 item deselected", "1 item did not run")

    def test_items_that_are_skipped_or_play_no_episode_do_not_make_a_run_partial(
        self, run, project
    ):
        project.makepyfile(test_other=WITHOUT_OUTCOMES)
        result = run("--miniwob-results=r.jsonl", lost=["click-menu-2 2"])
        result.assert_outcomes(passed=4, failed=1, skipped=1)
        results = read_results(project.path / "r.jsonl")
        assert (len(results.results), results.partial) == (4, ())

    def test_runs_of_named_and_of_last_failed_items_say_so(self, baseline, run, project):
        named = f"test_x.py::test_solves[{OTHER_MENU}]"
        reasons = {named: "only tests that were named", "--lf": "only what failed last"}
        for argument, reason in reasons.items():
            run("-p", "cacheprovider", "--miniwob-results=part.jsonl", argument)
            part = read_results(project.path / "part.jsonl")
            assert part.partial[0] == reason
            assert [result.case for result in part.results] == [OTHER_MENU]

    def test_items_that_are_not_conclusive_have_a_reason(self, baseline, run, project):
        cassettes = project.path / "cassettes/reflective/m"
        (cassettes / "click-menu-2/1.yaml").unlink()
        (cassettes / "click-tab/1.yaml").write_text("garbage")
        project.makeconftest(
            FAKE_PAGE.replace("Element(1,", "Element(1 + miniwob_case.id.endswith('tab/2'),")
        )
        result = run("--miniwob-results=all.jsonl")
        result.stdout.fnmatch_lines(["*, so all.jsonl was not written"])
        written = project.path / "all.incomplete.jsonl"
        found = {r.case: r for r in read_results(written).results}
        assert (found[MENU].outcome, found[MENU].reason) == ("error", "NotRecorded")
        damaged = found["1-screen-1-step/click-tab/1"]
        assert (damaged.outcome, damaged.reason) == ("error", "Failed")
        drifted = found["1-screen-1-step/click-tab/2"]
        assert (drifted.outcome, drifted.reason) == ("drifted", "page")
        assert str(project.path) not in written.read_text()

    def test_a_run_without_all_outcomes_leaves_the_file_as_it_was(self, baseline, run, project):
        before = baseline.read_bytes()
        beside = project.path / "base.incomplete.jsonl"
        moved = project.path / "moved.yaml"
        cassette = (project.path / "cassettes/reflective/m/click-menu-2/1.yaml").rename(moved)
        result = run("--miniwob-results=base.jsonl")
        result.assert_outcomes(passed=2, failed=1, errors=1)
        assert baseline.read_bytes() == before
        assert len(read_results(beside).results) == 4
        result.stdout.fnmatch_lines(
            [
                "results: base.incomplete.jsonl",
                "not all items have an outcome, so base.jsonl stays as it was",
            ]
        )
        cassette.rename(project.path / "cassettes/reflective/m/click-menu-2/1.yaml")
        run("--miniwob-results=base.jsonl")
        assert baseline.read_bytes() == before
        assert not beside.exists()

    def test_nothing_is_written_where_no_item_runs(self, run, project):
        result = run("--miniwob-results=none.jsonl", "-k", "no_such_item")
        assert not (project.path / "none.jsonl").exists()
        result.stdout.no_fnmatch_line("*none.jsonl*")


class TestItems:
    def test_an_item_that_was_unsolved_before_is_an_expected_failure(self, baseline, run):
        result = run("--miniwob-baseline=base.jsonl", "-rx")
        result.assert_outcomes(passed=3, xfailed=1)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(
            [
                "*MiniWoB++ gate*",
                "gate items: passed",
                "XFAIL *click-menu-2/2*the baseline does not solve it either: unsolved (failed ?2)",
            ]
        )
        for without in ("--runxfail", "-pno:skipping"):
            result = run("--miniwob-baseline=base.jsonl", without)
            result.assert_outcomes(passed=3, failed=1)

    def test_an_item_that_is_no_longer_solved_fails_and_github_is_told(
        self, baseline, run, project, monkeypatch
    ):
        summary = project.path / "summary.md"
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        lost = ["click-menu-2 2", "click-menu-2 1"]
        result = run("--miniwob-baseline=base.jsonl", "-v", lost=lost)
        result.assert_outcomes(passed=2, xfailed=1, failed=1)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert "Gate `items`: **failed**" in summary.read_text()
        assert "results: base.jsonl" in summary.read_text()
        result.stderr.fnmatch_lines([f"::error title=MiniWoB++ regression::{MENU}*"])
        result.stdout.fnmatch_lines_random(
            [
                "*REGRESSED*click-menu-2/1*",
                "gate items: FAILED",
                "  1 item solved before and no longer",
                f"    {MENU}: solved in trial 1 -> unsolved (failed ?2)",
                "FAILED in trial 2, best reward *",
            ]
        )

    def test_an_item_that_is_solved_now_is_named(self, baseline, run):
        result = run("--miniwob-baseline=base.jsonl", lost=[])
        assert result.parseoutcomes() == {"passed": 3, "progressed": 1}
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(
            [
                "  1 item solved now and not in the baseline",
                f"    {OTHER_MENU}: unsolved (failed ?2) -> solved in trial 1",
                "same set-up as the baseline: keep the baseline, even if this run is better",
            ]
        )

    def test_drift_of_an_item_that_was_unsolved_before_fails_the_run(self, baseline, run, project):
        project.makeconftest(FAKE_PAGE.replace('"Quit"', '"Exit"'))
        result = run("--miniwob-baseline=base.jsonl", "-k", "click-menu-2/2")
        assert result.parseoutcomes() == {"drifted": 1, "deselected": 3}
        result.stdout.fnmatch_lines(["gate items: FAILED", "*inconclusive: drifted"])

    def test_an_error_of_the_test_itself_is_not_expected(self, baseline, run, project):
        bodies = {
            "assertion": "assert miniwob_episode.solved, 'not solved'",
            "explained": "pytest.fail(miniwob_episode.explain())",
            "undefined": "undefined",
        }
        project.test_file.write_text(
            "import pytest\n\n"
            + "".join(
                '@pytest.mark.miniwob("click-menu-2", seeds=[2])\n'
                f"def test_{name}(miniwob_episode):\n    {body}\n\n"
                for name, body in bodies.items()
            )
        )
        result = run("--miniwob-baseline=base.jsonl", "-rxf")
        result.assert_outcomes(xfailed=2, failed=1)
        result.stdout.fnmatch_lines(["FAILED test_x.py::test_undefined*"])

    def test_an_item_that_the_baseline_does_not_decide_does_not_fail_the_run(self, baseline, run):
        results = {result.case: result for result in read_results(baseline).results}
        broken_off = replace(results.pop(OTHER_MENU), outcome=Status.ERROR)
        for others, noted, why in (
            ((), "not in the baseline", "does not have it"),
            ((broken_off,), "inconclusive in the baseline itself", "is inconclusive about it"),
        ):
            Results((*results.values(), *others)).write(baseline)
            result = run("--miniwob-baseline=base.jsonl", "-rx")
            result.assert_outcomes(passed=3, xfailed=1)
            assert result.ret == pytest.ExitCode.OK
            result.stdout.fnmatch_lines(
                [
                    "gate items: passed",
                    f"  {noted}: {OTHER_MENU}*",
                    f"XFAIL *click-menu-2/2*the baseline {why}, so it decides nothing*",
                ]
            )


class TestMissing:
    def test_a_task_that_a_marker_lost_is_missing_whatever_the_arguments(
        self, baseline, run, project
    ):
        path = project.test_file
        path.write_text(path.read_text().replace('"click-menu-2", ', ""))
        named = "test_x.py::test_solves[1-screen-1-step/click-tab/1]"
        for args in ([named], ["--miniwob-seeds=1"]):
            result = run("--miniwob-baseline=base.jsonl", *args)
            assert result.ret == pytest.ExitCode.TESTS_FAILED, args
            result.stdout.fnmatch_lines(["gate items: FAILED", f"    {MENU}"])

    def test_items_of_a_test_that_was_not_asked_for_are_left_out(self, baseline, run, project):
        path = project.test_file
        text = path.read_text().replace(TASKS, '"click-tab"')
        project.makepyfile(test_other=text)
        named = "test_other.py::test_solves[1-screen-1-step/click-tab/1]"
        result = run("--miniwob-baseline=base.jsonl", named)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["*left out on purpose: 3 items of the baseline"])
        # A whole run collects the test, so that nothing is left out once the test is gone.
        path.unlink()
        result = run("--miniwob-baseline=base.jsonl")
        result.stdout.fnmatch_lines(["gate items: FAILED", "  2 items of the baseline did not run"])

    @pytest.mark.parametrize(
        "args",
        [["--miniwob-seeds=1"], ["--deselect", f"test_x.py::test_solves[{MENU}]"]],
        ids=["seeds", "deselect"],
    )
    def test_items_that_are_left_out_on_purpose_need_not_run(self, baseline, run, args):
        result = run("--miniwob-baseline=base.jsonl", *args)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["gate items: passed", "*left out on purpose: *"])

    def test_workers_tell_what_is_left_out_on_purpose_and_has_no_outcome(
        self, baseline, run, project
    ):
        project.makepyfile(test_other=WITHOUT_OUTCOMES)
        args = ("--miniwob-baseline=base.jsonl", "--miniwob-results=r.jsonl", "-n1")
        result = run(*args, "-k", "click-menu-2 or click-test")
        result.assert_outcomes(passed=2, skipped=1, xfailed=1)
        result.stdout.fnmatch_lines(["gate items: passed", "*left out on purpose: *"])
        assert read_results(project.path / "r.jsonl").partial == ("2 items deselected",)

    def test_items_that_a_conftest_takes_out_without_a_word_are_missing(
        self, baseline, run, project
    ):
        with (project.path / "conftest.py").open("a") as file:
            file.write(
                "\ndef pytest_collection_modifyitems(items):\n"
                "    items[:] = [item for item in items if 'click-tab/' not in item.name]\n"
            )
        result = run("--miniwob-baseline=base.jsonl")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(
            ["gate items: FAILED", "  2 items of the baseline did not run*"]
        )

    def test_a_run_of_other_tests_is_not_judged(self, baseline, run, project):
        project.makepyfile(test_other="def test_other(): pass")
        result = run("--miniwob-baseline=base.jsonl", "-k", "test_other")
        assert result.ret == pytest.ExitCode.OK
        result.stdout.no_fnmatch_line("*MiniWoB++ gate*")

    def test_a_stopped_run_fails_for_the_items_that_did_not_run(self, baseline, run):
        result = run("--miniwob-baseline=base.jsonl", "--maxfail=1", lost=["click-menu-2 1"])
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(
            ["gate items: FAILED", "  3 items of the baseline did not run*"]
        )


class TestOtherGates:
    def test_what_few_items_do_not_decide_fails_the_run_unless_the_gate_is_lenient(
        self, baseline, run
    ):
        judged = ("--miniwob-baseline=base.jsonl", "--miniwob-gate=paired")
        result = run(*judged, "-v", lost=["click-menu-2 1"])
        assert result.parseoutcomes() == {"passed": 2, "progressed": 1, "regressed": 1}
        assert result.ret == 1
        given = ("--miniwob-record", "none", "--miniwob-seeds=1-2")
        shown = run(*judged, *given).stdout.str().replace(" \\\n         ", " ")
        [command] = re.findall("^     pytest .*", shown, re.M)
        assert "none" not in command
        assert (command.count("--miniwob-record"), command.count("--miniwob-seeds")) == (1, 1)
        lenient = run(*judged, "--miniwob-gate=paired,lenient")
        assert lenient.ret == 0
        # Not the letters of pytest-rerunfailures.
        assert re.search(r"\.py L", lenient.stdout.str())
        result.stdout.fnmatch_lines_random(
            [
                "*click-menu-2/1* REGRESSED *",
                "*click-menu-2/2* PROGRESSED *",
                "gate paired:0.05*: inconclusive*",
                "  1 worse, 1 better: too few items *",
                "  -> record more seeds, at the baseline's commit first, *",
                "     pytest --miniwob-baseline=base.jsonl --miniwob-gate=* \\",
                "         *=new_episodes --miniwob-seeds=1-*",
                "  1 item no longer solved",
                f"    {MENU}: solved in trial 1 -> unsolved (failed ?2)",
                "  1 item solved now and not in the baseline",
            ]
        )

    @pytest.mark.parametrize(
        ("lost", "line"),
        [
            ([], "gate items: passed"),
            (["click-menu-2 1"], "gate items: FAILED"),
        ],
    )
    def test_a_quiet_run_shows_the_verdict_in_a_line(self, baseline, run, lost, line):
        result = run("--miniwob-baseline=base.jsonl", "-q", lost=lost)
        assert result.outlines.count(line) == 1
        if not lost:
            assert "MiniWoB++ gate" not in result.stdout.str()


class TestSettings:
    def test_a_changed_set_up_is_shown_and_how_to_keep_it(self, baseline, project):
        project.server.reply = lose()
        changed = ("--miniwob-model=m2", "--miniwob-baseline=base.jsonl")
        for args, hint in (
            (["-k", "click-menu-2"], "run all items with --miniwob-results=base.jsonl and*"),
            (["--miniwob-results=new.jsonl"], "replay this run with --miniwob-results=base.*"),
            (["--miniwob-results=base.jsonl"], "this run is the next baseline: commit base.jsonl"),
        ):
            limits = "warning: limits: 2 trials, * -> 5 trials, *"
            project.record(*changed, *args).stdout.fnmatch_lines(
                ["model: m -> m2", limits, f"if the change is kept, {hint}"]
            )

    def test_what_an_agent_sends_is_known_and_where_its_code_changed(self, project):
        code = """
            class Mine:
                name = "mine"

                def solve(self, env, llm, note):
                    env.reset()
                    tools = [{"type": "function", "function": {"name": "click"}}]
                    system = {"role": "system", "content": "Be brief."}
                    user = {"role": "user", "content": "Go on."}
                    llm.chat([system, user], "plan", tools=tools, temperature=0)
        """
        project.server.reply = lambda prompt: "DONE"
        judged = "--miniwob-baseline=base.jsonl"

        def record(code, option):
            project.makepyfile(my_agent=code)
            agent = "--miniwob-agent=my_agent:Mine"
            return project.record("-k", "click-menu-2", agent, option, mode="all")

        record(code, "--miniwob-results=base.jsonl")
        [first, _] = read_results(project.path / "base.jsonl").results
        assert set(first.sent) == {
            "system messages", "tools", "parameters of calls", "source my_agent.py"
        }  # fmt: skip
        changed = code.replace("Be brief.", "Be very brief.")
        shown = record(changed, judged).stdout
        shown.fnmatch_lines(["source my_agent.py: * -> *", "system messages: * -> *"])
        shown.no_fnmatch_line("tools: *")
        shown.no_fnmatch_line("parameters of calls: *")

    def test_the_first_run_of_all_writes_its_own_baseline(self, baseline, run, project):
        new = project.path / "new.jsonl"
        args = ["-o", "miniwob_baseline=new.jsonl", "--miniwob-results=new.jsonl"]
        result = run(*args)
        result.stdout.fnmatch_lines(
            ["gate items: no baseline yet, nothing judged: this run is the first to write *"]
        )
        assert new.read_bytes() == baseline.read_bytes()
        run(*args).assert_outcomes(passed=3, xfailed=1)

    @pytest.mark.parametrize(
        ("options", "name"),
        [
            (["--miniwob-baseline=new.jsonl"], "new.jsonl"),
            (["--miniwob-gate=items", "-o", "miniwob_baseline=new.jsonl"], "new.jsonl"),
            (["-o", "miniwob_baseline=link.jsonl"], "link.jsonl"),
        ],
    )
    def test_a_baseline_that_only_this_run_writes_judges_nothing_that_was_asked_for(
        self, run, project, options, name
    ):
        (project.path / "link.jsonl").symlink_to("new.jsonl")
        result = run(*options, "--miniwob-results=new.jsonl")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*there is no results file {name}*"])

    @pytest.mark.parametrize(
        ("before", "after", "committed"),
        [
            ("link.jsonl", "base.jsonl", True),
            ("base.jsonl", "link.jsonl", False),
            ("alias", "base.jsonl", False),
            ("hard.jsonl", "base.jsonl", False),
            ("base.jsonl", "base.jsonl", False),
        ],
    )
    def test_a_red_run_is_red_again_whatever_the_name_of_its_baseline(
        self, baseline, run, project, tmp_path, before, after, committed
    ):
        base = baseline.read_bytes()
        (project.path / "link.jsonl").symlink_to("base.jsonl")
        (project.path / "hard.jsonl").hardlink_to(baseline)
        (tmp_path / "alias").symlink_to(project.path)
        before = before if before != "alias" else tmp_path / "alias/../alias/base.jsonl"
        if committed:
            commit(project.path)
        args = [f"--miniwob-baseline={before}", f"--miniwob-results={project.path / after}"]
        for lost in (["click-menu-2 1"], None):
            result = run(*args, lost=lost)
            assert result.parseoutcomes() == {"failed": 1, "passed": 2, "progressed": 1}
        assert (project.path / "link.jsonl").is_symlink()
        if not committed and before != "hard.jsonl":
            assert baseline.read_bytes() == base
            kept = f"it is the baseline, and the gate failed, so {after} stays as it was"
            result.stdout.fnmatch_lines([kept])

    def test_results_that_the_gate_can_not_judge_are_kept_but_not_as_the_baseline(
        self, baseline, run, project
    ):
        base, name = baseline.read_bytes(), "base.incomplete.jsonl"
        for results, written in (("new.jsonl", "new.jsonl"), ("base.jsonl", name)):
            args = ["--miniwob-gate=items:2", f"--miniwob-results={results}"]
            result = run("--miniwob-baseline=base.jsonl", *args, lost=["click-menu-2 1"])
            assert result.ret == pytest.ExitCode.TESTS_FAILED
            result.stdout.fnmatch_lines(["*gate items:2: * has 1 sample; *"])
            found = read_results(project.path / written)
            assert MENU in {each.item for each in found.results if not each.solved}
        assert baseline.read_bytes() == base

    def test_a_first_pull_request_is_judged_by_its_tests_alone(self, baseline, run, project):
        commit(project.path, "tox.ini")
        args = ["--miniwob-gate=paired", "--miniwob-results=base.jsonl", "-k", "click-tab"]
        remark = "gate paired: no baseline yet, nothing judged: main has no base.jsonl yet"
        for source in ("git:main", "git:main:base.jsonl"):
            result = run(f"--miniwob-baseline={source}", *args)
            assert result.ret == pytest.ExitCode.OK
            assert remark in result.outlines
        for source in ("git:none", "git:main:bose.jsonl", "git:main..main", "git:^main"):
            result = run(f"--miniwob-baseline={source}", *args)
            assert result.ret == pytest.ExitCode.USAGE_ERROR

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["baseline=none.jsonl", "results=x"], "*no results file *none.jsonl*"),
            (["gate=pared", "results=x"], "*gate 'pared' is not valid (did you mean paired, *)*"),
            (["gate=paired"], "*gate=paired:0.05 has nothing to compare with: name a *"),
        ],
    )
    def test_a_wrong_baseline_or_gate_is_a_usage_error(self, run, options, message):
        result = run(*(f"--miniwob-{option}" for option in options))
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([message])
