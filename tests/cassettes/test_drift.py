"""Drift in runs: the report of an item, and the summary of a run."""

import shlex

import pytest
from support.projects import FAKE_PAGE, REFLECTIVE_PROMPTS
from support.sweeps import swept

from pytest_miniwob_agent.cassettes.format import read_cassette, write_cassette

PLAN = REFLECTIVE_PROMPTS / "plan.txt"


@pytest.fixture
def changed_prompts(record):
    text = PLAN.read_text(encoding="utf-8")
    record.mkdir("mine").joinpath("plan.txt").write_text(
        text.replace("Done so far:", "Done until now:"), encoding="utf-8"
    )
    return record


class TestCause:
    def report(self, project, *args):
        result = project.runpytest("-k", "click-menu-2/1", *args)
        assert result.parseoutcomes() == {"drifted": 1, "deselected": 11}
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        return result.stdout

    def test_a_changed_prompt_text_is_named_with_its_lines(self, changed_prompts):
        self.report(changed_prompts, "--miniwob-prompts=mine").fnmatch_lines(
            [
                "*MiniWoB++ drift*",
                "1 item no longer fits the recorded model calls:",
                "     1  the prompt text changed: plan.txt",
                "        n-screen-n-step/click-menu-2/1",
                "cassettes/reflective/m/click-menu-2/1.yaml",
                "does not hold call 1 (plan, trial 1, step 0).",
                "The most similar is call 1 (plan, trial 1, step 0); it differs in",
                "  the prompt text: plan.txt",
                "What changed (- recorded, + now):",
                "  … * unchanged lines",
                "  The goal: *",
                "  ",
                "- Done so far:",
                "+ Done until now:",
                "  Nothing yet.",
                "  ",
                "  … * unchanged lines",
                "By the old cassettes, recording again takes about 3 calls and 42 tokens:",
                "pytest * --miniwob-prompts=mine *",
                "    *--miniwob-record=new_episodes",
            ]
        )

    def test_a_changed_page_is_named_with_its_elements(self, record):
        record.makeconftest(FAKE_PAGE.replace('"Quit"', '"Exit"'))
        self.report(record).fnmatch_lines(
            [
                "     1  the page changed",
                "does not hold call 3 (plan, trial 1, step 1).",
                '  the page: <a id="3" *>Exit</a>',
                '- <a id="3" *>Quit</a>',
                '+ <a id="3" *>Exit</a>',
                "*takes about 1 call and 14 tokens:",
            ]
        )

    def test_drift_on_parameters_alone_names_the_option_that_replays(self, record):
        """Cassettes of the time when 0 was the default."""
        path = record.path / "cassettes/reflective/m/click-menu-2/1.yaml"
        calls = read_cassette(path)
        for call in calls:
            call.body["temperature"] = 0
        write_cassette(path, calls)
        result = self.report(record)
        result.fnmatch_lines(
            [
                "     1  the model or its parameters changed: temperature 0, now not given",
                "It is replayed with: --miniwob-llm-params='{\"temperature\": 0}' "
                '(in the ini file: miniwob_llm_params = {"temperature": 0})',
            ]
        )
        result.no_fnmatch_line("What changed*")
        (line,) = (line for line in result.lines if line.startswith("It is replayed with: "))
        option = shlex.split(line.removeprefix("It is replayed with: "))[0]
        record.runpytest("-k", "click-menu-2/1", option).assert_outcomes(passed=1)

    def test_recorded_calls_that_were_not_made_are_listed(self, record):
        record.makeconftest(
            FAKE_PAGE.replace('("start", "click id=1"): "open"}', "}").replace(
                '{("open",', '{("start", "click id=1"): 1.0, ("open",'
            )
        )
        self.report(record).fnmatch_lines(
            [
                "     1  recorded calls were not made",
                "cassettes/reflective/m/click-menu-2/1.yaml",
                "holds 3 calls, but the item ended after 1. Not made:",
                "  call 2 (summarise, trial 1, step 1)",
                "  call 3 (plan, trial 1, step 1)",
                "Recording them again takes no model call, and puts aside the unused ones:",
                "model calls: 1 replayed, 0 recorded, 1 drifted, 2 left over",
            ]
        )


