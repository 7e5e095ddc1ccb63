"""The plugin as its users meet it: whole pytest runs, on fake pages."""

import json
import subprocess
import sys

import pytest
from projects import FAKE_PAGE, solve_menu

IDS = [
    "n-screen-n-step/click-menu-2/1",
    "n-screen-n-step/click-menu-2/2",
    "1-screen-1-step/click-tab/1",
]


def ids_of(result):
    return [line for line in result.outlines if "::" in line]


class TestCollection:
    def test_item_ids(self, project):
        result = project.runpytest("--collect-only", "-q")
        collected = ids_of(result)
        assert len(collected) == 12  # click-menu-2 and five click-tab tasks, two seeds each
        for id_ in IDS:
            assert any(line.endswith(f"::test_solves[{id_}]") for line in collected)

    @pytest.mark.parametrize(
        ("args", "count"),
        [
            (["-k", "n-screen"], 6),
            (["-k", "click-menu-2 and not click-tab"], 2),
            (["-k", "n-screen-n-step/click-menu-2/1"], 1),
            (["-m", "miniwob"], 12),
            (["-m", "not miniwob"], 0),
            (["--miniwob-seeds=5-7,9"], 24),
        ],
    )
    def test_selection(self, project, args, count):
        assert len(ids_of(project.runpytest("--collect-only", "-q", *args))) == count

    @pytest.mark.parametrize(("seeds", "collecting"), [(999, True), (1000, False)])
    def test_garbage_is_collected_but_while_many_items_are_made(self, pytester, seeds, collecting):
        pytester.makeconftest(
            """
            import gc

            def pytest_itemcollected(item):
                item.config.seen = gc.isenabled()
            """
        )
        pytester.makepyfile(
            f"""
            import gc
            import pytest

            @pytest.mark.miniwob("click-menu-2", seeds=range({seeds}))
            def test_items(miniwob_episode): pass

            def test_enabled(pytestconfig):
                assert pytestconfig.seen is {collecting}
                assert gc.isenabled()
            """
        )
        result = pytester.runpytest_subprocess("-k", "test_enabled", "-p", "no:randomly")
        result.assert_outcomes(passed=1, deselected=seeds)

    def test_collecting_imports_neither_browser_nor_client(self, project):
        code = (
            "import sys, pytest; pytest.main(['--collect-only', '-q']); "
            "print([m for m in ('selenium', 'openai', 'vcr', 'lxml') if m in sys.modules])"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=project.path, capture_output=True, text=True
        )
        assert "click-menu-2/1]" in result.stdout
        assert result.stdout.splitlines()[-1] == "[]"

    def test_two_markers_and_each_case_once(self, project):
        project.makepyfile(
            """
            import pytest

            @pytest.mark.miniwob("click-menu-2", "n-screen-n-step", seeds=[1, 1])
            @pytest.mark.miniwob("click-menu*", seeds="1-2")
            def test_solves(miniwob_episode): pass
            """
        )
        collected = ids_of(project.runpytest("--collect-only", "-q"))
        assert len(collected) == len(set(collected)) == 16

    def test_the_papers_seeds_are_the_default(self, project):
        project.makepyfile(
            """
            import pytest

            @pytest.mark.miniwob("click-menu-2")
            def test_solves(miniwob_episode): pass
            """
        )
        collected = ids_of(project.runpytest("--collect-only", "-q"))
        assert len(collected) == 25
        assert collected[0].endswith("/1000]")

    @pytest.mark.parametrize(
        ("marker", "message"),
        [
            ('"click-meny"', "*did you mean click-menu*"),
            ('"click-tab", seeds="10-1"', "*the range '10-1' runs backwards*"),
            ('"click-tab", seeds=["a"]', "*seeds are no whole numbers*"),
            ('"click-tab", seed=[1]', "*the miniwob marker knows no seed (did you mean seeds?)*"),
            ('"click-tab", trials=0', "*trials: 0 is no number from 1 up*"),
            ("", "*the miniwob marker selects nothing*"),
            ("3", "*selector 3 is no text*"),
        ],
    )
    def test_a_wrong_marker(self, project, marker, message):
        project.makepyfile(
            f"""
            import pytest

            @pytest.mark.miniwob({marker})
            def test_solves(miniwob_episode): pass
            """
        )
        result = project.runpytest()
        assert result.ret == pytest.ExitCode.INTERRUPTED
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([message])
        result.stdout.no_fnmatch_line("*Traceback*")

    @pytest.mark.parametrize(
        ("test", "message"),
        [
            ("def test_x(miniwob_episode): pass", "*selects no tasks*"),
            ("@pytest.mark.miniwob('click-tab')\ndef test_x(): pass", "*no miniwob fixture*"),
        ],
    )
    def test_half_a_miniwob_test(self, project, test, message):
        project.makepyfile("import pytest\n" + test)
        project.runpytest().stdout.fnmatch_lines([message])

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["--miniwob-seeds=1000-"], "*'1000-' is not a number or range*"),
            (["--miniwob-seeds="], "*seeds '': none given*"),
            (["--miniwob-llm-params={"], "*--miniwob-llm-params: '{' is no JSON*"),
            (["--miniwob-llm-params=[]"], "*--miniwob-llm-params: '[[]]' is no JSON object*"),
            (["--miniwob-agent-params=3"], "*--miniwob-agent-params: '3' is no JSON object*"),
            (["--miniwob-trials=none"], "*--miniwob-trials: 'none' is no number from 1 up*"),
            (["--miniwob-record=never"], "*invalid choice: 'never'*"),
        ],
    )
    def test_a_wrong_option(self, project, args, message):
        result = project.runpytest(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([message])

    @pytest.mark.parametrize(
        ("agent", "message"),
        [
            ("reflectiv", "*no agent is called 'reflectiv' (did you mean reflective*"),
            ("no_such_package:Agent", "*can't import no_such_package*"),
            ("json:Agent", "*json has no 'Agent'*"),
            ("json:JSONDecoder", "*JSONDecoder lacks a `name` or a method solve*"),
        ],
    )
    def test_an_agent_that_is_not_there(self, project, agent, message):
        result = project.runpytest(f"--miniwob-agent={agent}")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([message])

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ('{"colour": 1}', "*agent 'mine:Painter' takes no 'colour' (did you mean color?)*"),
            ('{"prompts": "mine"}', "*give the folder of prompts by --miniwob-prompts"),
            ('{"color": 2, "size": 1}', "*takes no 'size'; it takes color"),
        ],
    )
    def test_parameters_that_the_agent_does_not_take(self, painter, params, message):
        result = painter.runpytest(f"--miniwob-agent-params={params}")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([message])

    @pytest.mark.parametrize("color", ["", "x" * 200])
    def test_a_name_that_no_folder_can_have(self, painter, color):
        (painter.path / "mine.py").write_text(
            "class Painter:\n    def __init__(self, color): self.name = color\n"
            "    def solve(self, env, llm, note): pass\n"
        )
        params = json.dumps({"color": color})
        result = painter.runpytest(f"--miniwob-agent-params={params}")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*its name is the folder of its cassettes, and *"])

    def test_an_empty_model_is_none(self, project):
        result = project.runpytest("--miniwob-model=", "-k", "click-menu-2/1")
        result.stdout.fnmatch_lines(["*no model is named: give --miniwob-model*"])

    def test_an_agent_gets_its_parameters(self, painter, chat_server):
        chat_server.reply = lambda prompt: "click id=1"
        painter.runpytest(
            '--miniwob-agent-params={"color": "red"}', "--miniwob-record=new_episodes",
            f"--miniwob-base-url={chat_server.url}",
        )  # fmt: skip
        assert {request["messages"][0]["content"] for request in chat_server.requests} == {"red?"}
        assert (painter.path / "cassettes/painter-red/m/click-menu-2/1.yaml").exists()

    def test_a_wrong_ini_value(self, project):
        project.makeini("[pytest]\nminiwob_record = nevr\n")
        result = project.runpytest()
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*miniwob_record = nevr: not one of none, once*"])


