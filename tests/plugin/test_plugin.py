"""The plugin as its users meet it: whole pytest runs, on fake pages."""

import json

from support.projects import FAKE_PAGE

KEEP_REPORTS = """
    import json

    def pytest_runtest_logreport(report):
        if hasattr(report, "miniwob"):
            with open("outcomes.jsonl", "a") as file:
                line = [report.nodeid, type(report.miniwob).__name__, report.miniwob.to_data()]
                file.write(json.dumps(line) + "\\n")
"""


class TestOutcomes:
    def test_a_recorded_run_replays_offline(self, record):
        assert len(record.recorded()) == 12
        assert record.path / "cassettes/reflective/m/click-menu-2/1.yaml" in record.recorded()
        result = record.replay("-v", passed=12)
        result.stdout.fnmatch_lines(
            [
                "*MiniWoB++ episodes*",
                "category         solved  T=1  T=3  T=5  calls  steps  tokens",
                "n-screen-n-step     6/6  100  100  100     18     12     252",
                "T=n: percent of the items solved in at most n trials",
                "model calls: 36 replayed, 0 recorded",
            ]
        )

    def test_the_report_of_an_item_has_its_outcome_and_events(self, record):
        record.makeconftest(FAKE_PAGE + KEEP_REPORTS)
        record.runpytest("-k", "click-menu-2/1").assert_outcomes(passed=1)
        [line] = (record.path / "outcomes.jsonl").read_text().splitlines()
        _, kind, data = json.loads(line)
        assert kind == "Outcome"
        assert data["result"]["outcome"] == "solved"
        assert data["cassette"] == "reflective/m/click-menu-2/1"
        episode = data["episode"]
        assert episode["case"] == "n-screen-n-step/click-menu-2/1"
        kinds = [event["kind"] for event in episode["events"]]
        assert kinds == ["trial", "call", "act", "call", "call", "act", "end"]

    def test_a_missing_cassette_is_an_error_with_the_command_that_records_it(self, project):
        result = project.runpytest("-k", "click-menu-2/1")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(
            [
                "*there is no cassette *click-menu-2*1.yaml",
                "Record it with: pytest *",
            ]
        )
        result.stdout.no_fnmatch_line("*Traceback*")
        result = project.runpytest("-k", "click-menu-2/1", "--miniwob-model=")
        result.stdout.fnmatch_lines(["*no model is named: give --miniwob-model*"])

    def test_a_model_without_cassettes_is_answered_with_those_that_have_some(self, record):
        result = record.runpytest("-k", "click-menu-2/1", "--miniwob-model=mm")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(
            ["*; reflective is recorded with m: name one with --miniwob-model*"]
        )

    def test_an_agent_with_a_bug_fails_its_item_in_its_own_file_and_replays_so(
        self, project, chat_server
    ):
        project.makeconftest(
            FAKE_PAGE
            + KEEP_REPORTS
            + """
    class Buggy:
        name = "buggy"

        def solve(self, env, llm, note):
            env.reset()
            int(llm.complete("Which one?", "plan").text)

    @pytest.fixture
    def miniwob_agent():
        return Buggy()
"""
        )
        chat_server.reply = lambda prompt: "click 3"
        recorded = project.record("-k", "click-menu-2/1")
        for result in (recorded, project.runpytest("-k", "click-menu-2/1")):
            result.assert_outcomes(failed=1)
            result.stdout.fnmatch_lines(
                [
                    "EXCEPTION in trial 1, best reward 0",
                    "exception: the agent failed: ValueError: *",
                    "conftest.py:*: in solve",
                    '    int(llm.complete("Which one?", "plan").text)',
                    "trial 1: EXCEPTION, ValueError: *",
                ]
            )
            result.stdout.no_fnmatch_line("*pytest_miniwob_agent*")
        line = (project.path / "outcomes.jsonl").read_text().splitlines()[-1]
        outcome = json.loads(line)[2]
        result = outcome["result"]
        assert (result["outcome"], result["endings"]) == ("unsolved", ["exception"])
        assert result["agent"] == "buggy"

    def test_a_crash_of_a_worker_leaves_the_outcomes_of_the_others(self, record):
        record.makeconftest(
            FAKE_PAGE
            + """
    @pytest.fixture(autouse=True)
    def crash(request, miniwob_case):
        if miniwob_case.id.endswith("click-menu-2/1"):
            import os
            os._exit(1)
"""
        )
        result = record.runpytest("-n1", "-k", "click-menu-2", "--miniwob-results=r.jsonl")
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["*model calls: 3 replayed, 0 recorded"])
        head = json.loads((record.path / "r.incomplete.jsonl").read_text().splitlines()[0])
        assert "1 item did not run" in head["partial"]

    def test_a_run_of_other_tests_shows_no_summary(self, record):
        record.makepyfile("def test_other(): pass")
        record.runpytest().stdout.no_fnmatch_line("*MiniWoB++ episodes*")


class TestSettings:
    def test_model_and_parameters_reach_the_server(self, project, chat_server):
        def parameters(*args):
            chat_server.requests.clear()
            project.record("-k", "click-menu-2/1", "--miniwob-trials=1", *args, mode="all")
            return {k: v for k, v in chat_server.requests[0].items() if k != "messages"}

        given = ["--miniwob-model=n", '--miniwob-llm-params={"seed": 3}']
        assert parameters(*given) == {"model": "n", "seed": 3}
        project.makeini('[pytest]\nminiwob_model = k\nminiwob_llm_params = {"seed": 4}\n')
        assert parameters() == {"model": "k", "seed": 4}


def test_the_command_that_records_an_item_works_from_where_it_is_shown(project, monkeypatch):
    project.path.joinpath("other.ini").write_text("[pytest]\n")
    tests = project.mkdir("tests")
    project.test_file.rename(tests / "test_x.py")
    below = project.mkdir("below")
    monkeypatch.chdir(below)
    result = project.runpytest(
        "../tests", "-k", "click-menu-2/1", "-c", "../other.ini", "-ominiwob_model=n",
    )  # fmt: skip
    result.stdout.fnmatch_lines(
        [
            "Record it with: pytest '../tests/test_x.py::test_solves?n-screen-n-step/*-2/1]' "
            "-c ../other.ini -o miniwob_model=n --miniwob-record=new_episodes"
        ]
    )