class TestSummary:
    @pytest.mark.parametrize("workers", ["-n0", *swept("-n2")])
    def test_equal_drift_is_shown_once_and_all_items_with_v(self, changed_prompts, workers):
        path = changed_prompts.path / "cassettes/reflective/m/click-menu-2/1.yaml"
        calls = read_cassette(path)
        calls[0].body["messages"][0]["content"] += " More."
        write_cassette(path, calls)
        result = changed_prompts.runpytest(workers, "--miniwob-prompts=mine")
        assert result.parseoutcomes() == {"drifted": 12}
        result.stdout.fnmatch_lines(
            [
                "12 items no longer fit the recorded model calls:",
                "    12  the prompt text changed: plan.txt",
                "        1-screen-1-step/click-tab/1",
                "        1-screen-1-step/click-tab/2",
                "        n-screen-n-step/click-menu-2/1",
                "        and 9 more (all with -v)",
                "--- 1-screen-1-step/click-tab/1: the prompt text changed: plan.txt ---",
                "*takes about 36 calls and 504 tokens:",
                "model calls: 0 replayed, 0 recorded, 12 drifted, 36 left over",
            ]
        )
        assert result.stdout.str().count("What changed") == 1
        assert "ERRORS" not in result.stdout.str()
        result = changed_prompts.runpytest("-v", "--miniwob-prompts=mine", "-k", "n-screen")
        result.stdout.fnmatch_lines(["*click-menu-2/1* drift *"])
        assert result.stdout.str().count("What changed") == 2  # not six: five are alike
        result.stdout.fnmatch_lines(["        n-screen-n-step/click-tab-2-hard/2"])

    def test_it_is_shown_with_q_and_without_tracebacks_in_colours(self, changed_prompts):
        result = changed_prompts.runpytest("-q", "--tb=no", "--color=yes", "--miniwob-prompts=mine")
        result.stdout.fnmatch_lines(
            [
                "*MiniWoB++ drift*",
                "*\x1b[[]31m- Done so far:*",
                "*\x1b[[]32m+ Done until now:*",
            ]
        )

    def test_the_cost_of_recording_uses_prices_or_is_estimated_from_lengths(self, changed_prompts):
        ini = "[pytest]\nminiwob_model = m\naddopts = -p no:randomly\nminiwob_prompts = mine\n"
        changed_prompts.makeini(ini + "miniwob_prices =\n    m 1000 1e4\n")
        some = ("-k", "click-menu-2")
        changed_prompts.runpytest(*some).stdout.fnmatch_lines(
            ["*takes about 6 calls and 84 tokens, $0.25:"]
        )
        for path in changed_prompts.path.glob("cassettes/**/click-menu-2/*.yaml"):
            calls = read_cassette(path)
            for call in calls:
                call.answer = {k: v for k, v in call.answer.items() if k != "usage"}
            write_cassette(path, calls)
        changed_prompts.makeini(ini)
        changed_prompts.runpytest(*some).stdout.fnmatch_lines(
            [
                "*takes about 6 calls and *,* tokens",
                "(estimated from lengths for 6 that hold no counts):",
            ]
        )

    def test_its_command_records_the_changed_calls(self, changed_prompts, chat_server):
        chat_server.requests.clear()
        url = f"--miniwob-base-url={chat_server.url}"
        args = ["--miniwob-prompts", "mine", url, "-k", "click-menu-2"]
        changed_prompts.runpytest(*args).stdout.fnmatch_lines(
            [f"pytest --miniwob-prompts mine {url} *", "*--miniwob-record=new_episodes"]
        )
        result = changed_prompts.runpytest(*args, "--miniwob-record=new_episodes")
        assert result.parseoutcomes()["passed"] == 2
        assert len(chat_server.requests) == 4  # the sentences on what was done still fit
        assert changed_prompts.runpytest(*args).parseoutcomes()["passed"] == 2

    def test_drifted_items_count_as_failed_for_x_and_lf(self, changed_prompts):
        args = ["-p", "cacheprovider", "--miniwob-prompts=mine"]
        assert changed_prompts.runpytest(*args, "-x").parseoutcomes()["drifted"] == 1
        assert changed_prompts.runpytest(*args, "--lf").parseoutcomes()["drifted"] == 1