@pytest.fixture
def painter(project):
    """A project with an agent of its own, which takes a parameter."""
    project.makepyfile(
        mine="""
        class Painter:
            def __init__(self, color="blue"):
                self.name, self.color = f"painter-{color}", color

            def solve(self, env, llm, note):
                env.reset()
                llm.complete(f"{self.color}?", "ask")
        """
    )
    project.syspathinsert()
    project.makeini("[pytest]\nminiwob_model = m\nminiwob_agent = mine:Painter\n")
    return project


class TestOutcomes:
    def test_a_recorded_run_replays_offline(self, record):
        result = record.runpytest("-v")
        result.assert_outcomes(passed=12)
        result.stdout.fnmatch_lines(
            [
                "*MiniWoB++ episodes*",
                "category         solved  T=1  T=3  T=5  calls  steps  tokens",
                "n-screen-n-step     6/6  100  100  100     18     12     252",
                "model calls: 36 replayed, 0 recorded",
            ]
        )

    def test_where_cassettes_lie(self, record):
        files = {str(p.relative_to(record.path)) for p in record.path.glob("cassettes/**/*.yaml")}
        assert len(files) == 12
        assert "cassettes/reflective/m/click-menu-2/1.yaml" in files

    @pytest.mark.parametrize("args", [["-n0"], ["-n2"], ["-n2", "--dist=loadgroup"]])
    def test_outcomes_and_events_do_not_depend_on_the_workers(self, record, args):
        record.makeconftest(
            FAKE_PAGE
            + """
    import json

    def pytest_runtest_logreport(report):
        if hasattr(report, "miniwob"):
            with open("events.jsonl", "a") as file:
                file.write(json.dumps([report.nodeid, report.miniwob], sort_keys=True) + "\\n")
"""
        )
        runs = []
        for more in ([], args):
            result = record.runpytest("-p", "no:randomly", *more)
            result.assert_outcomes(passed=12)
            events = record.path / "events.jsonl"
            runs.append(sorted(set(events.read_text().splitlines())))
            events.unlink()
        assert runs[0] == runs[1]
        assert len(runs[0]) == 12

    def test_an_unsolved_item_fails_and_tells_why(self, project, chat_server):
        chat_server.reply = lambda prompt: (
            "For action index=1, you should click id=3."
            if "Answer with one line of this form" in prompt
            else solve_menu(prompt).replace("id=2", "id=3")
        )
        result = project.runpytest(
            "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}",
            "--miniwob-trials=2", "-k", "click-menu-2/1",
        )  # fmt: skip
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            [
                "FAILED in trial 2, best reward -1",
                "goal: Open the menu and click Save*",
                "trial 1: FAILED, reward -1",
                "  reflection: action 1 is to be click id=3",
                "trial 2: FAILED, reward -1",
                "  0. click id=1",
                "  1. click id=3  -> reward -1",
            ]
        )

    def test_a_missing_cassette_is_an_error_with_the_command_that_records_it(self, project):
        result = project.runpytest("-k", "click-menu-2/1")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(
            [
                "*there is no cassette *click-menu-2*1.yaml",
                "Record it with: pytest '*click-menu-2/1]' --miniwob-record=new_episodes",
            ]
        )
        result.stdout.no_fnmatch_line("*Traceback*")
        result.stdout.no_fnmatch_line("*plugin.py:*")

    def test_half_a_character_of_a_page_reaches_the_controller_as_a_mark(self, project):
        project.makeconftest(FAKE_PAGE.replace('f"Open', 'f"\\ud800Open'))
        project.makepyfile(
            """
            import logging
            import pytest

            @pytest.mark.miniwob("click-menu-2", seeds=[1, 2])
            def test_goal(miniwob_environment):
                goal = miniwob_environment.reset().goal
                logging.warning(goal)
                assert goal == "Open" or goal.endswith("1")
            """
        )
        result = project.runpytest("-n2")
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["E * \ufffdOpen the menu*"])
        result.stdout.fnmatch_lines(["WARNING * \ufffdOpen the menu*"])

    def test_one_damaged_cassette_leaves_the_rest_of_the_run_alone(self, record):
        path = record.path / "cassettes/reflective/m/click-menu-2/1.yaml"
        path.write_text("<<<<<<< HEAD\n")
        result = record.runpytest("-k", "n-screen")
        result.assert_outcomes(passed=5, errors=1)
        result.stdout.fnmatch_lines(
            ["*click-menu-2/1.yaml:1: not a cassette that can be read: a git conflict*"]
        )

    def test_last_failed_and_first_failure(self, record):
        for seed in (1, 2):
            (record.path / f"cassettes/reflective/m/click-menu-2/{seed}.yaml").unlink()
        record.runpytest("-p", "cacheprovider").assert_outcomes(passed=10, errors=2)
        record.runpytest("-p", "cacheprovider", "--lf").assert_outcomes(errors=2)
        record.runpytest("-x").assert_outcomes(errors=1)

    def test_no_model_is_named(self, project):
        project.makeini("[pytest]\n")
        result = project.runpytest("-k", "click-menu-2/1")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*no model is named: give --miniwob-model*"])

    def test_recording_without_a_key_or_server(self, project):
        result = project.runpytest("--miniwob-record=all", "-k", "click-menu-2/1")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*calling a model needs OPENAI_API_KEY*"])

    def test_a_server_that_refuses(self, project, chat_server):
        chat_server.reply = lambda prompt: 401
        result = project.runpytest(
            "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}", "-k", "click-menu-2/1"
        )
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*refused the call*401*"])

    def test_quiet_and_unused_runs_show_no_summary(self, record):
        record.runpytest("-q").stdout.no_fnmatch_line("*MiniWoB++ episodes*")
        record.makepyfile("def test_other(): pass")
        record.runpytest().stdout.no_fnmatch_line("*MiniWoB++ episodes*")


class TestSettings:
    def parameters(self, project, chat_server, *args):
        project.runpytest(
            "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}",
            "-k", "click-menu-2/1", *args,
        )  # fmt: skip
        first = dict(chat_server.requests[0])
        del first["messages"]
        chat_server.requests.clear()
        return first

    def test_model_and_parameters(self, project, chat_server):
        assert self.parameters(project, chat_server) == {"model": "m", "temperature": 0}
        assert self.parameters(
            project, chat_server, "--miniwob-model=n", '--miniwob-llm-params={"seed": 3}'
        ) == {"model": "n", "seed": 3}
        project.makeini("[pytest]\nminiwob_model = k\nminiwob_llm_params = {}\n")
        assert self.parameters(project, chat_server) == {"model": "k"}

    @pytest.mark.parametrize(
        ("ini", "marker", "option", "trials"),
        [
            ("", "", [], 5),
            ("miniwob_trials = 4", "", [], 4),
            ("miniwob_trials = 4", ", trials=3", [], 3),
            ("miniwob_trials = 4", ", trials=3", ["--miniwob-trials=2"], 2),
        ],
    )
    def test_option_marker_ini_default(self, project, chat_server, ini, marker, option, trials):
        project.makeini(f"[pytest]\nminiwob_model = m\n{ini}\n")
        project.makepyfile(
            f"""
            import pytest

            @pytest.mark.miniwob("click-menu-2", seeds=[1]{marker})
            def test_solves(miniwob_episode):
                print("trials:", miniwob_episode.trials)
            """
        )
        result = project.runpytest(
            "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}", "-s", *option
        )
        result.stdout.fnmatch_lines([f"*trials: {trials}*"])

    def test_steps(self, project, chat_server):
        chat_server.reply = lambda prompt: "hold CTRL\n" * 10
        result = project.runpytest(
            "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}",
            "--miniwob-steps=3", "--miniwob-trials=1", "-k", "click-menu-2/1",
        )  # fmt: skip
        result.stdout.fnmatch_lines(
            ["trial 1: STEP_LIMIT, 3 actions are used up", "  2. hold CTRL"]
        )

    def test_cassette_folder(self, project, chat_server):
        chat_server.reply = solve_menu
        project.runpytest(
            "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}",
            "--miniwob-cassettes=tapes", "-k", "click-menu-2/1",
        ).assert_outcomes(passed=1)  # fmt: skip
        assert (project.path / "tapes/reflective/m/click-menu-2/1.yaml").exists()

    def test_paths_are_relative_to_where_they_are_written(self, record):
        record.makeini(
            "[pytest]\nminiwob_model = m\naddopts = -p no:randomly\nminiwob_prompts = mine\n"
        )
        record.mkdir("mine").joinpath("actions.txt").write_text("Just click.")
        below = record.mkdir("below")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(below)
            result = record.runpytest("..", "-k", "click-menu-2/1")
        assert result.parseoutcomes() == {"drifted": 1, "deselected": 11}
        result.stdout.fnmatch_lines(["+ Just click."])

    def test_an_agent_of_the_users_own(self, project):
        project.makepyfile(
            my_agent="""
            from pytest_miniwob_agent import Click

            class Stubborn:
                name = "stubborn"

                def solve(self, env, llm, note):
                    while True:
                        env.reset()
                        env.step(Click(1))
                        if env.step(Click(2)).solved:
                            return
            """
        )
        project.syspathinsert()
        result = project.runpytest("--miniwob-agent=my_agent:Stubborn")
        result.assert_outcomes(passed=12)

    def test_fixtures_can_be_overridden(self, project):
        project.makeconftest(
            FAKE_PAGE
            + """
    from pytest_miniwob_agent.testing import ScriptedLLM

    @pytest.fixture
    def miniwob_llm():
        return ScriptedLLM(["click id=1", "Opened the menu.", "click id=2"])
"""
        )
        project.runpytest().assert_outcomes(passed=12)

    def test_every_option_has_an_ini_twin_and_help(self, project):
        result = project.runpytest("--help")
        text = result.stdout.str()
        for name in (
            "record", "model", "base-url", "llm-params", "agent", "agent-params", "prompts",
            "seeds", "trials", "steps", "repeats", "cassettes", "answers", "max-calls", "max-cost",
            "concurrency", "prices", "browser", "headed", "slowmo",
        ):  # fmt: skip
            assert f"--miniwob-{name}" in text
            assert f"miniwob_{name.replace('-', '_')} (" in text
        assert "@pytest.mark.miniwob(*selectors" in project.runpytest("--markers").stdout.str()


def test_the_report_carries_the_episode(record):
    record.makeconftest(
        FAKE_PAGE
        + """
    import json

    def pytest_runtest_logreport(report):
        if hasattr(report, "miniwob"):
            print("EPISODE", json.dumps(report.miniwob["episode"]))
"""
    )
    result = record.runpytest("-s", "-k", "click-menu-2/1")
    [line] = [line for line in result.outlines if "EPISODE" in line]
    episode = json.loads(line.partition("EPISODE ")[2])
    assert episode["case"] == "n-screen-n-step/click-menu-2/1"
    assert (episode["solved_at"], episode["calls"], episode["steps"]) == (1, 3, 2)
    assert (episode["tokens"], episode["endings"]) == (42, ["correct"])
    kinds = [event["kind"] for event in episode["events"]]
    assert kinds == ["trial", "call", "act", "call", "call", "act", "end"]
